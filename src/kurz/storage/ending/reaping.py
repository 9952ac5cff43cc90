"""Ends links that are due, in batches."""

from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from kurz.clock import Clock, from_micros, to_micros
from kurz.links.ending.ports import JOB, IsStopping, never
from kurz.links.ending.reaper_admin import COUNTED
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.model import Status
from kurz.storage.ending.conditions import Condition, are_due, are_ended, still
from kurz.storage.ending.purging import PurgingStore, lock_next, purge_next
from kurz.storage.engine.batches import among, at_once, in_batches
from kurz.storage.engine.changes import update_links
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline
from kurz.storage.engine.instants import read_now
from kurz.storage.jobs.runs import add_cleaned
from kurz.storage.links.history import record_sweep
from kurz.storage.links.tags import trash_tags_of
from kurz.storage.schema.links import links


def mark_some(connection: sa.Connection, now: int, limit: int) -> int:
    condition, order = are_due(now)
    ids = lock_next(connection, condition, order, at_once(connection, limit))
    if not ids:
        return 0
    are_ours = among(connection, links.c.id, ids)
    mark = sa.update(links).where(are_ours, still(condition)).values(status=Status.EXPIRED)
    return connection.execute(mark).rowcount


def trash_some(
    connection: sa.Connection, ended: EndedKind, before: int, now: int, limit: int
) -> int:
    condition, order = are_ended(ended, before)
    ids = lock_next(connection, condition, order, at_once(connection, limit))
    return _trash(connection, ids, condition, now) if ids else 0


def _trash(
    connection: sa.Connection, link_ids: Sequence[int], condition: Condition, now: int
) -> int:
    are_ours = sa.and_(among(connection, links.c.id, link_ids), still(condition))
    record_sweep(connection, are_ours, now)
    moved = update_links(
        connection, are_ours, now=now, status=Status.DELETED, deleted_at=now, swept_at=now
    )
    trash_tags_of(connection, moved)
    add_cleaned(connection, JOB, len(moved))
    return len(moved)


def purge_some(
    connection: sa.Connection, ended: EndedKind, before: int, now: int, kept_until: int, limit: int
) -> int:
    condition, order = are_ended(ended, before)
    purged = purge_next(connection, condition, order, limit, now, kept_until)
    add_cleaned(connection, JOB, purged)
    return purged


def count_some(connection: sa.Connection, condition: Condition, limit: int) -> int:
    some = sa.select(sa.literal(1)).select_from(links).where(condition).limit(limit).subquery()
    return connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()


def _seconds_for(limit: int) -> float:
    """Counting more than a list shows may take longer."""
    return LIST_SECONDS if limit <= COUNTED else LONG_SECONDS


class SqlReaperStore(PurgingStore):
    """The `ReaperStore` of both engines."""

    def __init__(self, database: Database, clock: Clock, kept: timedelta) -> None:
        super().__init__(database, kept)
        self._clock = clock

    async def now(self) -> datetime:
        return from_micros(await self._database.read(read_now, self._clock))

    async def mark_expired(self, now: datetime, limit: int, is_stopping: IsStopping = never) -> int:
        def mark_batch(most: int) -> Awaitable[int]:
            return self._database.write(mark_some, to_micros(now), most)

        return await in_batches(mark_batch, limit, is_stopping)

    async def sweep(
        self,
        ended: EndedKind,
        action: RetentionAction,
        before: datetime,
        now: datetime,
        limit: int,
        is_stopping: IsStopping = never,
    ) -> int:
        since, at = to_micros(before), to_micros(now)

        def trash(most: int) -> Awaitable[int]:
            return self._database.write(trash_some, ended, since, at, most)

        def purge(most: int) -> Awaitable[int]:
            until = at + self._kept_micros
            return self._database.write(purge_some, ended, since, at, until, most)

        if action is RetentionAction.PURGE:
            return await in_batches(purge, limit, is_stopping)
        if action is RetentionAction.TRASH and ended in (EndedKind.TEMPORARY, EndedKind.PERMANENT):
            return await in_batches(trash, limit, is_stopping)
        raise ValueError(f"no sweep: {ended} → {action}")

    async def count(self, ended: EndedKind, before: datetime, limit: int) -> int:
        condition, _ = are_ended(ended, to_micros(before))
        with deadline(_seconds_for(limit)):
            return await self._database.read(count_some, condition, limit)

    async def count_unmarked(
        self, before: datetime, limit: int, ended: EndedKind | None = None
    ) -> int:
        condition, _ = are_due(to_micros(before), ended)
        with deadline(_seconds_for(limit)):
            return await self._database.read(count_some, condition, limit)
