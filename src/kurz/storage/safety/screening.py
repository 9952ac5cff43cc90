"""How far existing links are screened, and which links must be screened first."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import Status
from kurz.safety.rescreening import RULED, RescreenPosition, Seen
from kurz.storage.engine.batches import among
from kurz.storage.engine.changes import last_change, update_links
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS
from kurz.storage.engine.rows import upsert
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.schema.links import LOCATION, changes, links
from kurz.storage.schema.safety import link_bans, screening_position

_ID = 1
_LIVES = links.c.status.not_in((Status.BANNED, Status.DELETED))
_NEXT = (
    sa.select(links.c.id, LOCATION)
    .where(links.c.id > sa.bindparam("after"), _LIVES)
    .order_by(links.c.id)
    .limit(sa.bindparam("most"))
)
_CHANGES = (
    sa.select(changes.c.id, changes.c.link_id)
    .where(changes.c.id > sa.bindparam("after"))
    .order_by(changes.c.id)
    .limit(sa.bindparam("most"))
)
# Exactly as in the index, so that SQLite uses it.
_IS_HELD = sa.text("links.held_at IS NOT NULL AND links.status <> 'BANNED'")
_HELD = (
    sa.select(links.c.id, LOCATION)
    .where(
        _IS_HELD,
        links.c.id > sa.bindparam("after"),
    )
    .order_by(links.c.id)
    .limit(sa.bindparam("most"))
)
# By their numbers: with the index of causes, SQLite would sort all of them for each batch.
_HIDDEN_CAUSE = link_bans.c.cause.concat("")
_RULED = (
    sa.select(links.c.id, LOCATION)
    .join(link_bans, link_bans.c.link_id == links.c.id)
    .where(_HIDDEN_CAUSE.in_(RULED), link_bans.c.link_id > sa.bindparam("after"))
    .order_by(link_bans.c.link_id)
    .limit(sa.bindparam("most"))
)


def find_position(connection: sa.Connection) -> RescreenPosition:
    row = connection.execute(sa.select(screening_position)).first()
    is_held = connection.execute(_HELD, {"after": 0, "most": 1}).first() is not None
    if row is None:
        return RescreenPosition(has_held=is_held)
    return RescreenPosition(row.digest, row.link_id, from_micros_or_none(row.finished_at), is_held)


def count_held(connection: sa.Connection) -> int:
    """The number of links that would redirect if they were not held."""
    query = sa.select(sa.func.count()).select_from(links).where(_IS_HELD)
    return connection.execute(query).scalar_one()


def keep_position(connection: sa.Connection, position: RescreenPosition) -> None:
    row = {
        "id": _ID,
        "digest": position.digest,
        "link_id": position.link_id,
        "finished_at": to_micros_or_none(position.finished_at),
    }
    connection.execute(upsert(screening_position, "digest", "link_id", "finished_at"), row)


def read_some(
    connection: sa.Connection, query: sa.Select[*tuple[Any, ...]], after: int, most: int
) -> list[Seen]:
    return [Seen(*row) for row in connection.execute(query, {"after": after, "most": most})]


def read_changed(connection: sa.Connection, after: int, most: int) -> tuple[int, list[Seen]]:
    rows = connection.execute(_CHANGES, {"after": after, "most": most}).all()
    if not rows:
        return last_change(connection), []
    changed = among(connection, links.c.id, sorted({link_id for _, link_id in rows}))
    found = connection.execute(sa.select(links.c.id, LOCATION).where(changed, _LIVES))
    return rows[-1][0], [Seen(*row) for row in found]


def release_some(connection: sa.Connection, seen: Sequence[Seen], now: datetime) -> int:
    """Releases the held links that still have the destination that was judged."""
    at = {link.link_id: link.location for link in seen}
    are_held = among(connection, links.c.id, sorted(at)), links.c.held_at.is_not(None)
    query = sa.select(links.c.id, LOCATION).where(*are_held).order_by(links.c.id)
    found = connection.execute(query.with_for_update()).all()
    same = [link_id for link_id, location in found if location == at[link_id]]
    if not same:
        return 0
    are_same = among(connection, links.c.id, same)
    return len(update_links(connection, are_same, now=to_micros(now), held_at=None))


class SqlScreeningStore(SqlStore):
    """The `ScreeningStore` of both engines."""

    position = reads(find_position)
    keep = writes(keep_position)

    async def next(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_NEXT, after, most)

    last_change = reads(last_change, LIST_SECONDS)
    changed = reads(read_changed, LIST_SECONDS)

    async def held(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_HELD, after, most)

    async def banned(self, after: int, most: int) -> Sequence[Seen]:
        return await self._read(_RULED, after, most)

    release = writes(release_some, LONG_SECONDS)
    _read = reads(read_some, LIST_SECONDS)
