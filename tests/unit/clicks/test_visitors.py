"""Visitors: known for a day, by the same hash everywhere, and never by their address."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest

from kurz.clicks.journal import Journal
from kurz.clicks.record import COUNT_ONLY, FRAME_BYTES, UNKNOWN_VISITOR, encode, link_tag_of
from kurz.clicks.visitors import Visitors
from kurz.clock import to_micros
from kurz.errors import StoreUnavailable
from support.journal_reader import Click, decode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
SECOND = timedelta(seconds=1)
AGENT = b"Mozilla/5.0 (X11)"


class MemorySaltStore:
    def __init__(self) -> None:
        self.salts: dict[date, bytes] = {}
        self.asked: list[date] = []
        self.is_out = False

    async def keep(self, day: date, salt: bytes) -> bytes:
        self.asked.append(day)
        await asyncio.sleep(0)
        if self.is_out:
            raise StoreUnavailable("out")
        self.salts = {
            kept: old for kept, old in self.salts.items() if kept > day - timedelta(days=2)
        }
        return self.salts.setdefault(day, salt)


@pytest.fixture
def store() -> MemorySaltStore:
    return MemorySaltStore()


def seen(visitors: Visitors, client="203.0.113.77", user_agent=AGENT, flags=0) -> Click:
    visit = visitors.visit(client, user_agent, b"https://a.example/x", b"de", flags)
    return decode(encode(0, 0, link_tag_of(0, 0), visit)[FRAME_BYTES:])


async def test_a_visitor_is_the_same_all_day_and_another_one_is_not(store):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    first = seen(visitors)
    await visitors.refresh(MIDNIGHT - SECOND)
    assert seen(visitors) == first
    assert first.visitor != UNKNOWN_VISITOR
    assert first.network == bytes([203, 0, 113])
    others = [seen(visitors, client="203.0.113.78"), seen(visitors, user_agent=b"other")]
    assert len({click.visitor for click in [first, *others]}) == 3
    assert seen(visitors, client="::ffff:203.0.113.77") == first


async def test_address_and_user_agent_do_not_run_into_each_other(store):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    one, two = seen(visitors, "1.1.1.1", b"1"), seen(visitors, "1.1.1.11", b"")
    assert one.visitor != two.visitor


async def test_a_visitor_is_another_one_after_midnight(store):
    visitors = Visitors(store)
    await visitors.refresh(MIDNIGHT - SECOND)
    before = seen(visitors).visitor
    await visitors.refresh(MIDNIGHT - timedelta(microseconds=1))
    assert seen(visitors).visitor == before
    assert visitors.ends_at_micros == to_micros(MIDNIGHT)
    asked = len(store.asked)
    visitors.switch(to_micros(MIDNIGHT))  # without asking anybody
    after = seen(visitors).visitor
    assert after not in {before, UNKNOWN_VISITOR}
    assert len(store.asked) == asked
    await visitors.refresh(MIDNIGHT)
    assert seen(visitors).visitor == after


async def test_the_salt_of_a_day_that_is_over_is_not_kept_in_memory(store):
    visitors = Visitors(store)
    await visitors.refresh(MIDNIGHT - SECOND)
    await visitors.refresh(MIDNIGHT - SECOND)
    old = store.salts[date(2026, 3, 1)]
    assert len(visitors._salts) == 2
    await visitors.refresh(MIDNIGHT)
    assert old not in visitors._salts.values()
    assert visitors._salt != old


async def test_two_workers_over_one_store_know_the_same_visitors(store):
    one, two = Visitors(store), Visitors(store)
    await asyncio.gather(one.refresh(NOON), two.refresh(NOON))
    assert seen(one) == seen(two)
    for now in (MIDNIGHT - SECOND, MIDNIGHT):
        await asyncio.gather(one.refresh(now), two.refresh(now))
        assert seen(one) == seen(two)
    assert seen(one).visitor != UNKNOWN_VISITOR


async def test_the_store_is_asked_once_a_day_and_ahead_of_midnight(store):
    visitors = Visitors(store)
    now = NOON
    while now < MIDNIGHT + timedelta(hours=1):
        await visitors.refresh(now)
        if now < MIDNIGHT - timedelta(hours=1):
            assert store.asked == [date(2026, 3, 1)]
        if now > MIDNIGHT - timedelta(minutes=5):
            assert store.asked == [date(2026, 3, 1), date(2026, 3, 2)]
        now += timedelta(seconds=10)


async def test_workers_ask_ahead_at_different_moments(store):
    assert len({Visitors(store)._ahead for _ in range(20)}) > 10


async def test_salts_are_erased_48_hours_after_their_day_began(store):
    visitors = Visitors(store)
    now = NOON
    for _ in range(24 * 60):
        await visitors.refresh(now)
        ages = [now.date() - day for day in store.salts]
        assert max(ages) < timedelta(days=2)
        assert date(2026, 3, 1) in store.salts or now >= MIDNIGHT + timedelta(hours=23)
        now += timedelta(minutes=5)


async def test_visitors_are_unknown_while_the_store_is_out(store):
    store.is_out = True
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    click = seen(visitors)
    assert click.visitor == UNKNOWN_VISITOR
    assert (click.network, click.user_agent) == (bytes([203, 0, 113]), AGENT)
    for seconds in range(1, 5):
        await visitors.refresh(NOON + seconds * SECOND)
    assert len(store.asked) == 1  # not at every second
    store.is_out = False
    await visitors.refresh(NOON + 5 * SECOND)
    assert seen(visitors).visitor != UNKNOWN_VISITOR


async def test_an_outage_over_midnight_makes_visitors_unknown_until_it_ends(store):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    today = seen(visitors).visitor
    store.is_out = True
    await visitors.refresh(MIDNIGHT - SECOND)
    assert seen(visitors).visitor == today
    await visitors.refresh(MIDNIGHT)
    assert seen(visitors).visitor == UNKNOWN_VISITOR
    store.is_out = False
    await visitors.refresh(MIDNIGHT + 5 * SECOND)
    assert seen(visitors).visitor not in {today, UNKNOWN_VISITOR}


async def test_a_clock_that_goes_back_over_midnight_finds_the_old_salt(store):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    before = seen(visitors).visitor
    await visitors.refresh(MIDNIGHT)
    await visitors.refresh(MIDNIGHT - SECOND)
    assert seen(visitors).visitor == before


async def test_a_switch_during_a_slow_fetch_is_not_undone(store):
    visitors = Visitors(store)
    await visitors.refresh(MIDNIGHT - SECOND)
    slow = asyncio.create_task(visitors.refresh(MIDNIGHT - SECOND))  # asks for tomorrow
    await asyncio.sleep(0)
    visitors.switch(to_micros(MIDNIGHT))
    assert seen(visitors).visitor == UNKNOWN_VISITOR
    await slow
    assert visitors.ends_at_micros == to_micros(MIDNIGHT + timedelta(days=1))
    assert seen(visitors).visitor != UNKNOWN_VISITOR


@pytest.mark.parametrize("client", ["", "testclient", "203.0.113.77:80"])
async def test_whoever_has_no_address_is_unknown(store, client):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    click = seen(visitors, client=client)
    assert (click.network, click.visitor) == (b"", UNKNOWN_VISITOR)


async def test_who_is_only_counted_is_not_known(store):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    click = seen(visitors, flags=COUNT_ONLY)
    assert (click.network, click.visitor, click.user_agent) == (b"", UNKNOWN_VISITOR, b"")


async def test_no_full_address_path_or_query_is_in_the_files(store, tmp_path):
    visitors = Visitors(store)
    await visitors.refresh(NOON)
    journal = Journal(tmp_path)
    journal.start()
    clients = {
        "203.0.113.77": bytes([203, 0, 113, 77]),
        "::ffff:198.51.100.78": bytes([198, 51, 100, 78]),
        "2002:c000:024f::1": bytes([192, 0, 2, 79]),
        "2001:db8:aaaa:bbbb::77": bytes.fromhex("20010db8aaaabbbb"),
    }
    for client in clients:
        visit = visitors.visit(client, AGENT, b"https://a.example/secret?token", b"de,fr", 0)
        journal.write([encode(1, 1, link_tag_of(1, 1), visit)])
    journal.close()
    (data,) = (path.read_bytes() for path in tmp_path.iterdir())
    assert data.count(b"https://a.example" + AGENT) == len(clients)
    for client, packed in clients.items():
        assert packed not in data
        assert client.encode() not in data
    assert b"secret" not in data
    assert store.salts[NOON.date()] not in data
