"""Checks are kept, told to all links, and done by one job: what waits longest comes first."""

import asyncio
import time
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.checking import schedule_of
from kurz.errors import StoreUnavailable
from kurz.jobs.boot_clock import BootClock
from kurz.jobs.checks import CheckJob
from kurz.jobs.runner import Runner
from kurz.links.model import DestinationStatus, Draft, Link
from kurz.safety.check_schedule import conclude
from kurz.safety.checks import JOB, KEPT_CHECKS, Waiting
from kurz.scheduling import Cause, Outcome, Turn
from kurz.storage import checks as stored
from kurz.storage.changes import last_change
from kurz.storage.job_runs import SqlRunStore
from kurz.storage.leases import SqlLeaseStore
from kurz.storage.safety_schema import checks, destinations
from kurz.storage.schema import links
from support.checks import (
    FAILING,
    GONE,
    INSIDE,
    NO_NAME,
    NO_NAME_SERVERS,
    OK,
    SILENT,
    FreeTurns,
    TableChecker,
    conclude_at,
    follow,
    load_due,
    reread,
    rows,
    store_of,
)
from support.engines import DATABASES, usually_on, without_redis
from support.feed import until, until_told

engine = without_redis  # which has no part in it
URL = "https://example.com/"


async def make(kurz: Kurz, url: str = URL, **fields) -> Link:
    return (await kurz.links.create(Draft(original_url=url, owner_id=1, **fields))).link


def job_of(
    kurz: Kurz, checker: TableChecker, turns: FreeTurns | None = None, **options
) -> CheckJob:
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    options = {"rest_seconds": 0.01, **options}
    return CheckJob(store_of(kurz), checker, turns or FreeTurns(), leases, kurz.clock, **options)


def runner_of(kurz: Kurz, job: CheckJob) -> Runner:
    clock = kurz.clock
    leases, runs = SqlLeaseStore(kurz.database, clock), SqlRunStore(kurz.database, clock)
    return Runner(schedule_of(kurz.settings), job, leases, runs)


async def run(job: CheckJob) -> Turn:
    turn = Turn(asyncio.Event())
    await job.run(turn)
    return turn


class _Jumped(BootClock):
    """By so much."""

    def __init__(self, ahead: timedelta | None) -> None:
        super().__init__()
        self._ahead = ahead

    def jump(self, now: datetime) -> timedelta | None:
        return self._ahead


async def status_of(kurz: Kurz, link: Link) -> str | None:
    return (await reread(kurz, link)).destination_status


# What is kept


async def test_all_links_of_a_url_are_told_and_nothing_else_changes(kurz, clock, monkeypatch):
    monkeypatch.setattr(stored, "BATCH", 7)
    made = [await make(kurz) for _ in range(30)]
    other = await make(kurz, "https://example.com/other")
    await follow(kurz)
    before = await kurz.database.read(last_change)
    await conclude_at(kurz, URL, OK)
    for link in made:
        told = await reread(kurz, link)
        assert told.destination_status is DestinationStatus.OK
        assert told.destination_http_status == 200
        assert told.last_checked_at == clock.now()
        assert (told.version, told.updated_at) == (link.version, link.updated_at)
    assert await status_of(kurz, other) is None
    assert await kurz.database.read(last_change) == before
    (row,) = [row for row in await rows(kurz, destinations) if row["location"] == URL]
    assert row["due_at"] > clock.micros()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_link_that_somebody_holds_is_told_later(kurz, clock, monkeypatch):
    monkeypatch.setattr(stored, "REST_SECONDS", 0.01)
    held, free = await make(kurz), await make(kurz)
    await follow(kurz)
    async with kurz.database._engine.connect() as connection:
        lock = sa.select(links.c.id).where(links.c.id == held.id).with_for_update()
        await connection.execute(lock)
        telling = asyncio.create_task(conclude_at(kurz, URL, OK))

        async def is_told() -> bool:
            return await status_of(kurz, free) is not None

        await until_told(is_told)
        assert await status_of(kurz, held) is None
        await connection.rollback()
    await telling
    assert await status_of(kurz, held) == "ok"


