"""The loader over a store in memory: what is counted, in which order, and what goes wrong."""

import asyncio
import fcntl
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from kurz.clicks.batch import Batch
from kurz.clicks.header import HEADER_BYTES
from kurz.errors import StoreUnavailable
from kurz.jobs.clicks.journals import JournalFolder
from kurz.jobs.clicks.loader import Loader
from support.clicks import LinkCounting, MemoryClickStore, click, write_segment
from support.clock import FrozenClock

IDENTITY = "0123456789abcdef"


@pytest.fixture
def store() -> MemoryClickStore:
    return MemoryClickStore()


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    folder.mkdir()
    return folder


def make_loader(
    store: MemoryClickStore, clock: FrozenClock, *folders: Path, **options: Any
) -> Loader:
    journals = [JournalFolder(folder, IDENTITY, is_own=True) for folder in folders]
    options.setdefault("counting", LinkCounting())
    return Loader(journals, store, clock=clock, **options)


@pytest.fixture
def loader(store: MemoryClickStore, clock: FrozenClock, journal: Path) -> Loader:
    return make_loader(store, clock, journal)


async def until(holds: Callable[[], object]) -> None:
    while not holds():  # noqa: ASYNC110  the store tells nobody
        await asyncio.sleep(0.005)


def marks(journal: Path) -> list[str]:
    return sorted(path.stem for path in journal.glob("*.counted"))


async def test_every_click_of_every_segment_is_counted_once(loader, store, journal):
    for link_id in (1, 2, 3):
        write_segment(journal, *[click(link_id)] * link_id)
    assert await loader.load_all() == 6
    assert store.clicks == Counter({1: 1, 2: 2, 3: 3})
    assert await loader.load_all() == 0
    assert store.clicks.total() == 6


async def test_another_loader_goes_on_where_the_last_one_was(loader, store, clock, journal):
    path = write_segment(journal, click(1), click(2))
    await loader.load_all()
    with path.open("ab") as file:
        file.write(click(3))
    assert await make_loader(store, clock, journal).load_all() == 1
    assert store.clicks == Counter({1: 1, 2: 1, 3: 1})


async def test_a_segment_that_is_held_is_followed(loader, store, journal):
    path = write_segment(journal, click(1))
    with path.open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert await loader.load_all() == 1
        assert marks(journal) == []
        file.write(click(1) + click(1)[:20])
        assert await loader.load_all() == 1
        file.write(click(1)[20:])
        assert await loader.load_all() == 1
        assert marks(journal) == []
    await loader.load_all()
    assert marks(journal) == [path.stem]
    assert store.clicks == Counter({1: 3})


async def test_a_torn_end_is_no_click_and_keeps_nobody_busy(loader, store, journal):
    path = write_segment(journal, click(1), click(1)[:-1])
    assert await loader.load_all() == 1
    assert marks(journal) == [path.stem]
    assert loader.counts()["clicks_backlog_bytes"] == 0


async def test_nothing_to_count_is_nothing_to_ask(loader, store, journal):
    path = write_segment(journal, click(1))
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        await loader.load_all()
        store.calls.clear()
        await loader.load_all()
        assert store.calls == []


async def test_empty_segments_and_headers_alone_are_nothing(loader, store, journal):
    whole = write_segment(journal)
    torn = write_segment(journal)
    torn.write_bytes(torn.read_bytes()[:10])
    empty = write_segment(journal)
    empty.write_bytes(b"")
    assert await loader.load_all() == 0
    assert marks(journal) == sorted(path.stem for path in (whole, torn, empty))
    assert loader.counts()["clicks_load_errors"] == 0


async def test_there_need_be_no_folder(store, clock, tmp_path):
    loader = make_loader(store, clock, tmp_path / "none")
    assert await loader.load_all() == 0
    assert not (tmp_path / "none").exists()
    assert loader.counts()["clicks_load_errors"] == 0


@pytest.mark.parametrize("place", ["front", "middle", "end", "header"])
async def test_damage_is_kept_aside_and_passed_by(loader, store, journal, place):
    records = [click(1), click(2), click(3)]
    junk = bytes(range(256)) * 4
    at = {"front": 0, "middle": 1, "end": 3, "header": 3}[place]
    path = write_segment(journal, *records[:at], junk if place != "header" else b"", *records[at:])
    if place == "header":
        path.write_bytes(b"x" + path.read_bytes()[1:])
    await loader.load_all()
    assert store.clicks == Counter({1: 1, 2: 1, 3: 1})
    damaged = HEADER_BYTES if place == "header" else len(junk)
    assert loader.counts()["clicks_damaged_bytes"] == damaged
    assert path.with_suffix(".corrupt").read_bytes() == path.read_bytes()
    assert store.offsets[bytes.fromhex(path.stem)] == path.stat().st_size
    assert marks(journal) == [path.stem]


