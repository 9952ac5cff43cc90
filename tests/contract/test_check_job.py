"""The job that checks destinations: in which order, and how many at once."""

import asyncio

import pytest
import sqlalchemy as sa

from kurz.links.model import Link
from kurz.storage.schema.safety import checks, destinations
from support.check_jobs import URL, job_of, run, runner_of, status_of
from support.checks import FAILING, SILENT, FreeTurns, TableChecker, follow, rows, store_of
from support.engines import DATABASES, usually_on, without_redis
from support.feed import until
from support.links import create_link

engine = without_redis  # which has no part in it


async def test_what_is_due_is_checked_once_for_all_links(kurz, clock):
    links_of: dict[str, list[Link]] = {}
    for number in range(12):
        url = f"https://site-{number % 4}.example/{number % 6}"
        links_of.setdefault(url, []).append(await create_link(kurz, url))
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
        await create_link(kurz, f"https://site-{number % 10}.example/{number}")
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
        await create_link(kurz, f"https://site-{number % 3}.example/{number}")
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
        await create_link(kurz, f"https://busy.example/{number}")
    clock.advance(seconds=1)
    await create_link(kurz, "https://idle.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    turns, checker = FreeTurns(), TableChecker()
    turns.closed.add("busy.example")
    await run(job_of(kurz, checker, turns, page=4, run_seconds=1.0))
    assert checker.urls == ["https://idle.example/"]


async def test_the_one_that_somebody_asks_for_comes_first(kurz, clock):
    for number in range(5):
        await create_link(kurz, f"https://site-{number}.example/")
    link = await create_link(kurz, "https://asked.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    assert await store_of(kurz).ask(link.id, clock.now())
    checker = TableChecker()
    await run(job_of(kurz, checker, at_once=1))
    assert checker.urls[0] == "https://asked.example/"
    assert not await store_of(kurz).has_requested(clock.now())


@pytest.mark.parametrize("url", [URL, "https://example.com/other"])
async def test_the_one_that_somebody_asks_for_waits_for_no_other_check_of_its_site(
    kurz, clock, url
):
    """Nor for one of the same destination, whose place it takes."""
    await create_link(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    turns, checker = FreeTurns(), TableChecker({url: FAILING})
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker, turns)))
    await until(lambda: checker.at_once == 1)
    turns.only_asked.add("example.com")
    link = await create_link(kurz, url)
    await store_of(kurz).ask(link.id, clock.now())
    await until(lambda: len(checker.asked) == 2)
    assert checker.urls == [URL, url]
    await until(lambda: checker.at_once == len({*checker.urls}))
    checker.gate.set()
    assert (await running).counts["broken"] == 1
    assert await status_of(kurz, link) == "broken"
    assert len(checker.asked) == 2


async def test_one_can_ask_before_it_is_due_and_before_anybody_has_followed(kurz, clock):
    link = await create_link(kurz)
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
    link = await create_link(kurz)
    store, checker = store_of(kurz), TableChecker()
    await store.ask(link.id, clock.now())
    checker.gate = asyncio.Event()
    running = asyncio.create_task(run(job_of(kurz, checker)))
    await until(lambda: len(checker.asked) == 1)
    clock.advance(seconds=5)
    again = sa.update(destinations).values(requested_at=clock.micros())
    await kurz.database.write(lambda it: it.execute(again).rowcount)
    checker.gate.set()
    await running
    assert len(checker.asked) == 2


async def test_many_that_wait_for_the_same_site_keep_nobody_else_waiting(kurz, clock):
    """Nor does it matter how many of them come first."""
    for number in range(70):
        await create_link(kurz, f"https://busy.example/{number}")
    link = await create_link(kurz, "https://idle.example/")
    await follow(kurz)
    asked = sa.update(destinations).values(requested_at=clock.micros() + destinations.c.id)
    await kurz.database.write(lambda it: it.execute(asked).rowcount)
    clock.advance(seconds=1)
    turns, checker = FreeTurns(), TableChecker()
    turns.closed.add("busy.example")
    await run(job_of(kurz, checker, turns, page=5, run_seconds=1.0))
    assert checker.urls == ["https://idle.example/"]
    assert await status_of(kurz, link) == "ok"


async def test_checks_that_wait_for_a_turn_take_no_place(kurz, clock):
    for number in range(9):
        await create_link(kurz, f"https://site-{number}.example/")
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
    link = await create_link(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    store, checker = store_of(kurz), TableChecker()
    await store.ask(link.id, clock.now())
    checker.without_turn.add(URL)
    job = job_of(kurz, checker)
    assert not (await run(job)).counts
    assert checker.urls == [URL]
    assert not await store.has_requested(clock.now())
    assert (await status_of(kurz, link), await rows(kurz, checks)) == (None, [])
    clock.advance(minutes=50)
    await run(job)
    assert checker.urls == [URL]
    clock.advance(minutes=75)
    assert await store.has_requested(clock.now())
    checker.without_turn.clear()
    assert (await run(job)).counts == {"ok": 1}
    assert not await store.has_requested(clock.now())
