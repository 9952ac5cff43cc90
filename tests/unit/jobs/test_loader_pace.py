"""How many clicks the loader counts at a time, and when garbage is collected."""

import fcntl
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kurz.clicks.batch import Batch
from kurz.errors import StoreUnavailable
from kurz.jobs.clicks.journals import JournalFolder
from kurz.jobs.clicks.loader import Loader
from support.clicks import LinkCounting, MemoryClickStore, click, write_segment
from support.clock import FrozenClock


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    folder.mkdir()
    return folder


def make_loader(
    store: MemoryClickStore, clock: FrozenClock, journal: Path, **options: Any
) -> Loader:
    folder = JournalFolder(journal, "0123456789abcdef", is_own=True)
    return Loader([folder], store, LinkCounting(), clock, **options)


async def test_a_database_that_is_too_slow_for_a_batch_gets_smaller_ones(clock, journal):
    class Slow(MemoryClickStore):
        async def apply(self, batch: Batch) -> bool:
            if batch.clicks > 1000:
                raise StoreUnavailable("this takes too long")
            return await super().apply(batch)

    store = Slow()
    loader = make_loader(store, clock, journal)
    write_segment(journal, *[click(1)] * 10_000)
    while not store.clicks:
        with suppress(StoreUnavailable):
            await loader.load_all()
    assert store.sizes[0] == 625


async def test_batches_become_larger_while_there_is_more_to_count(clock, journal):
    store = MemoryClickStore()
    loader = make_loader(store, clock, journal, prepares_ahead=False)
    write_segment(journal, *[click(1)] * 80_000)
    await loader.load_all()
    assert store.sizes == [5000, 10_000, 20_000, 20_000, 20_000, 5000]


async def test_clicks_that_come_while_others_are_counted_wait_for_the_next_round(clock, journal):
    """Otherwise a busy server would count many small batches without a pause."""
    path = write_segment(journal, *[click(1)] * 100)
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        class Busy(MemoryClickStore):
            async def apply(self, batch: Batch) -> bool:
                file.write(click(1) * 10)
                return await super().apply(batch)

        store = Busy()
        loader = make_loader(store, clock, journal, prepares_ahead=False)
        await loader.load_all()
        assert store.sizes == [100]
        await loader.load_all()
        assert store.sizes == [100, 10]


async def test_a_refused_batch_of_a_held_journal_is_counted_in_the_end(clock, journal):
    class Refusing(MemoryClickStore):
        is_first = True

        async def apply(self, batch: Batch) -> bool:
            is_refused, self.is_first = self.is_first, False
            return not is_refused and await super().apply(batch)

    path = write_segment(journal, click(1))
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        store = Refusing()
        await make_loader(store, clock, journal).load_all()
    assert store.sizes == [1]


async def test_garbage_is_collected_when_the_clicks_are_counted(clock, journal):
    """Not before: it would search all objects of a batch for nothing."""
    found: list[bool] = []
    store = MemoryClickStore()

    class Noting(LinkCounting):
        def aggregate(self, *args: Any) -> Batch:
            if not found:
                store.failures = [StoreUnavailable("away")]
            found.append(gc.isenabled())
            return super().aggregate(*args)

    loader = make_loader(store, clock, journal)
    loader._counting = Noting()
    write_segment(journal, click(1))
    with pytest.raises(StoreUnavailable):
        await loader.load_all()
    assert gc.isenabled()
    await loader.load_all()
    assert gc.isenabled()
    assert found == [False, False]
