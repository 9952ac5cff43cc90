"""Where links lead, once for all links to the same URL, following the change log. A link is
processed as it is when its change is read; processing it twice is harmless."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import cache
from itertools import takewhile
from typing import Any, NamedTuple

import sqlalchemy as sa
import structlog

from kurz.clock import MICROSECOND
from kurz.links.model import LinkType, Status
from kurz.safety.check_schedule import FIRST_AFTER, ONCE_FOR_ALL, fraction, spread
from kurz.safety.checks import key_of
from kurz.storage.engine.batches import among
from kurz.storage.engine.changes import first_change, last_change
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.base import NEVER
from kurz.storage.schema.link_rows import NOT_CHECKED
from kurz.storage.schema.links import LOCATION, changes, links
from kurz.storage.schema.safety import checks, destination_position, destinations, link_destinations

SiteOf = Callable[[str], str]

# New destinations, and changes that wait. More than this come from an import: calling all its
# destinations at once would keep a core busy for long.
MANY = 5000
LATELY = timedelta(minutes=5) // MICROSECOND  # for how long destinations are new
_HALTED = (Status.BANNED, Status.DELETED, Status.PAUSED)
_KEEP = upsert(link_destinations, "destination_id", "since", "requested_at")
_SET_DUE = (
    sa.update(destinations)
    .where(destinations.c.id == sa.bindparam("of_id"))
    .values(due_at=sa.bindparam("at"))
)
_log = structlog.get_logger(__name__)


class _Link(NamedTuple):
    location: str
    is_called: bool


async def warm_up(site_of: SiteOf) -> None:
    """Loads what is needed before the transaction, so that no writer waits for it."""
    await asyncio.to_thread(site_of, "https://example.com/")


def may_be_called(now: int) -> sa.ColumnElement[bool]:
    """Whether a link's destination is checked, now or when the link starts: not for anonymous
    links, nor for links that nobody can follow. The rest is `lifecycle.status`."""
    return sa.and_(
        links.c.link_type == LinkType.PERMANENT,
        links.c.status.not_in(_HALTED),
        links.c.held_at.is_(None),
        sa.or_(links.c.expires_at.is_(None), links.c.expires_at > now),
        sa.or_(links.c.max_clicks.is_(None), links.c.clicks_used < links.c.max_clicks),
    )


def is_called(now: int) -> sa.ColumnElement[bool]:
    has_started = sa.or_(links.c.starts_at.is_(None), links.c.starts_at <= now)
    return sa.and_(may_be_called(now), has_started)


def find_unfollowed(connection: sa.Connection) -> tuple[bool, int | None]:
    """Whether some links were never processed, and the last row of the change log, if it is beyond
    the follower's position."""
    position = connection.execute(sa.select(destination_position)).one()
    last = last_change(connection)
    return position.link_id < NEVER, last if last > position.change_id else None


def has_lost_changes(connection: sa.Connection) -> bool:
    """Whether the change log no longer reaches back to the follower's position: checks were off for
    longer than the log is kept, or another instance without checks has trimmed it."""
    position = connection.execute(sa.select(destination_position)).one()
    return bool(first_change(connection) > position.change_id + 1)


def reset_position(connection: sa.Connection) -> None:
    """Starts over with all links, if changes were lost."""
    lock_position(connection)
    if has_lost_changes(connection):
        again = sa.update(destination_position)
        again = again.values(change_id=first_change(connection) - 1, link_id=0)
        connection.execute(again)


