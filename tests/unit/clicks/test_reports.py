"""Breakdowns, months and live numbers, without an engine."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.clicks.batch import Event
from kurz.clicks.breakdowns import NAMES, Value, break_down
from kurz.clicks.counts import MAX_OF_MANY
from kurz.clicks.errors import ListenersFull, TooManyStreams
from kurz.clicks.live import Live
from kurz.clicks.moments import Moments
from kurz.clicks.months import add_up, merge, month_of, months_of, pack, unpack, without
from kurz.clicks.series import Day
from kurz.clicks.stats import EVERYTHING, About
from kurz.clock import EPOCH
from kurz.errors import StoreUnavailable
from support.clock import FrozenClock

ADA, BOB = 1, 2
COUNTS = st.dictionaries(
    st.tuples(st.sampled_from("crbodlsLn"), st.sampled_from(["", "*", "a", "b", "c", "d"])).map(
        "".join
    ),
    st.integers(1, 1000),
)


@given(counts=COUNTS, top=st.integers(1, 5), unnamed=st.integers(0, 50))
def test_every_click_is_named_or_among_the_others(counts, top, unnamed):
    bots = unnamed + sum(count for key, count in counts.items() if key[0] == "n" and key[1:])
    found = break_down(counts, top, bots)
    for name, letter in NAMES.items():
        values = {key[1:]: count for key, count in counts.items() if key[0] == letter}
        total = bots if name == "bots" else sum(values.values())
        assert found[name].clicks == total
        named = Counter({k: n for k, n in values.items() if k not in ("", "*")})
        assert len(found[name].values) == min(top, len(named))
        least = min((item.clicks for item in found[name].values), default=0)
        for value, count in named.items():
            assert Value(value, count) in found[name].values or count <= least
        if name != "bots":
            assert found[name].unknown == values.get("", 0)


@given(first=st.integers(15_000, 22_000), length=st.integers(1, 800))
def test_whole_months_and_the_rest_are_all_days_once(first, length):
    days = range(first, first + length)
    months = months_of(days)
    for month in months:
        start, end = (EPOCH + timedelta(days=day) for day in (month.start, month.stop))
        assert (start.day, end.day) == (1, 1)
        assert 28 <= len(month) <= 31
    pieces = [*months, *without(days, months)]
    assert sorted(day for piece in pieces for day in piece) == list(days)


def test_a_month_that_is_kept_tells_what_its_days_come_to():
    days = [Day(20090, 3, 2, 1, b'{"h07":2,"H08":1,"cDE":2}'), Day(20091, 1, 1, 1, b'{"cDE":1}')]
    assert month_of(20090) == range(20089, 20120)
    found = unpack(pack(20089, days))
    assert found == add_up(days)
    assert found.clicks == 4
    assert merge([found, found]) == {"cDE": 6}
    assert (found.hours[20090][7], found.hours[20090][24 + 8]) == (2, 1)


def test_a_month_has_as_many_values_as_a_day_and_all_clicks():
    tables = [{f"r{number}-{day}": number for number in range(1, 600)} for day in range(3)]
    days = [Day(20090 + day, 1, 1, 1, json.dumps(it).encode()) for day, it in enumerate(tables)]
    counts = unpack(pack(20089, days)).counts
    assert len(counts) == MAX_OF_MANY + 1
    assert sum(counts.values()) == sum(sum(table.values()) for table in tables)
    assert min(count for key, count in counts.items() if key != "r*") == 500


class CountingStore:
    """A `StatsStore` of one number; counts how often it is asked."""

    def __init__(self) -> None:
        self.clicks = 1
        self.looks = 0
        self.error: Exception | None = None
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def days(self, subject, days, *, with_counts=True):
        return [Day(days.start, self.clicks, self.clicks, 1, b"{}")]

    async def months(self, subject, days):
        return []

    async def totals(self, subject):
        self.looks += 1
        await self.may_answer.wait()
        if self.error is not None:
            raise self.error
        return self.clicks, Moments()

    async def links(self, link_ids, space):
        return {}

    async def has_tag(self, space, tag):
        return False

    async def newest(self, about: About, today: int, limit: int) -> list[Event]:
        return []

    async def short_codes(self, link_ids, space):
        return {}

    async def events(self, about, days):
        yield []


@pytest.fixture
def store():
    return CountingStore()


@pytest.fixture
def live(store):
    return Live(store, FrozenClock(datetime(2026, 3, 1, tzinfo=UTC)), max_listeners=3)


async def test_all_who_listen_hear_of_a_change_by_one_look(store, live):
    heard = [await live.listen(EVERYTHING, ADA, 60, 60) for _ in range(3)]
    firsts = [await anext(each) for each in heard]
    assert [now.all_clicks for now in firsts] == [1, 1, 1]
    store.clicks, before = 5, store.looks
    seconds = await asyncio.gather(*(anext(each) for each in heard))
    assert [(now.all_clicks, now.numbers.people) for now in seconds] == [(5, 5)] * 3
    assert store.looks - before == 1
    for each in heard:
        await each.aclose()


async def test_what_changes_while_nobody_reads_is_told_then(store, live):
    slow, quick = (
        await live.listen(EVERYTHING, ADA, 60, 60),
        await live.listen(EVERYTHING, ADA, 60, 60),
    )
    await anext(slow)
    await anext(quick)
    store.clicks = 2
    assert (await anext(quick)).all_clicks == 2
    assert (await anext(slow)).all_clicks == 2
    await slow.aclose()
    await quick.aclose()


async def test_only_so_many_may_listen_and_those_who_leave_make_room(live):
    heard = [await live.listen(EVERYTHING, ADA, 60, 60) for _ in range(3)]
    for each in heard:
        await anext(each)
    with pytest.raises(ListenersFull):
        await live.listen(EVERYTHING, ADA, 60, 60)
    await heard[0].aclose()
    again = await live.listen(EVERYTHING, ADA, 60, 60)
    assert (await anext(again)).all_clicks == 1
    for each in (*heard[1:], again):
        await each.aclose()
    assert live._watches == {}


async def test_an_account_has_so_many_streams_and_others_have_theirs(store):
    live = Live(store, FrozenClock(), max_listeners=10, max_of_account=2)
    begun = [await live.listen(EVERYTHING, ADA, 60, 60) for _ in range(2)]
    for each in begun:
        assert await anext(each) is not None
    with pytest.raises(TooManyStreams):
        await live.listen(EVERYTHING, ADA, 60, 60)
    other = await live.listen(EVERYTHING, BOB, 60, 60)
    assert await anext(other) is not None
    await begun[0].aclose()
    again = await live.listen(EVERYTHING, ADA, 60, 60)
    assert await anext(again) is not None
    for each in (*begun, other, again):
        await each.aclose()
    assert not live._accounts


@pytest.mark.parametrize("seconds", [0, 60])
async def test_those_who_come_at_once_are_counted_before_the_store_is_asked(store, seconds):
    live = Live(store, FrozenClock(), max_listeners=10, max_of_account=2)
    store.may_answer.clear()
    comers = [asyncio.create_task(live.listen(EVERYTHING, ADA, seconds, 60)) for _ in range(50)]
    await asyncio.sleep(0.01)
    assert store.looks == 2
    store.may_answer.set()
    begun = await asyncio.gather(*comers, return_exceptions=True)
    refused = [each for each in begun if isinstance(each, TooManyStreams)]
    streams = [each for each in begun if isinstance(each, AsyncGenerator)]
    assert (len(refused), len(streams)) == (48, 2)
    for each in streams:
        assert await anext(each) is not None
        await each.aclose()
    assert not live._accounts


async def test_an_answer_that_nobody_reads_is_counted_no_longer(store, live):
    closed = await live.listen(EVERYTHING, ADA, 60, 60)
    assert live._accounts[ADA] == 1
    await closed.aclose()
    assert not live._accounts
    forgotten: Any = await live.listen(EVERYTHING, ADA, 60, 60)
    del forgotten
    await asyncio.sleep(0.01)
    assert not live._accounts


async def test_one_who_could_not_begin_is_counted_no_longer(store, live):
    store.error = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        await live.listen(EVERYTHING, ADA, 60, 60)
    store.error = None
    store.may_answer.clear()
    gone = asyncio.create_task(live.listen(EVERYTHING, ADA, 60, 60))
    await asyncio.sleep(0.01)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert not live._accounts


async def test_no_limit_of_streams_is_no_limit(store):
    live = Live(store, FrozenClock(), max_of_account=0)
    begun = [await live.listen(EVERYTHING, ADA, 60, 60) for _ in range(100)]
    for each in begun:
        assert await anext(each, None) is not None
        await each.aclose()


async def test_silence_is_told_and_the_time_ends(live):
    heard = [now async for now in await live.listen(EVERYTHING, ADA, 0.05, 0.01)]
    assert heard[0] is not None
    assert None in heard
    assert set(heard[1:]) == {None}


async def test_nobody_hears_anything_after_the_end(live):
    heard = await live.listen(EVERYTHING, ADA, 60, 60)
    await anext(heard)
    live.close()
    assert [now async for now in heard] == []
    with pytest.raises(ListenersFull):
        await live.listen(EVERYTHING, ADA, 60, 60)


async def test_who_listens_is_let_go_when_it_closes(live):
    heard = await live.listen(EVERYTHING, ADA, 60, 60)
    await anext(heard)
    waiting = asyncio.create_task(anext(heard, "ended"))
    await asyncio.sleep(0)
    live.close()
    assert await waiting == "ended"
