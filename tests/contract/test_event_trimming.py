"""Every click is kept for its time, on both engines, and there is room for those to come."""

import asyncio
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.clicks.batch import JournalPosition
from kurz.errors import StoreUnavailable
from kurz.storage.clicks.events import ensure_days, trim_events
from kurz.storage.clicks.store import KEPT_DAYS, SqlClickStore
from kurz.storage.followers import event_trimmer
from kurz.storage.followers.event_trimmer import EventTrimmer
from kurz.wiring.core import Kurz, open_kurz
from support.batches import MICROS_OF_DAY, Clicks, holds, stored_days, stored_events
from support.clock import FrozenClock
from support.engines import without_redis
from support.failing import FailingWrites
from support.feed import until_told

# Redis has no part in counting.
engine = without_redis
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)

PARTITIONS = sa.text(
    "SELECT inhrelid::regclass::text FROM pg_inherits"
    " WHERE inhparent = 'click_events'::regclass ORDER BY 1"
)


@pytest.fixture
def today(clock: FrozenClock) -> int:
    return clock.micros() // MICROS_OF_DAY


@pytest.fixture
def clicks(today) -> Clicks:
    return Clicks(today)


@pytest.fixture
async def filled(kurz, clicks, today) -> list[int]:
    """The days that have clicks, all that may."""
    store = SqlClickStore(kurz.database, kurz.clock)
    batch = clicks.batch(JournalPosition(bytes(16), 0), 1, number=600, days=range(-KEPT_DAYS, 3))
    assert await store.apply(batch)
    return sorted({event.day for event in clicks.made})


async def partitions(kurz: Kurz) -> list[str]:
    return list(await kurz.database.read(lambda it: it.execute(PARTITIONS).scalars().all()))


async def kept(kurz: Kurz) -> list[int]:
    return sorted({event.day for event in await kurz.database.read(stored_events)})


async def trim(kurz: Kurz, kept_days: int = KEPT_DAYS, times: int = 1) -> None:
    """By so many at once, until each has done what there is to do."""
    trimmers = [EventTrimmer(kurz.database, kurz.clock, kept_days=kept_days) for _ in range(times)]
    await asyncio.gather(*(trimmer._trim() for trimmer in trimmers))


@pytest.mark.parametrize("times", [1, 3])
async def test_days_go_when_their_time_is_over(
    kurz, clock, clicks, filled, today, times, monkeypatch
):
    monkeypatch.setattr(event_trimmer, "BATCH", 7)
    await trim(kurz)
    assert await kept(kurz) == filled
    clock.advance(days=3)
    await trim(kurz, times=times)
    assert await kept(kurz) == [day for day in filled if day >= today + 3 - KEPT_DAYS]
    events = await kurz.database.read(stored_events)
    assert sorted(events) == sorted(
        event for event in clicks.made if event.day >= today + 3 - KEPT_DAYS
    )
    assert holds(await kurz.database.read(stored_days), clicks.made)


async def test_all_go_if_none_are_to_be_kept(kurz, filled):
    await trim(kurz, kept_days=0)
    assert await kept(kurz) == []


async def test_nothing_goes_while_the_clock_is_not_believed(kurz, clock, filled, today):
    trusts = False
    trimmer = EventTrimmer(
        kurz.database, kurz.clock, kept_days=KEPT_DAYS, is_believed=lambda _: trusts
    )
    clock.advance(days=3)
    await trimmer._trim()
    assert await kept(kurz) == filled
    trusts = True
    await trimmer._trim()
    assert await kept(kurz) == [day for day in filled if day >= today + 3 - KEPT_DAYS]


@on_postgres
async def test_no_partition_is_made_for_clicks_that_are_not_kept(kurz, clicks, today):
    store = SqlClickStore(kurz.database, kurz.clock)
    days = range(-KEPT_DAYS - 5, 6)
    assert await store.apply(clicks.batch(JournalPosition(bytes(16), 0), 1, number=800, days=days))
    made = {int(name.rpartition("_")[2]) for name in await partitions(kurz)}
    assert made == {event.day for event in clicks.made} & set(range(today - KEPT_DAYS, today + 3))


@on_postgres
async def test_room_is_made_once_however_many_make_it(kurz, settings, clock, today):
    async with open_kurz(settings, clock) as other:
        for ahead in range(5):
            days = range(today + ahead, today + ahead + 3)
            await asyncio.gather(
                *(parts.database.write(ensure_days, days) for parts in (kurz, other) * 4)
            )
    assert await partitions(kurz) == [f"click_events_{today + ahead}" for ahead in range(7)]


@on_postgres
async def test_the_trimmer_makes_room_ahead_and_goes_on_after_an_outage(kurz, today):
    async def is_there() -> bool:
        return await partitions(kurz) == [f"click_events_{today + ahead}" for ahead in range(3)]

    failing: Any = FailingWrites(kurz.database)
    trimmer = EventTrimmer(failing, kurz.clock, kept_days=KEPT_DAYS, wake_seconds=0.01)
    trimmer.start()
    await until_told(is_there)
    await trimmer.stop()


@on_postgres
async def test_a_day_that_is_read_is_dropped_another_time(kurz, settings, filled, today):
    reader = await asyncpg.connect(settings.database_url)
    async with reader.transaction():
        await reader.fetchval("SELECT count(*) FROM click_events")
        with pytest.raises(StoreUnavailable):
            await kurz.database.write(trim_events, today, 1)
    await reader.close()
    assert await kurz.database.write(trim_events, today, 1)
    assert await kept(kurz) == filled[1:]
