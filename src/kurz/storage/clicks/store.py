"""Counts clicks: each slice of a batch in one transaction, with the position of its segment."""

import json
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

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
from kurz.storage.clicks.positions import (
    find_positions,
    find_progress,
    forget_positions,
    move,
)
from kurz.storage.clicks.slices import Slice, SlicePace, Slices, begins_at
from kurz.storage.clicks.totals import add_totals, total_rows
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads, writes

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
    """A slice that is ready to be written: all work that needs no transaction is done."""

    slice: Slice
    totals: Sequence[tuple[int, int, int, int, float, float]]
    days: MergedDays
    events: Sequence[tuple[Any, ...]]
    late: Collection[Subject]


def prepare_slice(
    connection: sa.Connection, slice_: Slice, today: int, kept_days: int
) -> _Prepared:
    events = kept_events(slice_.events, today, kept_days)
    open_from = first_open_day(today, NOTED_DAYS)
    return _Prepared(
        slice_,
        total_rows(slice_.days, slice_.moments),
        merge_days(connection, slice_.days),
        number_events(connection, events),
        {subject for subject, day in slice_.days if day < open_from},
    )


def write_slice(connection: sa.Connection, prepared: _Prepared, now: int) -> float | None:
    """Returns when it began to write, by the monotonic clock; None: the slice is refused."""
    began_at = time.monotonic()
    slice_ = prepared.slice
    if not move(connection, slice_.segment, slice_.before, slice_.after, now):
        return None
    if not insert_events(connection, prepared.events):
        raise Stale
    lock_counting(connection)
    note_late(connection, prepared.late)
    write_days(connection, prepared.days, slice_.days)
    add_totals(connection, prepared.totals)
    return began_at


def lock_counting(connection: sa.Connection) -> None:
    """Until the transaction ends, no other process writes the counts of links."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def write_slice_at_once(
    connection: sa.Connection, slice_: Slice, now: int, kept_days: int
) -> float | None:
    """Reads and writes in the same transaction, in case another loader was faster."""
    return write_slice(
        connection, prepare_slice(connection, slice_, now // DAY_MICROS, kept_days), now
    )


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

    `max_held_seconds`: how long a write may block other writers; batches are then written in
    slices. None: a batch is one transaction."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        kept_days: int = KEPT_DAYS,
        max_held_seconds: float | None = None,
    ) -> None:
        super().__init__(database)
        self._clock = clock
        self._kept_days = kept_days
        self._pace = None if max_held_seconds is None else SlicePace(max_held_seconds)

    positions = reads(find_positions, LIST_SECONDS)
    owners = reads(find_owners, LIST_SECONDS)
    forget = writes(forget_positions, LIST_SECONDS)

    async def apply(self, batch: Batch) -> bool:
        with deadline(COUNT_SECONDS):
            progress = await self._database.read(find_progress, batch.start.segment)
            if not begins_at(batch, progress):
                return False
            slices = Slices(batch, progress)
            while True:
                slice_ = slices.cut(None if self._pace is None else self._pace.size)
                if not await self._count(slice_):
                    return False
                if slice_.is_last:
                    return True

    async def _count(self, slice_: Slice) -> bool:
        try:
            return await self._write(slice_)
        except DayMissing as missing:
            await self._database.write(ensure_days, missing.days)
        try:
            return await self._write(slice_)
        except DayMissing as error:  # the partition was dropped at that moment
            raise StoreUnavailable(
                "The clicks of a day cannot be stored now. Try again."
            ) from error

    async def _write(self, slice_: Slice) -> bool:
        now = self._clock.micros()
        today, kept_days = now // DAY_MICROS, self._kept_days
        prepared = await self._database.read(prepare_slice, slice_, today, kept_days)
        try:
            began_at = await self._database.write(write_slice, prepared, now)
        except Stale:
            began_at = await self._database.write(write_slice_at_once, slice_, now, kept_days)
        if began_at is not None and self._pace is not None:  # the commit takes as long as the rest
            self._pace.note(time.monotonic() - began_at, is_full=not slice_.is_last)
        return began_at is not None