async def test_a_check_that_was_interrupted_comes_again_soon_but_not_at_once(
    kurz, clock, monkeypatch
):
    monkeypatch.setattr(stored, "BATCH", 3)
    made = [await make(kurz) for _ in range(5)]
    await follow(kurz)
    clock.advance(hours=1)
    store = store_of(kurz)
    await store.ask(made[0].id, clock.now())
    destination = await load_due(kurz, URL)
    verdict = conclude(destination, OK, clock.now(), clock.now())
    await kurz.database.write(stored.record_first, destination.id, verdict)
    assert await store.find_due(clock.now(), None, 10) == []
    assert await store.has_asked(clock.now())
    clock.advance(minutes=10)
    assert len(await store.find_due(clock.now(), None, 10)) == 1
    await store.record(destination.id, verdict)  # by who heard nothing of its end
    assert len(await rows(kurz, checks)) == 1
    assert await store.find_due(clock.now(), None, 10) == []
    assert not await store.has_asked(clock.now())
    for link in made:
        assert await status_of(kurz, link) == "ok"


async def test_the_last_checks_are_kept_newest_first(kurz, clock):
    link = await make(kurz)
    await follow(kurz)
    for number in range(KEPT_CHECKS + 5):
        clock.advance(hours=1)
        await conclude_at(kurz, URL, GONE if number % 2 else OK)
    found = await store_of(kurz).last_checks(link.id)
    assert len(found) == len(await rows(kurz, checks)) == KEPT_CHECKS
    assert found[0].checked_at == clock.now()
    assert [check.finding for check in found[:2]] == [OK, GONE]
    assert found[-1].checked_at == clock.now() - timedelta(hours=KEPT_CHECKS - 1)


async def test_a_destination_that_is_gone_by_the_time_is_no_error(kurz, clock):
    link = await make(kurz)
    await follow(kurz)
    destination = await load_due(kurz, URL)
    await kurz.database.write(lambda it: it.execute(sa.delete(destinations)).rowcount)
    verdict = conclude(destination, OK, clock.now(), clock.now())
    await store_of(kurz).record(destination.id, verdict)
    assert await rows(kurz, checks) == []
    assert await status_of(kurz, link) is None


async def test_what_was_checked_since_it_was_found_to_be_due_is_not_checked_again(kurz, clock):
    await make(kurz)
    await follow(kurz)
    clock.advance(hours=1)
    (waiting,) = await store_of(kurz).find_due(clock.now(), None, 10)
    await conclude_at(kurz, URL, OK)
    assert await store_of(kurz).load([waiting.id], clock.now()) == []
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] is not None