@pytest.mark.parametrize("is_empty", [False, True])
@pytest.mark.parametrize(
    "rest",
    [b"\xff" * 300, bytes(30), click(1)[:-1] + b"x", click(1)[1:]],
    ids=["junk", "zeros", "wrong checksum", "no beginning"],
)
async def test_damage_at_the_end_is_told_when_nobody_holds_the_segment(
    loader, store, clock, journal, rest, is_empty
):
    path = write_segment(journal, *[] if is_empty else [click(2)], rest)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        await loader.load_all()
        assert loader.counts()["clicks_damaged_bytes"] == 0
    await loader.load_all()
    assert loader.counts()["clicks_damaged_bytes"] == len(rest)
    assert loader.counts()["clicks_backlog_bytes"] == 0
    assert path.with_suffix(".corrupt").read_bytes() == path.read_bytes()
    assert marks(journal) == [path.stem]
    later = make_loader(store, clock, journal)
    await later.load_all()
    assert later.counts()["clicks_damaged_bytes"] == 0


@pytest.mark.parametrize("size", range(len(click(1))))
async def test_a_record_that_was_not_finished_is_no_damage(loader, journal, size):
    path = write_segment(journal, click(1), click(1)[:size])
    await loader.load_all()
    assert loader.counts()["clicks_damaged_bytes"] == 0
    assert not path.with_suffix(".corrupt").exists()


@pytest.mark.parametrize("at", ["front", "middle", "end"])
async def test_damage_is_told_once_however_long_the_store_is_away(clock, journal, at):
    class Leaving(MemoryClickStore):
        is_away = True

        async def apply(self, batch: Batch) -> bool:
            if self.is_away and not batch.clicks:
                raise StoreUnavailable("away")
            return await super().apply(batch)

    pieces = [click(1), click(1)]
    place = {"front": 0, "middle": 1, "end": 2}[at]
    pieces.insert(place, b"\xff" * 300)
    write_segment(journal, *pieces)
    store = Leaving()
    loader = make_loader(store, clock, journal)
    with capture_logs() as logs:
        for _ in range(9):
            with pytest.raises(StoreUnavailable):
                await loader.load_all()
        assert loader.counts()["clicks_damaged_bytes"] == 0
        store.is_away = False
        await loader.load_all()
    assert loader.counts()["clicks_damaged_bytes"] == 300
    assert [entry["event"] for entry in logs] == ["journal is damaged"]
    assert logs[0]["offset"] == HEADER_BYTES + place * len(click(1))


async def test_random_bytes_never_make_a_click_count_twice(store, clock, journal):
    for seed in range(40):
        chance = random.Random(seed)
        pieces = [click(1 + seed)] * 20
        for _ in range(chance.randrange(1, 4)):
            pieces.insert(chance.randrange(20), chance.randbytes(chance.randrange(1, 2000)))
        write_segment(journal, *pieces)
    await make_loader(store, clock, journal).load_all()
    # Junk that looks like the beginning of a record may take the one behind it along.
    assert store.clicks.keys() == {1 + seed for seed in range(40)}
    assert max(store.clicks.values()) <= 20
    assert store.clicks.total() >= 40 * 17


async def test_a_segment_that_cannot_be_counted_stops_no_other(loader, store, journal):
    class Broken(LinkCounting):
        def aggregate(self, records: Any, owners: Any, start: Any, end: Any) -> Batch:
            if records[0].link_id == 1:
                raise RuntimeError("no good")
            return super().aggregate(records, owners, start, end)

    loader._counting = Broken()
    for link_id in (1, 2, 3):
        write_segment(journal, click(link_id))
    assert await loader.load_all() == 2
    assert store.clicks == Counter({2: 1, 3: 1})
    assert loader.counts()["clicks_load_errors"] == 1
    assert len(marks(journal)) == 2
    loader._counting = LinkCounting()
    assert await loader.load_all() == 1
    assert len(marks(journal)) == 3


async def test_a_copy_under_another_name_is_not_counted(loader, store, journal):
    path = write_segment(journal, click(1))
    path.with_stem("f" * 32).write_bytes(path.read_bytes())
    await loader.load_all()
    assert store.clicks == Counter({1: 1})
    assert loader.counts()["clicks_load_errors"] == 1


