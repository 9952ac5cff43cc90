"""Counts clicks: a whole batch in one transaction, with the position of its segment."""

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clicks.batch import Batch, LinkOwner, Subject
from kurz.clicks.months import NOTED_DAYS, first_open_day
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.storage.clicks.days import MergedDays, Stale, merge_days, write_days
from kurz.storage.clicks.events import (
    DayMissing,
    ensure_days,
    insert_events,
    kept_events,
    number_events,
)
from kurz.storage.clicks.months import note_late
from kurz.storage.clicks.totals import add_totals, total_rows
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.schema.clicks import journal_position

COUNT_SECONDS = 10.0  # for a batch, which nobody waits for
KEPT_DAYS = 90

# "kcli": loaders count one after another. All of them write the installation's row, so they would
# queue there anyway, but while holding rows of links, and in different orders.
_LOCK = 0x6B636C69
_POSTGRES_OWNERS = "SELECT id, space, tags FROM links WHERE id = ANY($1::bigint[])"
_SQLITE_OWNERS = "SELECT id, space, tags FROM links WHERE id IN (SELECT value FROM json_each(?))"
_decode_tags = msgspec.json.Decoder(tuple[str, ...]).decode


@dataclass(slots=True)
class _Prepared:
    """A batch that is ready to be written: all work that needs no transaction is done."""

    batch: Batch
    totals: Sequence[tuple[int, int, int, int, float, float]]
    days: MergedDays
    events: Sequence[tuple[Any, ...]]
    late: Collection[Subject]
    held_seconds: float = 0.0


def prepare_batch(connection: sa.Connection, batch: Batch, today: int, kept_days: int) -> _Prepared:
    events = kept_events(batch.events, today, kept_days)
    open_from = first_open_day(today, NOTED_DAYS)
    return _Prepared(
        batch,
        total_rows(batch),
        merge_days(connection, batch.days),
        number_events(connection, events),
        {subject for subject, day in batch.days if day < open_from},
    )


def write_batch(connection: sa.Connection, prepared: _Prepared, now: int) -> bool:
    started = time.monotonic()
    if not _move(connection, prepared.batch, now):
        return False
    if not insert_events(connection, prepared.events):
        raise Stale
    lock_counting(connection)
    note_late(connection, prepared.late)
    write_days(connection, prepared.days, prepared.batch.days)
    add_totals(connection, prepared.totals)
    prepared.held_seconds = time.monotonic() - started
    return True


def lock_counting(connection: sa.Connection) -> None:
    """Until the transaction ends, no other process writes the counts of links."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def write_batch_at_once(connection: sa.Connection, batch: Batch, now: int, kept_days: int) -> bool:
    """For a batch that another loader was faster than: reads and writes in the same transaction."""
    return write_batch(
        connection, prepare_batch(connection, batch, now // DAY_MICROS, kept_days), now
    )


def _move(connection: sa.Connection, batch: Batch, now: int) -> bool:
    segment, offset = batch.start
    moved = {"offset": batch.end.offset, "moved_at": now}
    if not offset:
        first = insert(journal_position).values(segment=segment, **moved)
        return connection.execute(first.on_conflict_do_nothing()).rowcount == 1
    position = journal_position.c
    here = sa.and_(position.segment == segment, position.offset == offset)
    return connection.execute(sa.update(journal_position).where(here).values(moved)).rowcount == 1


def find_offsets(connection: sa.Connection, segments: Collection[bytes]) -> dict[bytes, int]:
    position = journal_position.c
    query = sa.select(position.segment, position.offset).where(position.segment.in_(segments))
    return {row.segment: row.offset for row in connection.execute(query)}


def forget_positions(connection: sa.Connection, segments: Collection[bytes]) -> None:
    gone = journal_position.c.segment.in_(segments)
    connection.execute(sa.delete(journal_position).where(gone))


def find_owners(connection: sa.Connection, link_ids: Collection[int]) -> dict[int, LinkOwner]:
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        rows = driver.execute(_SQLITE_OWNERS, (json.dumps(list(link_ids)),)).fetchall()
    else:
        rows = connection.exec_driver_sql(_POSTGRES_OWNERS, (list(link_ids),)).all()
    return {
        link_id: LinkOwner(space, tuple(dict.fromkeys(_decode_tags(tags))) if tags else ())
        for link_id, space, tags in rows
    }


class SqlClickStore(SqlStore):
    """The `ClickStore` of both engines. Individual clicks are kept for `kept_days`, 0 for none.

    `held_seconds` is how long the last batch kept others from writing, on SQLite: if that is more
    than 25 ms, the next batch has to be smaller."""

    def __init__(self, database: Database, clock: Clock, *, kept_days: int = KEPT_DAYS) -> None:
        super().__init__(database)
        self._clock = clock
        self._kept_days = kept_days
        self.held_seconds = 0.0

    offsets = reads(find_offsets, LIST_SECONDS)
    owners = reads(find_owners, LIST_SECONDS)
    forget = writes(forget_positions, LIST_SECONDS)

    async def apply(self, batch: Batch) -> bool:
        with deadline(COUNT_SECONDS):
            try:
                return await self._apply(batch)
            except DayMissing as missing:
                await self._database.write(ensure_days, missing.days)
            try:
                return await self._apply(batch)
            except DayMissing as error:  # the partition was dropped at that moment
                raise StoreUnavailable(
                    "The clicks of a day cannot be stored now. Try again."
                ) from error

    async def _apply(self, batch: Batch) -> bool:
        now = self._clock.micros()
        today, kept_days = now // DAY_MICROS, self._kept_days
        prepared = await self._database.read(prepare_batch, batch, today, kept_days)
        try:
            is_counted = await self._database.write(write_batch, prepared, now)
        except Stale:
            return await self._database.write(write_batch_at_once, batch, now, kept_days)
        self.held_seconds = prepared.held_seconds
        return is_counted