async def test_clicks_of_all_links_say_how_often_it_is_checked(kurz, clock):
    one, other = await make(kurz), await make(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    for link, clicks in ((one, 400), (other, 700)):
        count = sa.update(links).where(links.c.id == link.id).values(redirect_count=clicks)
        await kurz.database.write(lambda it, count=count: it.execute(count).rowcount)
    clock.advance(days=1)
    await conclude_at(kurz, URL, OK)
    (row,) = await rows(kurz, destinations)
    assert (row["clicks"], row["clicked_at"]) == (1100, clock.micros())
    assert row["due_at"] - clock.micros() < 2 * 3.6e9


async def test_the_next_are_found_page_by_page(kurz, clock):
    for number in range(25):
        await make(kurz, f"https://{number}.example.com/")
        clock.advance(seconds=1)
    await follow(kurz)
    clock.advance(hours=1)
    store, after = store_of(kurz), None
    found: list[Waiting] = []
    while page := await store.find_due(clock.now(), after, 10):
        found += page
        after = page[-1]
    assert len({waiting.id for waiting in found}) == 25
    assert found == sorted(found)
    assert await store.count_due(clock.now(), 100) == 25
    assert await store.count_due(clock.now(), 7) == 7


async def test_a_new_link_is_told_what_its_own_checks_say(kurz, clock):
    """Not that others lead there too, for whom it is broken already."""
    old = await make(kurz)
    await follow(kurz)
    for _ in range(4):
        clock.advance(hours=2)
        await conclude_at(kurz, URL, SILENT)
    clock.advance(hours=2)
    new, alone = await make(kurz), await make(kurz, "https://alone.example/")
    await follow(kurz)
    assert await status_of(kurz, old) == "broken"
    for hour in range(4):
        clock.advance(hours=1)
        for url in URL, "https://alone.example/":
            await conclude_at(kurz, url, SILENT)
        assert await status_of(kurz, new) == await status_of(kurz, alone), hour
        assert await status_of(kurz, old) == "broken"
    assert await status_of(kurz, new) == "broken"


async def test_only_the_link_that_was_asked_for_is_broken_at_once(kurz, clock):
    """All others as if nobody had asked, and it is checked as often."""
    asked, other = await make(kurz), await make(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    clock.advance(hours=1)
    store, seen = store_of(kurz), []
    await store.ask(asked.id, clock.now())
    for finding, minutes in (FAILING, 10), (NO_NAME_SERVERS, 10), (FAILING, 60), (OK, 60 * 24):
        clock.advance(seconds=1)
        await conclude_at(kurz, URL, finding)
        assert not await store.has_asked(clock.now())
        seen.append([await status_of(kurz, link) for link in (asked, other)])
        (row,) = await rows(kurz, destinations)
        assert 0.8 < (row["due_at"] - clock.micros()) / 60e6 / minutes < 1.2, finding
        clock.advance(minutes=minutes)
    assert seen == [*3 * [["broken", "ok"]], ["ok", "ok"]]
    # Now the other one asks: what the first one asked for is over.
    await store.ask(other.id, clock.now())
    await conclude_at(kurz, URL, GONE)
    assert [await status_of(kurz, link) for link in (asked, other)] == ["ok", "broken"]
    clock.advance(minutes=10)
    await conclude_at(kurz, URL, GONE)
    assert [await status_of(kurz, link) for link in (asked, other)] == ["broken", "broken"]


async def test_asking_again_does_not_mend_a_link(kurz, clock):
    link = await make(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    for finding in FAILING, NO_NAME_SERVERS, FAILING:
        clock.advance(minutes=1)
        await store_of(kurz).ask(link.id, clock.now())
        await conclude_at(kurz, URL, finding)
        assert await status_of(kurz, link) == "broken"


async def test_a_link_that_leads_elsewhere_has_not_asked_for_that(kurz, clock):
    moved, asks = await make(kurz), await make(kurz, "https://example.com/new")
    await store_of(kurz).ask(moved.id, clock.now())
    url = {"original_url": asks.original_url, "canonical_url": asks.canonical_url}
    changes = {**url, "location": asks.location}
    assert await kurz.store.update(await reread(kurz, moved), changes, clock.now())
    await follow(kurz)
    clock.advance(minutes=1)
    await store_of(kurz).ask(asks.id, clock.now())
    await conclude_at(kurz, asks.location, FAILING)
    assert [await status_of(kurz, link) for link in (moved, asks)] == ["unknown", "broken"]


async def test_a_new_link_does_not_learn_that_a_name_was_there_once(kurz, clock):
    old = await make(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    clock.advance(hours=2)
    new = await make(kurz)
    await follow(kurz)
    for _ in range(3):
        clock.advance(hours=2)
        await conclude_at(kurz, URL, NO_NAME)
    assert [await status_of(kurz, link) for link in (old, new)] == ["broken", "not_checked"]
    store = store_of(kurz)
    assert {check.finding for check in await store.last_checks(new.id)} == {INSIDE}
    assert {check.finding for check in await store.last_checks(old.id)} == {OK, NO_NAME}


async def test_a_link_that_came_during_a_check_has_its_own_soon(kurz, clock):
    await make(kurz)
    await follow(kurz)
    destination, started_at = await load_due(kurz, URL), clock.now()
    clock.advance(seconds=5)
    new = await make(kurz)
    await follow(kurz)
    clock.advance(seconds=5)
    verdict = conclude(destination, OK, started_at, clock.now())
    await store_of(kurz).record(destination.id, verdict)
    assert await status_of(kurz, new) is None
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] <= clock.micros() + 6 * 60e6


async def test_clicks_from_before_the_first_check_are_not_of_a_day(kurz, clock):
    await make(kurz)
    await follow(kurz)
    count = sa.update(links).values(redirect_count=100_000)
    await kurz.database.write(lambda it: it.execute(count).rowcount)
    clock.advance(minutes=6)
    await conclude_at(kurz, URL, OK)
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] - clock.micros() > 20 * 3.6e9


# The job


async def test_what_is_due_is_checked_once_for_all_links(kurz, clock):
    links_of: dict[str, list[Link]] = {}
    for number in range(12):
        url = f"https://site-{number % 4}.example/{number % 6}"
        links_of.setdefault(url, []).append(await make(kurz, url))
    await follow(kurz)
    checker = TableChecker()
    job = job_of(kurz, checker)
    assert not (await run(job)).counts  # not yet
    clock.advance(minutes=6)
    assert (await run(job)).counts == {"ok": len(links_of)}
    assert sorted(checker.urls) == sorted(links_of)
    for made in links_of.values():
        for link in made:
            assert await status_of(kurz, link) == "ok"
    assert not (await run(job)).counts
    assert job.counts()["checks_ok"] == len(links_of)


@usually_on("sqlite", among=DATABASES)
async def test_no_more_than_so_many_are_called_at_once(kurz, clock):
    for number in range(40):
        await make(kurz, f"https://site-{number % 10}.example/{number}")
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker, at_once=6, page=3)))
    await until(lambda: len(checker.asked) == 6)
    checker.gate.set()
    assert (await running).counts == {"ok": 40}
    assert checker.most_at_once == 6
    assert len(set(checker.urls)) == 40


