"""Imports a file, as it arrives, in batches. What was imported before is met again, not doubled."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import suppress

from kurz.clock import Clock
from kurz.links.bulk import BulkStore
from kurz.links.ports import NullScreen, Screen
from kurz.links.transfers import Format, RowResult, Targets
from kurz.people.own_hosts import OwnHosts
from kurz.people.quotas import Allowance
from kurz.transfer.codes import RowCodes
from kurz.transfer.keeping import Keeper
from kurz.transfer.preparing import Preparer, Row
from kurz.transfer.reading import Reader, Record, reader
from kurz.transfer.rehearsal import Rehearsal

# Rows a transaction: about 25 ms of SQLite's time, of the 50 that a write may take
# (`benchmarks/transfer.py`). A power of two is one statement there.
BATCH = 512
MOST_RESULTS = 4 * BATCH  # where most rows are refused, they are told all the same
TURN = 50  # rows between two chances for everybody else in this process: about 2 ms


async def _nothing() -> None:
    """There is nothing that could be others by now."""


class Importer:
    """`refresh` has the screen judge the rows of the next batch by the rules of now."""

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
        format: Format,  # noqa: A002  the word of the product
        targets: Targets,
        *,
        allowances: tuple[Allowance, ...] = (),
        own_hosts: Collection[str] = (),
        is_dry: bool = False,
    ) -> AsyncIterator[list[RowResult]]:
        """The results of the rows, in the order of the file, some at a time; `targets` says where
        they go. `FileRefused`: this is no file of links. A dry run writes nothing. `own_hosts` as
        in `LinkService.create`. While a batch is stored, the next one is read."""
        hosts = (await self._own_hosts.get(), own_hosts)
        preparer = Preparer(targets, self._codes, hosts, self._clock, self._screen)
        store = Rehearsal(self._store) if is_dry else self._store
        keeper = Keeper(store, self._codes, allowances, self._clock)
        under_way: asyncio.Task[list[RowResult]] | None = None
        try:
            async for batch in _batches(source, reader(format), preparer):
                if under_way is not None:
                    yield await under_way
                under_way = asyncio.create_task(keeper.keep(batch))
                await self._refresh()
            if under_way is not None:
                yield await under_way
        finally:
            if under_way is not None and not under_way.done():
                under_way.cancel()
                with suppress(asyncio.CancelledError):
                    await under_way


async def _batches(
    source: AsyncIterator[bytes], reading: Reader, preparer: Preparer
) -> AsyncIterator[list[Row | RowResult]]:
    """Batches of exactly `BATCH` rows to store, where there are so many."""
    batch: list[Row | RowResult] = []
    rows = turn = 0
    async for records in _records(source, reading):
        for record in records:
            item = preparer.prepare(record) or await preparer.look_up(record)
            batch.append(item)
            rows += isinstance(item, Row)
            if rows == BATCH or len(batch) == MOST_RESULTS:
                yield batch
                batch, rows = [], 0
            turn += 1
            if turn % TURN == 0:
                await asyncio.sleep(0)
                preparer.look_at_the_clock()
    if batch:
        yield batch


async def _records(
    source: AsyncIterator[bytes], reading: Reader
) -> AsyncIterator[Iterator[Record]]:
    async for chunk in source:
        yield reading.feed(chunk)
    yield reading.end()
