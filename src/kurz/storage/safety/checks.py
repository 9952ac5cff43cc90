"""Checks of destinations: what was found, and how it is written to their links."""

import asyncio
import time
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import DestinationStatus
from kurz.rounds import rest_after
from kurz.safety.check_schedule import FIRST_AFTER, RETRIES, as_seen, stand
from kurz.safety.checks import (
    KEPT_CHECKS,
    Check,
    CheckVerdict,
    Destination,
    Finding,
    Reason,
    Standing,
)
from kurz.storage.engine.batches import among
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.safety.destinations import SiteOf, warm_up
from kurz.storage.safety.waiting_checks import (
    ask,
    count_due,
    defer,
    find_due,
    find_requested,
    load,
    put_off,
)
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import checks, destinations, link_destinations

BATCH = 250  # links that are updated in a transaction: 15 ms on SQLite
TRIES = 50  # to update links that are locked at the moment
REST_SECONDS = 0.1


class Told(NamedTuple):
    """Of some links: which are locked, whether some were added only after the check had begun, and
    where to continue; None: these were the last."""

    held: list[int]
    has_new: bool
    after: int | None


def record_verdict(connection: sa.Connection, destination_id: int, verdict: CheckVerdict) -> bool:
    """False: the destination no longer exists."""
    standing, check = verdict.standing, verdict.check
    checked_at = to_micros(check.checked_at)
    update = (
        sa.update(destinations)
        .where(destinations.c.id == destination_id)
        .values(
            status=standing.status,
            http_status=standing.http_status,
            was_ok=standing.was_ok,
            failures=standing.failures,
            failing_since=to_micros_or_none(standing.failing_since),
            unanswered=standing.unanswered,
            clicks=verdict.clicks,
            clicked_at=to_micros(verdict.clicked_at),
            checked_at=checked_at,
        )
    )
    if connection.execute(update).rowcount == 0:
        return False
    row = {
        "destination_id": destination_id,
        "checked_at": checked_at,
        "result": check.finding.result,
        "reason": check.finding.reason,
        "http_status": check.finding.http_status,
        "is_requested": check.is_requested,
    }
    theirs = checks.c.destination_id == destination_id
    known = sa.select(checks.c.id).where(theirs, checks.c.checked_at == checked_at)
    if connection.execute(known.limit(1)).first() is not None:
        return True  # it was recorded, but the caller did not get the result
    connection.execute(sa.insert(checks).values(row))
    newest = sa.select(checks.c.id).where(theirs).order_by(checks.c.id.desc()).offset(KEPT_CHECKS)
    last_old = newest.limit(1).scalar_subquery()
    connection.execute(sa.delete(checks).where(theirs, checks.c.id <= last_old))
    return True


def tell_links(
    connection: sa.Connection, destination_id: int, after: int, verdict: CheckVerdict, limit: int
) -> Told:
    """Updates the next links after one of them."""
    query = (
        sa.select(link_destinations.c.link_id)
        .where(
            link_destinations.c.destination_id == destination_id,
            link_destinations.c.link_id > after,
        )
        .order_by(link_destinations.c.link_id)
        .limit(limit)
    )
    ids = connection.execute(query).scalars().all()
    told = tell_some(connection, destination_id, ids, verdict)
    return told._replace(after=ids[-1] if len(ids) == limit else None)


def tell_some(
    connection: sa.Connection, destination_id: int, link_ids: Sequence[int], verdict: CheckVerdict
) -> Told:
    """It changes no version and adds nothing to the change log: no redirect depends on it. On
    PostgreSQL it skips locked links and returns them, so that there are no deadlocks."""
    theirs = (
        sa.select(links.c.id)
        .join(link_destinations, links.c.id == link_destinations.c.link_id)
        .where(
            among(connection, links.c.id, link_ids),
            link_destinations.c.destination_id == destination_id,
        )
        .order_by(links.c.id)
    )
    free = theirs.with_for_update(of=links, skip_locked=True, key_share=True)
    ids = connection.execute(free).scalars().all()
    # Only now is it certain that they lead there: an edit would need the lock.
    query = sa.select(link_destinations).where(
        among(connection, link_destinations.c.link_id, ids),
        link_destinations.c.destination_id == destination_id,
    )
    led = connection.execute(query).all()
    has_new = False
    for standing, some in _by_standing(connection, destination_id, led, verdict).items():
        if standing is None:
            has_new = True
            continue
        tell = sa.update(links).where(among(connection, links.c.id, some))
        connection.execute(
            tell.values(
                destination_status=standing.status,
                destination_http_status=standing.http_status,
                last_checked_at=to_micros(verdict.check.checked_at),
            )
        )
    is_alone = connection.dialect.name == "sqlite"
    held = [] if is_alone else [*(set(connection.execute(theirs).scalars()) - set(ids))]
    return Told(held, has_new, None)


def set_due(
    connection: sa.Connection, destination_id: int, verdict: CheckVerdict, *, has_new: bool
) -> None:
    """Clears the request, unless it came after the check had begun. An earlier due time stays;
    links that were added meanwhile are checked soon."""
    due_at = verdict.due_at
    if has_new:
        due_at = min(due_at, verdict.concluded_at + FIRST_AFTER)
    is_sooner = sa.and_(
        destinations.c.due_at > to_micros(verdict.concluded_at),
        destinations.c.due_at < to_micros(due_at),
        destinations.c.due_at != _soon(verdict),
    )
    was_answered = destinations.c.requested_at == verdict.requested_at
    update = sa.update(destinations).where(destinations.c.id == destination_id)
    connection.execute(
        update.values(
            due_at=sa.case((is_sooner, destinations.c.due_at), else_=to_micros(due_at)),
            requested_at=sa.case((was_answered, None), else_=destinations.c.requested_at),
        )
    )