async def test_no_two_of_a_site_are_called_at_once(kurz, clock, monkeypatch):
    for number in range(12):
        await make(kurz, f"https://site-{number % 3}.example/{number}")
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()
    job, looks = job_of(kurz, checker), 0
    find_due = job._store.find_due

    async def count(*arguments):
        nonlocal looks
        looks += 1
        return await find_due(*arguments)

    monkeypatch.setattr(job._store, "find_due", count)
    running = asyncio.create_task(run(job))
    await until(lambda: looks >= 5)  # those that wait were looked through again and again
    assert len(checker.asked) == len({url.split("/")[2] for url in checker.urls}) == 3
    checker.gate.set()
    assert (await running).counts == {"ok": 12}


async def test_a_site_whose_turn_it_is_not_holds_nobody_up(kurz, clock):
    for number in range(30):
        await make(kurz, f"https://busy.example/{number}")
    clock.advance(seconds=1)
    await make(kurz, "https://idle.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    turns, checker = FreeTurns(), TableChecker()
    turns.closed.add("busy.example")
    await run(job_of(kurz, checker, turns, page=4, run_seconds=1.0))
    assert checker.urls == ["https://idle.example/"]


async def test_the_one_that_somebody_asks_for_comes_first(kurz, clock):
    for number in range(5):
        await make(kurz, f"https://site-{number}.example/")
    link = await make(kurz, "https://asked.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    assert await store_of(kurz).ask(link.id, clock.now())
    checker = TableChecker()
    await run(job_of(kurz, checker, at_once=1))
    assert checker.urls[0] == "https://asked.example/"
    assert not await store_of(kurz).has_asked(clock.now())


@pytest.mark.parametrize("url", [URL, "https://example.com/other"])
async def test_the_one_that_somebody_asks_for_waits_for_no_other_check_of_its_site(
    kurz, clock, url
):
    """Nor for one of the same destination, whose place it takes."""
    await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    turns, checker = FreeTurns(), TableChecker({url: FAILING})
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker, turns)))
    await until(lambda: checker.at_once == 1)
    turns.only_asked.add("example.com")
    link = await make(kurz, url)
    await store_of(kurz).ask(link.id, clock.now())
    await until(lambda: len(checker.asked) == 2)
    assert checker.urls == [URL, url]
    await until(lambda: checker.at_once == len({*checker.urls}))
    checker.gate.set()
    assert (await running).counts["broken"] == 1
    assert await status_of(kurz, link) == "broken"
    assert len(checker.asked) == 2


async def test_one_can_ask_before_it_is_due_and_before_anybody_has_followed(kurz, clock):
    link = await make(kurz)
    assert await store_of(kurz).ask(link.id, clock.now())
    checker = TableChecker({URL: SILENT})
    job = job_of(kurz, checker)
    runner = runner_of(kurz, job)
    assert not await runner.tick()  # word is left
    assert await runner.tick()
    assert checker.urls == [URL]
    assert await status_of(kurz, link) == "broken"
    assert not await runner.tick()