def follow_changes(
    connection: sa.Connection, until: int, limit: int, site_of: SiteOf, now: int
) -> bool:
    """Processes the next changes, up to a row below which no new row can appear. False: there were
    none."""
    position = lock_position(connection)
    are_many = _are_many(connection, until - position.change_id, now)
    period = ONCE_FOR_ALL if are_many else timedelta()
    query = (
        sa.select(changes.c.id, changes.c.link_id)
        .where(changes.c.id > position.change_id, changes.c.id <= until)
        .order_by(changes.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    held = _take_in(connection, {row.link_id for row in rows}, site_of, now, period)
    done = [row.id for row in takewhile(lambda row: row.link_id not in held, rows)]
    if done:
        connection.execute(sa.update(destination_position).values(change_id=done[-1]))
    return bool(done)


def follow_existing(connection: sa.Connection, limit: int, site_of: SiteOf, now: int) -> bool:
    """Processes the next links from before following began, and those purged since. False: all are
    done, or the next is locked."""
    position = lock_position(connection)
    pages = [
        sa.select(column.label("id")).where(column > position.link_id).order_by(column).limit(limit)
        for column in (links.c.id, link_destinations.c.link_id)
    ]
    every = sa.union(*(sa.select(page.subquery().c.id) for page in pages)).subquery()
    query = sa.select(every.c.id).order_by(every.c.id).limit(limit)
    found = connection.execute(query).scalars().all()
    held = _take_in(connection, found, site_of, now, ONCE_FOR_ALL)
    done = [*takewhile(lambda link_id: link_id not in held, found)]
    if done or not found:
        reached = done[-1] if done else NEVER
        connection.execute(sa.update(destination_position).values(link_id=reached))
    return bool(done)


def follow_one(connection: sa.Connection, link_id: int, site_of: SiteOf, now: int) -> bool:
    """Processes one link early, because somebody waits for it. False: it is locked."""
    lock_position(connection)
    return not _take_in(connection, [link_id], site_of, now, timedelta())


def lock_position(connection: sa.Connection) -> sa.Row[*tuple[Any, ...]]:
    """Only one transaction follows at a time: no other creates or removes destinations, or changes
    where links lead. It is always the first lock, so that there are no deadlocks."""
    return connection.execute(sa.select(destination_position).with_for_update()).one()


def _are_many(connection: sa.Connection, waiting: int, now: int) -> bool:
    """Whether the waiting changes and the new destinations together are more than `MANY`. Both
    count: an import is processed by many transactions, in one round or in many."""
    missing = MANY + 1 - waiting
    if missing <= 0:
        return True
    # By number: one row is read, however many are new.
    newest = sa.select(sa.func.max(destinations.c.id)).scalar_subquery()
    query = (
        sa.select(destinations.c.created_at)
        .where(destinations.c.id <= newest - missing + 1)
        .order_by(destinations.c.id.desc())
        .limit(1)
    )
    created_at = connection.execute(query).scalar()
    return created_at is not None and created_at > now - LATELY


def _take_in(
    connection: sa.Connection,
    link_ids: Collection[int],
    site_of: SiteOf,
    now: int,
    period: timedelta,
) -> set[int]:
    """Records where these links lead now. New destinations are due soon, or at some time in that
    period. Returns the locked links, which are unchanged."""
    if not link_ids:
        return set()
    after = _read_links(connection, link_ids, now)
    query = sa.select(link_destinations.c.link_id, link_destinations.c.destination_id)
    kept = connection.execute(
        query.where(among(connection, link_destinations.c.link_id, [*link_ids]))
    )
    before = {row.link_id: row.destination_id for row in kept}
    keys = {location: key_of(location) for location in {it.location for it in after.values()}}
    called = {link.location for link in after.values() if link.is_called}
    dues = {location: _first_due(keys[location], now, period) for location in called}
    found = _keep_destinations(connection, keys, site_of, now, dues)
    after = {link_id: link for link_id, link in after.items() if link.location in found}
    moved = {
        link_id: found[link.location].id
        for link_id, link in after.items()
        if before.get(link_id) != found[link.location].id
    }
    gone = before.keys() - after.keys()
    held = _forget_status(connection, before.keys() & (gone | moved.keys()))
    moved = {link_id: it for link_id, it in moved.items() if link_id not in held}
    gone -= held
    if moved:
        rows = [
            {"link_id": it, "destination_id": id_, "since": now, "requested_at": None}
            for it, id_ in moved.items()
        ]
        connection.execute(_KEEP, rows)
    awake = {it for it, link in after.items() if link.is_called and it not in held}
    joined = {after[link_id].location for link_id in awake & moved.keys()}
    checked = {after[link_id].location for link_id in awake}
    _set_due(connection, {it: (found[it], dues[it]) for it in checked}, joined)
    if gone:
        is_gone = among(connection, link_destinations.c.link_id, [*gone])
        connection.execute(sa.delete(link_destinations).where(is_gone))
    left = {before[link_id] for link_id in before.keys() & (gone | moved.keys())}
    in_vain = {found[after[link_id].location].id for link_id in held & after.keys()}
    _drop_empty(connection, left | in_vain)
    return held


def _set_due(
    connection: sa.Connection,
    dues: Mapping[str, tuple[sa.Row[*tuple[Any, ...]], int]],
    joined: Collection[str],
) -> None:
    """Schedules destinations without a due time, and those that new links lead to, if that is
    sooner."""
    sooner = [
        {"of_id": destination.id, "at": due_at}
        for location, (destination, due_at) in dues.items()
        if destination.due_at is None or (location in joined and due_at < destination.due_at)
    ]
    if sooner:
        connection.execute(_SET_DUE, sooner)


def _read_links(connection: sa.Connection, link_ids: Collection[int], now: int) -> dict[int, _Link]:
    """The links that have a destination: anonymous links have none until they are claimed."""
    query = sa.select(
        links.c.id,
        LOCATION.label("location"),
        may_be_called(now).label("is_called"),
    ).where(among(connection, links.c.id, [*link_ids]), links.c.link_type == LinkType.PERMANENT)
    return {row.id: _Link(row.location, bool(row.is_called)) for row in connection.execute(query)}


def _keep_destinations(
    connection: sa.Connection,
    keys: Mapping[str, bytes],
    site_of: SiteOf,
    now: int,
    dues: Mapping[str, int],
) -> Mapping[str, sa.Row[*tuple[Any, ...]]]:
    """The destinations of these URLs, by URL, except for what cannot be one; missing ones are
    created, with these due times. They stay locked until the transaction ends: no check is recorded
    for them meanwhile."""
    hashes = {key: location for location, key in keys.items()}
    columns = destinations.c.id, destinations.c.due_at, destinations.c.url_hash
    known = (
        sa.select(*columns)
        .where(destinations.c.url_hash.in_([*hashes]))
        .order_by(destinations.c.id)
        .with_for_update()
    )
    found = {hashes[row.url_hash]: row for row in connection.execute(known)}
    sites = _sites_of(hashes.values() - found.keys(), site_of)
    new = [
        {
            "url_hash": key,
            "location": location,
            "site": sites[location],
            "was_ok": False,
            "failures": 0,
            "unanswered": 0,
            "clicks": 0,
            "clicked_at": now,
            "created_at": now,
            "due_at": dues.get(location),
        }
        for key, location in hashes.items()
        if location in sites
    ]
    if new:
        made = connection.execute(sa.insert(destinations).returning(*columns), new)
        found |= {hashes[row.url_hash]: row for row in made}
    return found


def _sites_of(locations: Collection[str], site_of: SiteOf) -> dict[str, str]:
    found: dict[str, str] = {}
    for location in locations:
        try:
            found[location] = site_of(location)
        except ValueError:
            _tell_unreadable()
    return found


@cache
def _tell_unreadable() -> None:
    """Logged once: such links stay as they are, however they came here."""
    _log.warning("links without a valid URL are not checked")


def _first_due(key: bytes, now: int, period: timedelta) -> int:
    return now + (spread(FIRST_AFTER, key) + fraction(key) * period) // MICROSECOND


def _forget_status(connection: sa.Connection, link_ids: Collection[int]) -> set[int]:
    """Clears what checks said about the earlier destination of these links. On PostgreSQL it skips
    locked links and returns them, so that there are no deadlocks."""
    if not link_ids:
        return set()
    theirs = sa.select(links.c.id).where(among(connection, links.c.id, [*link_ids]))
    free = theirs.order_by(links.c.id).with_for_update(skip_locked=True, key_share=True)
    ids = connection.execute(free).scalars().all()
    if ids:
        told = sa.update(links).where(
            among(connection, links.c.id, ids), links.c.last_checked_at.is_not(None)
        )
        connection.execute(told.values(NOT_CHECKED))
    if connection.dialect.name == "sqlite":
        return set()
    return {*connection.execute(theirs).scalars()} - {*ids}


def _drop_empty(connection: sa.Connection, destination_ids: Collection[int]) -> None:
    """Destinations that no link leads to any more, with their checks."""
    if not destination_ids:
        return
    is_led_to = sa.exists().where(link_destinations.c.destination_id == destinations.c.id)
    query = sa.select(destinations.c.id).where(
        among(connection, destinations.c.id, [*destination_ids]), ~is_led_to
    )
    empty = connection.execute(query).scalars().all()
    if empty:
        for column in checks.c.destination_id, destinations.c.id:
            are_theirs = among(connection, column, empty)
            connection.execute(sa.delete(column.table).where(are_theirs))
