"""Large batches are counted in slices, each click once, even if a loader stops between two of
them."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from kurz.clicks.batch import JournalPosition
from kurz.errors import StoreUnavailable
from kurz.storage.clicks.positions import CountedSlices
from kurz.storage.clicks.slices import MAX_CLICKS, MIN_CLICKS, SlicePace, Slices
from kurz.storage.clicks.store import SqlClickStore
from kurz.wiring.core import Kurz, open_kurz
from support.batches import (
    MICROS_OF_DAY,
    Clicks,
    everything,
    expected_totals,
    holds,
    stored_days,
    stored_events,
    stored_totals,
)
from support.engines import without_redis
from support.failpoints import StoppingDatabase

# Redis is not used for counting. PostgreSQL could use slices, too, but nobody waits for it there.
engine = without_redis

SEGMENT = bytes(16)
START = JournalPosition(SEGMENT, 0)
OTHER_START = JournalPosition(bytes([9]) * 16, 0)
NO_TIME = 1e-9  # slices become as small as they can
NUMBER = 900


@pytest.fixture
def clicks(clock) -> Clicks:
    return Clicks(clock.micros() // MICROS_OF_DAY)


@pytest.fixture
async def other(settings, clock, kurz) -> AsyncIterator[Kurz]:
    """Another process."""
    async with open_kurz(settings, clock) as other:
        yield other


def slicing(database: Any, kurz: Kurz, **options: Any) -> SqlClickStore:
    store = SqlClickStore(database, kurz.clock, max_held_seconds=NO_TIME, **options)
    assert store._pace is not None
    store._pace.size = MIN_CLICKS  # where it would be soon
    return store


async def check(kurz: Kurz, clicks: Clicks) -> None:
    assert holds(await kurz.database.read(stored_days), clicks.made)
    assert sorted(await kurz.database.read(stored_events)) == sorted(clicks.made)
    expected = expected_totals(clicks.made)
    totals = await kurz.database.read(stored_totals)
    assert {key: number for key, (number, _) in totals.items()} == {
        key: moments.number for key, moments in expected.items()
    }
    for key, (_, moments) in totals.items():
        assert moments == pytest.approx(expected[key], rel=1e-9)


async def test_a_batch_in_slices_is_counted_as_a_whole(kurz, clicks):
    store = slicing(kurz.database, kurz)
    assert await store.apply(clicks.batch(START, 1, NUMBER))
    assert await store.apply(clicks.batch(JournalPosition(SEGMENT, 1), 2, NUMBER))
    await check(kurz, clicks)
    assert await store.positions([SEGMENT]) == {SEGMENT: (2, None)}


@pytest.mark.parametrize("offset", [0, 7])
async def test_stopped_between_any_two_slices_another_loader_counts_the_rest(
    kurz, other, clicks, offset
):
    for writes in count():
        segment = writes.to_bytes(16)
        if offset:
            first = clicks.batch(JournalPosition(segment, 0), offset)
            assert await slicing(kurz.database, kurz).apply(first)
        batch = clicks.batch(JournalPosition(segment, offset), 9, NUMBER)
        stopping = slicing(StoppingDatabase(kurz.database, writes), kurz)
        is_over = True
        try:
            assert await stopping.apply(batch)
        except StoreUnavailable:
            is_over = False
            begun = await stopping.positions([segment])
            if writes:
                assert begun == {segment: (offset, 9)}
            other_store = SqlClickStore(other.database, other.clock)
            assert await other_store.apply(batch)
        assert await stopping.positions([segment]) == {segment: (9, None)}
        assert holds(await kurz.database.read(stored_days), clicks.made), writes
        if is_over:
            break
    assert writes >= 4
    await check(kurz, clicks)


async def test_clicks_that_are_not_kept_are_counted_once_in_slices(kurz, other, clicks):
    batch = clicks.batch(START, 1, NUMBER)
    store = slicing(StoppingDatabase(kurz.database, 2), kurz, kept_days=0)
    with pytest.raises(StoreUnavailable):
        await store.apply(batch)
    assert await slicing(other.database, other, kept_days=0).apply(batch)
    assert holds(await kurz.database.read(stored_days), clicks.made)


async def test_a_batch_that_ends_elsewhere_than_the_one_counted_in_part_is_refused(kurz, clicks):
    assert await slicing(kurz.database, kurz).apply(clicks.batch(OTHER_START, 1))  # creates days
    batch = clicks.batch(START, 5, NUMBER)
    store = slicing(StoppingDatabase(kurz.database, 2), kurz)
    with pytest.raises(StoreUnavailable):
        await store.apply(batch)
    before = await kurz.database.read(everything)
    store = slicing(kurz.database, kurz)
    others = Clicks(0)
    for start, end in (START, 4), (START, 6), (JournalPosition(SEGMENT, 5), 8):
        assert not await store.apply(others.batch(start, end, NUMBER))
    assert await kurz.database.read(everything) == before
    assert await store.apply(batch)
    await check(kurz, clicks)


async def test_loaders_that_count_the_same_batch_in_slices_count_it_once(kurz, other, clicks):
    for number in range(5):
        batch = clicks.batch(JournalPosition(SEGMENT, number), number + 1, NUMBER)
        stores = [slicing(it.database, it) for it in (kurz, other)]
        taken = await asyncio.gather(*(store.apply(batch) for store in stores))
        if not any(taken):  # each was refused once, by what the other had counted
            assert await stores[0].apply(batch)
        else:
            assert sorted(taken) == [False, True]
    await check(kurz, clicks)


async def test_loaders_of_different_segments_take_turns_slice_by_slice(kurz, other, clicks):
    batches = [clicks.batch(JournalPosition(bytes([n]) * 16, 0), 1, NUMBER) for n in range(2)]
    stores = [slicing(it.database, it) for it in (kurz, other)]
    pairs = zip(stores, batches, strict=True)
    assert await asyncio.gather(*(store.apply(batch) for store, batch in pairs)) == [True, True]
    await check(kurz, clicks)


def test_a_slice_has_no_more_clicks_and_links_than_its_share(clicks):
    batch = clicks.batch(START, 1, NUMBER)
    slices = Slices(batch, CountedSlices(0))
    found = [slices.cut(90)]
    while not found[-1].is_last:
        found.append(slices.cut(90))
    assert len(found) == 10
    assert [len(it.events) for it in found] == [90] * 10
    links = {key[0].id for key in batch.days if not key[0].kind}
    for it in found:
        assert len({key[0].id for key in it.days if not key[0].kind}) <= len(links) / 10 + 2
        assert it.is_last == any(key[0].kind for key in it.days)
    counted = [key for it in found for key in it.days]
    assert len(counted) == len(batch.days)
    assert set(counted) == batch.days.keys()


def test_slices_become_smaller_while_they_hold_others_up():
    pace = SlicePace(0.025)
    for _ in range(20):
        pace.note(0.03, is_full=True)
    assert pace.size == MIN_CLICKS
    for _ in range(40):
        pace.note(0.001, is_full=True)
    assert pace.size == MAX_CLICKS
    pace.note(0.001, is_full=False)
    pace.note(0.02, is_full=True)
    assert pace.size == MAX_CLICKS
