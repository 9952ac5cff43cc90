"""The number of active links, without reading them all. Links are counted by their end, following
the change log. A link is counted as it is when its change is read, and how it was counted before is
stored, so counting it twice is harmless."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.links.model import Status
from kurz.storage.engine.batches import among
from kurz.storage.engine.changes import last_change
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.links import active_links, changes, count_position, counted_links, links

# A reader adds up the periods ahead and reads the links that end within the current one. Shorter
# periods are more to add up (53,000 in a year); longer ones contain more links (60,000 if a hundred
# end per second).
SLOT_MICROS = 600 * 1_000_000
ENDLESS = NEVER  # the slot of links that never end

_HALTED = (Status.BANNED, Status.DELETED, Status.PAUSED)
# What `lifecycle.status` calls ACTIVE, without the clock, which readers check.
_IS_ACTIVE = sa.and_(
    links.c.status.not_in(_HALTED),
    sa.or_(links.c.max_clicks.is_(None), links.c.clicks_used < links.c.max_clicks),
)
_SLOT = sa.case(
    (counted_links.c.expires_at.is_(None), sa.literal_column(str(ENDLESS), sa.BigInteger)),
    else_=counted_links.c.expires_at // sa.literal_column(str(SLOT_MICROS), sa.BigInteger),
)
_ADD = insert(active_links)
_ADD = _ADD.on_conflict_do_update(
    index_elements=[active_links.c.slot],
    set_={"links": active_links.c.links + _ADD.excluded.links},
)


def active_at(now: int) -> sa.ColumnElement[int]:
    """The number of active links, as far as they are counted."""
    slot = _slot_of(now)
    ahead = sa.select(sa.func.coalesce(sa.func.sum(active_links.c.links), 0)).where(
        active_links.c.slot > slot
    )
    ending = sa.select(sa.func.count()).where(
        counted_links.c.expires_at > now, counted_links.c.expires_at < (slot + 1) * SLOT_MICROS
    )
    return ahead.scalar_subquery() + ending.scalar_subquery()


def find_uncounted(connection: sa.Connection) -> tuple[bool, int | None]:
    """Whether some links were never counted, and the last row of the change log, if it is beyond
    the counter's position."""
    position = connection.execute(sa.select(count_position)).one()
    last = last_change(connection)
    return position.link_id < NEVER, last if last > position.change_id else None


def count_changes(connection: sa.Connection, until: int, limit: int) -> bool:
    """Counts the next changes, up to a row below which no new row can appear. False: there were
    none."""
    position = _lock(connection)
    query = (
        sa.select(changes.c.id, changes.c.link_id)
        .where(changes.c.id > position.change_id, changes.c.id <= until)
        .order_by(changes.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    if not rows:
        return False
    _count(connection, {row.link_id for row in rows})
    connection.execute(sa.update(count_position).values(change_id=rows[-1].id))
    return True


def count_existing(connection: sa.Connection, limit: int) -> bool:
    """Counts the next links from before counting began. False: all are counted."""
    position = _lock(connection)
    query = sa.select(links.c.id).where(links.c.id > position.link_id).order_by(links.c.id)
    found = connection.execute(query.limit(limit)).scalars().all()
    if found:
        _count(connection, found)
    reached = found[-1] if found else NEVER
    connection.execute(sa.update(count_position).values(link_id=reached))
    return bool(found)


def _lock(connection: sa.Connection) -> sa.Row[*tuple[Any, ...]]:
    """Only one transaction counts at a time."""
    return connection.execute(sa.select(count_position).with_for_update()).one()


def _count(connection: sa.Connection, link_ids: Collection[int]) -> None:
    """Brings the counts of these links up to date. Only what is written to `counted_links` is
    added up: on PostgreSQL, a link may change between two statements."""
    ids = [*link_ids]
    are_theirs = among(connection, counted_links.c.link_id, ids)
    active = sa.select(links.c.id, links.c.expires_at)
    active = active.where(among(connection, links.c.id, ids), _IS_ACTIVE)
    moves = Counter[int]()
    moves.subtract(_slots(connection, are_theirs))
    is_gone = counted_links.c.link_id.not_in(active.with_only_columns(links.c.id))
    connection.execute(sa.delete(counted_links).where(are_theirs, is_gone))
    keep = insert(counted_links).from_select(["link_id", "expires_at"], active)
    is_other = counted_links.c.expires_at.is_distinct_from(keep.excluded.expires_at)
    connection.execute(
        keep.on_conflict_do_update(
            index_elements=[counted_links.c.link_id],
            set_={"expires_at": keep.excluded.expires_at},
            where=is_other,
        )
    )
    moves.update(_slots(connection, are_theirs))
    if moved := [{"slot": slot, "links": number} for slot, number in moves.items() if number]:
        connection.execute(_ADD, moved)
        left = active_links.c.slot.in_([row["slot"] for row in moved if row["links"] < 0])
        connection.execute(sa.delete(active_links).where(left, active_links.c.links == 0))


def _slots(connection: sa.Connection, are_these: sa.ColumnElement[bool]) -> dict[int, int]:
    """How many counted links end in each slot."""
    query = sa.select(_SLOT, sa.func.count()).where(are_these).group_by(_SLOT)
    return {row[0]: row[1] for row in connection.execute(query)}


def _slot_of(expires_at: int | None) -> int:
    return ENDLESS if expires_at is None else expires_at // SLOT_MICROS
