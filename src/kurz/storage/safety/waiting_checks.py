"""Destinations that wait for their check: it is due, or somebody asked for it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa

from kurz.clock import MICROSECOND, from_micros, from_micros_or_none, to_micros
from kurz.links.model import DestinationStatus
from kurz.safety.checks import Clicks, Destination, Standing, WaitingChecks
from kurz.storage.engine.batches import among
from kurz.storage.safety.destinations import (
    SiteOf,
    follow_one,
    is_called,
    lock_position,
    may_be_called,
)
from kurz.storage.schema.link_rows import current_clicks
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import destination_position, destinations, link_destinations

COUNTED_LINKS = 1000  # to one URL, the newest; their clicks decide how often it is checked
LOOK_AGAIN = timedelta(days=1) // MICROSECOND  # at the latest, for a link that starts later


class Idle(NamedTuple):
    """A destination that no active link leads to. `wake_at`: when one may."""

    of_id: int
    was_due_at: int | None
    was_requested_at: int | None
    wake_at: int | None


class LoadedChecks(NamedTuple):
    """What waits, as of a position of the follower."""

    found: list[Destination]
    idle: list[Idle]
    position: tuple[int, int]


def find_requested(
    connection: sa.Connection, now: datetime, after: WaitingChecks | None, limit: int
) -> list[WaitingChecks]:
    return _find(connection, destinations.c.requested_at, to_micros(now), after, limit)


def find_due(
    connection: sa.Connection, now: datetime, after: WaitingChecks | None, limit: int
) -> list[WaitingChecks]:
    return _find(connection, destinations.c.due_at, to_micros(now), after, limit)


def count_due(connection: sa.Connection, now: datetime, limit: int) -> int:
    due = sa.select(destinations.c.id).where(destinations.c.due_at <= to_micros(now)).limit(limit)
    return connection.execute(sa.select(sa.func.count()).select_from(due.subquery())).scalar_one()


def load(connection: sa.Connection, ids: Sequence[int], now: int) -> LoadedChecks:
    position = _position(connection.execute(sa.select(destination_position)).one())
    is_waiting = sa.or_(destinations.c.due_at <= now, destinations.c.requested_at <= now)
    query = sa.select(
        destinations, _clicks().label("clicks_now"), _leads(is_called(now)).label("is_called")
    ).where(among(connection, destinations.c.id, ids), is_waiting)
    rows = connection.execute(query).all()
    idle = {row.id: row for row in rows if not row.is_called}
    wake_at = _find_starts(connection, [*idle], now) if idle else {}
    return LoadedChecks(
        [_destination(row) for row in rows if row.is_called],
        [Idle(row.id, row.due_at, row.requested_at, wake_at.get(row.id)) for row in idle.values()],
        position,
    )


def put_off(connection: sa.Connection, idle: Sequence[Idle], position: tuple[int, int]) -> None:
    """Postpones destinations that no active link leads to, until one does. If links were processed
    meanwhile, one may lead there now, so nothing is done: it is found again."""
    if _position(lock_position(connection)) != position:
        return
    update = (
        sa.update(destinations)
        .where(
            destinations.c.id == sa.bindparam("of_id"),
            destinations.c.due_at.is_not_distinct_from(sa.bindparam("was_due_at")),
            destinations.c.requested_at.is_not_distinct_from(sa.bindparam("was_requested_at")),
        )
        .values(due_at=sa.bindparam("wake_at"), requested_at=None)
    )
    connection.execute(update, [each._asdict() for each in idle])


def defer(connection: sa.Connection, destination_id: int, until: datetime) -> None:
    at = to_micros(until)
    later = {
        column: sa.case((column < at, at), else_=column)
        for column in (destinations.c.due_at, destinations.c.requested_at)
    }
    update = sa.update(destinations).where(destinations.c.id == destination_id)
    connection.execute(update.values(later))


def ask(connection: sa.Connection, link_id: int, site_of: SiteOf, now: int) -> bool:
    """The request is stored for the link too: only there a single failure counts."""
    if not follow_one(connection, link_id, site_of, now):
        return False
    theirs = (
        sa.select(link_destinations.c.destination_id)
        .join(links, links.c.id == link_destinations.c.link_id)
        .where(links.c.id == link_id, is_called(now))
    )
    update = sa.update(destinations).where(destinations.c.id == theirs.scalar_subquery())
    is_requested = destinations.c.requested_at <= now
    first = sa.case((is_requested, destinations.c.requested_at), else_=now)
    asked = update.values(requested_at=first).returning(destinations.c.requested_at)
    requested_at = connection.execute(asked).scalar()
    if requested_at is None:
        return False
    # A link that an earlier check has marked as broken stays so meanwhile.
    is_broken = links.c.destination_status == DestinationStatus.BROKEN
    broken = sa.select(links.c.id).where(links.c.id == link_id, is_broken)
    waits = sa.or_(link_destinations.c.requested_at.is_(None), ~broken.exists())
    of_link = sa.update(link_destinations).where(link_destinations.c.link_id == link_id, waits)
    connection.execute(of_link.values(requested_at=requested_at))
    return True


def _find(
    connection: sa.Connection,
    since: sa.Column[int],
    now: int,
    after: WaitingChecks | None,
    limit: int,
) -> list[WaitingChecks]:
    query = (
        sa.select(since, destinations.c.id, destinations.c.site)
        .where(since.is_not(None), since <= now)
        .order_by(since, destinations.c.id)
        .limit(limit)
    )
    if after is not None:
        place = sa.tuple_(since, destinations.c.id)
        query = query.where(place > sa.tuple_(after.due_at, after.id))
    return [WaitingChecks(*row) for row in connection.execute(query)]


def _clicks() -> sa.ColumnElement[int]:
    newest = (
        sa.select(current_clicks(links.c.id, links.c.redirect_count).label("clicks"))
        .select_from(link_destinations.join(links, links.c.id == link_destinations.c.link_id))
        .where(link_destinations.c.destination_id == destinations.c.id)
        .correlate(destinations)
        .order_by(link_destinations.c.link_id.desc())
        .limit(COUNTED_LINKS)
        .subquery()
    )
    total = sa.select(sa.func.coalesce(sa.func.sum(newest.c.clicks), 0))
    return sa.cast(total.scalar_subquery(), sa.BigInteger)


def _leads(condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Whether such a link leads to a destination."""
    return (
        sa.select(links.c.id)
        .select_from(link_destinations.join(links, links.c.id == link_destinations.c.link_id))
        .where(link_destinations.c.destination_id == destinations.c.id, condition)
        .correlate(destinations)
        .exists()
    )


def _find_starts(connection: sa.Connection, ids: Sequence[int], now: int) -> dict[int, int]:
    """When links to these destinations start, if there are any."""
    of_id = link_destinations.c.destination_id
    query = (
        sa.select(of_id, sa.func.min(links.c.starts_at))
        .join(links, links.c.id == link_destinations.c.link_id)
        .where(among(connection, of_id, ids), may_be_called(now), links.c.starts_at > now)
        .group_by(of_id)
    )
    return {it: min(at, now + LOOK_AGAIN) for it, at in connection.execute(query)}


def _position(row: sa.Row[*tuple[Any, ...]]) -> tuple[int, int]:
    return row.change_id, row.link_id


def _destination(row: sa.Row[*tuple[Any, ...]]) -> Destination:
    standing = Standing(
        None if row.status is None else DestinationStatus(row.status),
        row.http_status,
        row.was_ok,
        row.failures,
        from_micros_or_none(row.failing_since),
        row.unanswered,
    )
    counted_at = row.created_at if row.checked_at is None else row.checked_at
    clicks = Clicks(
        row.clicks, row.clicks_now, from_micros(counted_at), from_micros(row.clicked_at)
    )
    return Destination(row.id, row.location, standing, clicks, row.requested_at)