async def test_who_asks_again_while_it_is_checked_gets_another_check(kurz, clock):
    link = await make(kurz)
    store, checker = store_of(kurz), TableChecker()
    await store.ask(link.id, clock.now())
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker)))
    await until(lambda: len(checker.asked) == 1)
    clock.advance(seconds=5)
    again = sa.update(destinations).values(asked_at=clock.micros())
    await kurz.database.write(lambda it: it.execute(again).rowcount)
    checker.gate.set()
    await running
    assert len(checker.asked) == 2


async def test_many_that_wait_for_the_same_site_keep_nobody_else_waiting(kurz, clock):
    """Nor does it matter how many of them come first."""
    for number in range(70):
        await make(kurz, f"https://busy.example/{number}")
    link = await make(kurz, "https://idle.example/")
    await follow(kurz)
    asked = sa.update(destinations).values(asked_at=clock.micros() + destinations.c.id)
    await kurz.database.write(lambda it: it.execute(asked).rowcount)
    clock.advance(seconds=1)
    turns, checker = FreeTurns(), TableChecker()
    turns.closed.add("busy.example")
    await run(job_of(kurz, checker, turns, page=5, run_seconds=1.0))
    assert checker.urls == ["https://idle.example/"]
    assert await status_of(kurz, link) == "ok"


async def test_checks_that_wait_for_a_turn_take_no_place(kurz, clock):
    for number in range(9):
        await make(kurz, f"https://site-{number}.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    checker, turns = TableChecker(), FreeTurns()
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker, turns, at_once=3, under_way=7)))
    await until(lambda: len(checker.asked) == 3)
    turns.waiting = 3
    await until(lambda: len(checker.asked) == 6)
    turns.waiting = 6
    await until(lambda: len(checker.asked) == 7)
    turns.waiting = 0
    checker.gate.set()
    assert (await running).counts == {"ok": 9}


async def test_what_had_no_turn_comes_later_and_is_still_asked_for(kurz, clock):
    link = await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    store, checker = store_of(kurz), TableChecker()
    await store.ask(link.id, clock.now())
    checker.without_turn.add(URL)
    job = job_of(kurz, checker)
    assert not (await run(job)).counts
    assert checker.urls == [URL]
    assert not await store.has_asked(clock.now())
    assert (await status_of(kurz, link), await rows(kurz, checks)) == (None, [])
    clock.advance(minutes=50)
    await run(job)
    assert checker.urls == [URL]
    clock.advance(minutes=75)
    assert await store.has_asked(clock.now())
    checker.without_turn.clear()
    assert (await run(job)).counts == {"ok": 1}
    assert not await store.has_asked(clock.now())