def record_first(connection: sa.Connection, destination_id: int, verdict: CheckVerdict) -> Told:
    """Everything in one transaction, if one is enough for the links. If the others are never
    updated, the next check comes soon, but not at once."""
    if not record_verdict(connection, destination_id, verdict):
        return Told([], has_new=False, after=None)
    told = tell_links(connection, destination_id, 0, verdict, BATCH)
    if told.after is None and not told.held:
        set_due(connection, destination_id, verdict, has_new=told.has_new)
    else:
        update = sa.update(destinations).where(destinations.c.id == destination_id)
        connection.execute(update.values(due_at=_soon(verdict)))
    return told


def last_checks(connection: sa.Connection, link_id: int) -> list[Check]:
    query = (
        sa.select(checks)
        .join(
            link_destinations,
            sa.and_(
                link_destinations.c.destination_id == checks.c.destination_id,
                link_destinations.c.since <= checks.c.checked_at,
            ),
        )
        .where(link_destinations.c.link_id == link_id)
        .order_by(checks.c.id.desc())
        .limit(KEPT_CHECKS)
    )
    found = [_check(row) for row in connection.execute(query)]
    return as_seen(found[::-1])[::-1]


class SqlCheckStore(SqlStore):
    """The `CheckStore` of both engines."""

    def __init__(self, database: Database, site_of: SiteOf) -> None:
        super().__init__(database)
        self._site_of = site_of

    find_requested = reads(find_requested, LIST_SECONDS)
    find_due = reads(find_due, LIST_SECONDS)

    async def load(self, ids: Sequence[int], now: datetime) -> Sequence[Destination]:
        with deadline(LIST_SECONDS):
            found, idle, position = await self._database.read(load, ids, to_micros(now))
            if idle:
                await self._database.write(put_off, idle, position)
        return found

    async def record(self, destination_id: int, verdict: CheckVerdict) -> None:
        with deadline(LIST_SECONDS):
            told = await self._database.write(record_first, destination_id, verdict)
            if told.after is None and not told.held:
                return
            held, has_new = told.held, told.has_new
            while told.after is not None:
                started = time.monotonic()
                told = await self._database.write(
                    tell_links, destination_id, told.after, verdict, BATCH
                )
                held, has_new = held + told.held, has_new or told.has_new
                await asyncio.sleep(rest_after(started))
            for _ in range(TRIES):
                if not held:
                    break
                await asyncio.sleep(REST_SECONDS)
                told = await self._database.write(tell_some, destination_id, held[:BATCH], verdict)
                held, has_new = held[BATCH:] + told.held, has_new or told.has_new
            await self._finish(destination_id, verdict, has_new=has_new)

    async def _finish(self, destination_id: int, verdict: CheckVerdict, *, has_new: bool) -> None:
        finish = partial(set_due, has_new=has_new)
        await self._database.write(finish, destination_id, verdict)

    defer = writes(defer)
    count_due = reads(count_due, LIST_SECONDS)

    async def has_requested(self, now: datetime) -> bool:
        return bool(await self._database.read(find_requested, now, None, 1))

    async def ask(self, link_id: int, now: datetime) -> bool:
        await warm_up(self._site_of)
        return await self._database.write(ask, link_id, self._site_of, to_micros(now))

    last_checks = reads(last_checks)


def _soon(verdict: CheckVerdict) -> int:
    """When the next check is due if not all links could be updated."""
    return to_micros(min(verdict.due_at, verdict.concluded_at + RETRIES[0]))


def _by_standing(
    connection: sa.Connection,
    destination_id: int,
    led: Sequence[sa.Row[*tuple[Any, ...]]],
    verdict: CheckVerdict,
) -> dict[Standing | None, list[int]]:
    """Which links get which result: each only from the checks since it leads there, as if no other
    link led there or was checked. None: nothing yet."""
    checked_at = to_micros(verdict.check.checked_at)
    found: dict[Standing | None, list[int]] = {}
    if verdict.check.finding.is_final:
        for row in led:
            standing = verdict.standing if row.since <= checked_at else None
            found.setdefault(standing, []).append(row.link_id)
        return found
    theirs = sa.select(checks).where(checks.c.destination_id == destination_id)
    rows = connection.execute(theirs.order_by(checks.c.id)).all()
    kept, times = [_check(row) for row in rows], [row.checked_at for row in rows]
    asked = [row.checked_at for row in rows if row.is_requested]
    known: dict[tuple[int, int | None], Standing] = {}
    if len(kept) >= KEPT_CHECKS:
        known[0, None] = _shown(verdict.standing)
    for row in led:
        key = first, answered_at = bisect_left(times, row.since), _answer_to(row, asked)
        if first < len(kept) and key not in known:
            known[key] = _shown(stand(kept[first:], from_micros_or_none(answered_at)))
        found.setdefault(known.get(key), []).append(row.link_id)
    return found


def _answer_to(row: sa.Row[*tuple[Any, ...]], asked: Sequence[int]) -> int | None:
    """When the check began that this link had requested, among all requested checks."""
    if row.requested_at is None:
        return None
    first = bisect_left(asked, max(row.requested_at, row.since))
    return asked[first] if first < len(asked) else None


def _shown(standing: Standing) -> Standing:
    """Everything that a link shows of it."""
    return Standing(standing.status, standing.http_status)


def _check(row: sa.Row[*tuple[Any, ...]]) -> Check:
    finding = Finding(DestinationStatus(row.result), Reason(row.reason), row.http_status)
    return Check(from_micros(row.checked_at), finding, bool(row.is_requested))