async def test_files_may_vanish_at_any_time(loader, store, journal):
    class Vanishing(LinkCounting):
        def read(self, path: Path, offset: int, limit: int, until: int | None = None) -> Any:
            path.unlink()
            return super().read(path, offset, limit)

    loader._counting = Vanishing()
    write_segment(journal, click(1))
    assert await loader.load_all() == 0
    loader._counting = LinkCounting()
    write_segment(journal, click(2))
    assert await loader.load_all() == 1
    assert loader.counts()["clicks_load_errors"] == 0


async def test_a_large_segment_does_not_hold_up_the_others(store, clock, journal):
    write_segment(journal, *[click(1)] * 12_000, identity=bytes(16))  # the first by name
    for _ in range(3):
        write_segment(journal, click(2))
    await make_loader(store, clock, journal).load_all()
    assert store.clicks == Counter({1: 12_000, 2: 3})
    # The others come within one turn of it.
    assert sorted(store.sizes[:4]) == [1, 1, 1, 5000]


async def test_turns_that_are_cut_short_reach_everybody(store, clock, journal):
    for link_id in range(1, 6):
        write_segment(journal, *[click(link_id)] * 12_000)
    loader = make_loader(store, clock, journal)
    for _ in range(5):  # each is over after its first batch
        await loader._load(time.monotonic() + 0.0005)
    assert len(store.clicks) == len(store.sizes)
    await loader.load_all()
    assert set(store.clicks.values()) == {12_000}


async def test_a_refused_batch_is_made_again_from_where_the_database_is(loader, store, journal):
    path = write_segment(journal, click(1), click(1))
    first = HEADER_BYTES + len(click(1))

    class Overtaking(LinkCounting):
        def read(self, path: Path, offset: int, limit: int, until: int | None = None) -> Any:
            if not offset:  # another loader counts the first one meanwhile
                store.offsets[bytes.fromhex(path.stem)] = first
                store.clicks[1] += 1
            return super().read(path, offset, limit)

    loader._counting = Overtaking()
    assert await loader.load_all() == 1
    assert store.clicks == Counter({1: 2})
    assert loader.counts()["clicks_refused_batches"] == 1
    assert marks(journal) == [path.stem]


async def test_two_loaders_of_one_folder_count_once(store, clock, journal):
    for link_id in range(1, 9):
        write_segment(journal, *[click(link_id)] * 6_000)
    loaders = [make_loader(store, clock, journal) for _ in range(2)]
    counted = await asyncio.gather(*(loader.load_all() for loader in loaders))
    assert sum(counted) == 48_000
    assert set(store.clicks.values()) == {6_000}


async def test_it_works_in_the_background_and_counts_the_rest_at_the_end(store, clock, journal):
    loader = make_loader(store, clock, journal, wake_seconds=0.01)
    loader.start()
    write_segment(journal, click(1))
    await until(lambda: store.clicks[1])
    store.failures = [StoreUnavailable("away"), RuntimeError("a bug")]
    write_segment(journal, click(2))
    await until(lambda: store.clicks[2])
    loader._wake_seconds = 60.0
    await asyncio.sleep(0.05)
    write_segment(journal, click(3))
    await loader.stop()
    assert store.clicks == Counter({1: 1, 2: 1, 3: 1})


class NotingCopier:
    def __init__(self) -> None:
        self.told: list[set[int]] = []

    def note(self, link_ids):
        self.told.append(link_ids)

    @property
    def waiting(self):
        return len(self.told)


async def test_links_that_were_counted_are_told(store, clock, journal):
    copier = NotingCopier()
    loader = make_loader(store, clock, journal, copier=copier)
    write_segment(journal, click(1), click(2), click(1))
    await loader.load_all()
    assert copier.told == [{1, 2}]
    assert loader.counts()["click_copies_waiting"] == 1


async def test_the_backlog_is_known(loader, store, journal):
    assert loader.counts()["clicks_waiting_since_seconds"] == 0
    instant = 1_772_000_000_000_000
    write_segment(journal, click(1, instant + 3_000_000))
    write_segment(journal, click(1, instant), click(1, instant + 5_000_000))

    class Away(MemoryClickStore):
        async def apply(self, batch: Batch) -> bool:
            raise StoreUnavailable("away")

    loader._store = Away()
    with pytest.raises(StoreUnavailable):
        await loader.load_all()
    counts = loader.counts()
    assert counts["clicks_backlog_bytes"] == 2 * HEADER_BYTES + 3 * len(click(1))
    assert counts["clicks_waiting_since_seconds"] == instant // 1_000_000
    loader._store = store
    await loader.load_all()
    counts = loader.counts()
    assert counts["clicks_backlog_bytes"] == counts["clicks_waiting_since_seconds"] == 0
    assert (counts["clicks_loaded"], counts["clicks_batches"]) == (3, 2)