async def test_a_run_lets_those_under_way_come_to_their_end(kurz, clock):
    """Five turns of waiting take as long as a run."""
    for name in "ab":
        await make(kurz, f"https://{name}.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    ahead, checker = 0.0, TableChecker()
    checker.gate = asyncio.Event()
    job = job_of(kurz, checker, monotonic=lambda: time.monotonic() + ahead)
    running = asyncio.create_task(run(job))
    await until(lambda: len(checker.asked) == 2)
    ahead = 350.0
    late, asked = [await make(kurz, f"https://{name}.example/") for name in ("late", "asked")]
    await follow(kurz)
    clock.advance(minutes=6)
    await store_of(kurz).ask(asked.id, clock.now())
    await until(lambda: len(checker.asked) == 3)
    ahead = 900.0
    checker.gate.set()
    assert (await running).counts == {"ok": 3}
    assert await status_of(kurz, asked) == "ok"
    assert await status_of(kurz, late) is None


async def test_an_outage_lets_those_under_way_come_to_their_end(kurz, clock, monkeypatch):
    await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker, fails = TableChecker(), 0
    checker.gate = asyncio.Event()
    job = job_of(kurz, checker)
    find_due = job._store.find_due

    async def fail_later(*arguments):
        nonlocal fails
        if not checker.asked:
            return await find_due(*arguments)
        fails += 1
        raise StoreUnavailable("out")

    monkeypatch.setattr(job._store, "find_due", fail_later)
    running = asyncio.create_task(run(job))
    await until(lambda: fails > 2)
    monkeypatch.setattr(checker, "asked", [])
    checker.gate.set()
    assert (await running).counts == {"ok": 1}


async def test_after_a_clock_jump_nobody_asks_for_runs(kurz, clock):
    link = await make(kurz)
    await store_of(kurz).ask(link.id, clock.now())
    job = job_of(kurz, TableChecker(), boot_clock=_Jumped(timedelta(days=1)))
    await job.look(clock.now())
    lease, _ = await SqlLeaseStore(kurz.database, clock).look(JOB)
    assert lease is None


async def test_dead_name_servers_break_nothing(kurz, clock):
    made = [await make(kurz, f"https://site-{number}.example/") for number in range(5)]
    await follow(kurz)
    checker = TableChecker()
    job = job_of(kurz, checker)
    clock.advance(minutes=6)
    await run(job)
    checker.found = dict.fromkeys(set(checker.urls), NO_NAME_SERVERS)
    for _ in range(5):
        clock.advance(days=2)
        await run(job)
        for link in made:
            assert await status_of(kurz, link) in ("ok", "unknown")
    assert len(checker.asked) == 30


async def test_a_link_breaks_and_comes_back(kurz, clock):
    link = await make(kurz)
    await follow(kurz)
    checker = TableChecker()
    job = job_of(kurz, checker)
    seen = []
    for finding in (OK, FAILING, FAILING, FAILING, OK, INSIDE):
        checker.found[URL] = finding
        clock.advance(days=8)
        await run(job)
        seen.append(await status_of(kurz, link))
    assert seen == ["ok", "ok", "ok", "broken", "ok", "not_checked"]
    assert [was_ok for _, was_ok in checker.asked] == [False, *5 * [True]]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # the other has its own clock
async def test_after_another_process_sites_have_a_rest(kurz, clock):
    turns = [FreeTurns(), FreeTurns()]
    jobs = [job_of(kurz, TableChecker(), it, boot_clock=_Jumped(None)) for it in turns]
    runners = [runner_of(kurz, job) for job in jobs]
    for runner in runners:
        runner._first_at = 0.0
    for who, seconds in ((0, 0), (0, 300), (1, 300), (1, 300), (0, 320)):
        clock.advance(seconds=seconds)
        assert await runners[who].tick()
    assert [it.rests for it in turns] == [[320.0], [300.0]]


async def test_it_stops_soon_and_nothing_is_lost(kurz, clock):
    for number in range(9):
        await make(kurz, f"https://site-{number}.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()  # nobody ever answers
    job = job_of(kurz, checker)
    runner = runner_of(kurz, job)
    running = asyncio.create_task(runner.run(Cause.DUE))
    await until(lambda: len(checker.asked) == 9)
    runner.leave_off()
    result = await running
    assert result is not None
    assert result.outcome is Outcome.DONE
    assert checker.at_once == 0
    checker.gate.set()
    assert (await run(job)).counts == {"ok": 9}


async def test_an_outage_while_it_is_written_down_is_waited_out(kurz, clock, monkeypatch):
    await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    job = job_of(kurz, checker)
    really, tries = job._store.record, 0

    async def record(*arguments):
        nonlocal tries
        tries += 1
        if tries < 4:
            raise StoreUnavailable("out")
        await really(*arguments)

    monkeypatch.setattr(job._store, "record", record)
    assert (await run(job)).counts == {"ok": 1}
    assert len(checker.asked) == 1


async def test_an_outage_fails_a_run_and_the_next_one_goes_on(kurz, clock, monkeypatch):
    await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    job = job_of(kurz, checker)
    runner = runner_of(kurz, job)
    with monkeypatch.context() as out:

        async def find_due(*_):
            raise StoreUnavailable("out")

        out.setattr(job._store, "find_due", find_due)
        result = await runner.run(Cause.DUE)
        assert result is not None
        assert result.outcome is Outcome.FAILED
    assert await runner.run(Cause.NOW) is not None
    assert checker.urls == [URL]


async def test_only_one_process_checks(kurz, clock):
    await make(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()
    runners = [runner_of(kurz, job_of(kurz, checker)) for _ in range(3)]
    runs = [asyncio.create_task(runner.run(Cause.DUE)) for runner in runners]
    await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
    checker.gate.set()
    results = await asyncio.gather(*runs)
    assert len([result for result in results if result is not None]) == 1
    assert checker.urls == [URL]
    lease, _ = await SqlLeaseStore(kurz.database, clock).look(JOB)
    assert lease is not None
    assert lease.ended_at is not None
