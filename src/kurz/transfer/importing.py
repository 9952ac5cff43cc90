"""Imports a file in batches, while it arrives. What was imported before is found again, not
duplicated."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import nullcontext, suppress

from kurz.clock import Clock
from kurz.links.bulk import BulkStore
from kurz.links.imports import most_lines
from kurz.links.ports import NullScreen, Screen
from kurz.links.transfers import RowResult, Targets, TransferFormat
from kurz.people.own_hosts import OwnHosts
from kurz.people.quotas import Allowance
from kurz.transfer.codes import RowCodes
from kurz.transfer.errors import FileRefused
from kurz.transfer.pacing import ImportPace, NoPace, courtesy
from kurz.transfer.preparing import ImportRow, Preparer
from kurz.transfer.reading import MAX_LINE_BYTES, Reader, Record, reader
from kurz.transfer.rehearsal import Rehearsal
from kurz.transfer.row_inserter import RowInserter

# Rows per transaction: about 25 ms of SQLite's time, of the 50 that a write may take
# (`benchmarks/transfer.py`). A power of two is one statement there.
BATCH = 512
# The same where redirects are answered by the same process: a batch is 1 ms of Python.
GENTLE_BATCH = 32
RESULTS_A_ROW = 4  # if most rows are refused, results are returned after this many batches of rows
TURN = 50  # rows between two readings of the clock


async def _nothing() -> None:
    """For a screen whose rules never change."""


class Importer:
    """`refresh` makes the screen judge the next batch by the current rules."""

    def __init__(
        self,
        store: BulkStore,
        codes: RowCodes,
        own_hosts: OwnHosts,
        clock: Clock,
        screen: Screen | None = None,
        refresh: Callable[[], Awaitable[None]] = _nothing,
    ) -> None:
        self._store = store
        self._codes = codes
        self._own_hosts = own_hosts
        self._clock = clock
        self._screen = screen or NullScreen()
        self._refresh = refresh

    async def run(
        self,
        source: AsyncIterator[bytes],
        format: TransferFormat,  # noqa: A002  the word of the product
        targets: Targets,
        *,
        allowances: tuple[Allowance, ...] = (),
        own_hosts: Collection[str] = (),
        is_dry: bool = False,
        gives_way: bool = False,
    ) -> AsyncIterator[list[RowResult]]:
        """As in `LinkImporter`. While a batch is stored, the next one is read."""
        pace, size = (ImportPace(), GENTLE_BATCH) if gives_way else (NoPace(), BATCH)
        hosts = (await self._own_hosts.get(), own_hosts)
        preparer = Preparer(targets, self._codes, hosts, self._clock, self._screen)
        store = Rehearsal(self._store) if is_dry else self._store
        inserter = RowInserter(store, self._codes, allowances, self._clock)
        batches = _batches(source, reader(format), preparer, pace, size)
        with courtesy.shown() if gives_way else nullcontext():
            async for results in self._insert(batches, inserter, BATCH // size):
                yield results

    async def _insert(
        self,
        batches: AsyncIterator[list[ImportRow | RowResult]],
        inserter: RowInserter,
        refresh_after: int,
    ) -> AsyncIterator[list[RowResult]]:
        under_way: asyncio.Task[list[RowResult]] | None = None
        number = 0
        try:
            async for batch in batches:
                if under_way is not None:
                    yield await under_way
                under_way = asyncio.create_task(inserter.insert(batch))
                number += 1
                if number % refresh_after == 0:
                    await self._refresh()
            if under_way is not None:
                yield await under_way
        finally:
            if under_way is not None and not under_way.done():
                under_way.cancel()
                with suppress(asyncio.CancelledError):
                    await under_way

    async def has_more_rows(
        self,
        source: AsyncIterator[bytes],
        format: TransferFormat,  # noqa: A002  as above
        most: int,
    ) -> bool:
        """As in `LinkImporter`."""
        pace, count, reading = ImportPace(), 0, reader(format)
        async for records in _records(source, reading, pace):
            for _ in records:
                count += 1
                if count > most:
                    _check_quotes(reading)
                    return True
                if pace.is_over():
                    await pace.rest()
            if reading.line > most_lines(most):
                _check_quotes(reading)
                rows = "1 row" if count == 1 else f"{count:,} rows"
                raise FileRefused(
                    f"The first {most_lines(most):,} lines contain only {rows}."
                    " Remove the empty lines.",
                    reason="empty-lines",
                )
        return False


def _check_quotes(reading: Reader) -> None:
    if reading.unclosed_line is not None:
        raise FileRefused(
            f"The quote in line {reading.unclosed_line} is not closed, or its row has more than"
            f" {MAX_LINE_BYTES >> 10} KiB. Close the quote and import the file again.",
            reason="unclosed-quote",
            line=reading.unclosed_line,
        )


async def _batches(
    source: AsyncIterator[bytes], reading: Reader, preparer: Preparer, pace: ImportPace, size: int
) -> AsyncIterator[list[ImportRow | RowResult]]:
    """Batches of exactly `size` rows to store, if there are enough."""
    batch: list[ImportRow | RowResult] = []
    rows = turn = 0
    async for records in _records(source, reading, pace):
        for record in records:
            item = preparer.prepare(record) or await preparer.look_up(record)
            batch.append(item)
            rows += isinstance(item, ImportRow)
            if rows == size or len(batch) == RESULTS_A_ROW * size:
                yield batch
                batch, rows = [], 0
            turn += 1
            if turn % TURN == 0:
                preparer.look_at_the_clock()
            if pace.is_over():
                await pace.rest()
    if batch:
        yield batch


async def _records(
    source: AsyncIterator[bytes], reading: Reader, pace: ImportPace
) -> AsyncIterator[Iterator[Record]]:
    """A chunk may have no row at all, and take time."""
    async for chunk in source:
        if pace.is_over():
            await pace.rest()
        yield reading.feed(chunk)
    yield reading.end()
