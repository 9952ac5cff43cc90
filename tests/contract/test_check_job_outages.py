"""The job that checks destinations when it is stopped, or something it needs is missing."""

import asyncio
import time
from datetime import timedelta

import pytest

from kurz.errors import StoreUnavailable
from kurz.safety.checks import JOB
from kurz.scheduling import RunCause, RunOutcome
from kurz.storage.jobs.leases import SqlLeaseStore
from support.check_jobs import URL, JumpedClock, job_of, run, runner_of, status_of
from support.checks import (
    FAILING,
    INSIDE,
    NO_NAME_SERVERS,
    OK,
    FreeTurns,
    TableChecker,
    follow,
    store_of,
)
from support.engines import without_redis
from support.feed import until
from support.links import create_link

engine = without_redis  # which has no part in it


async def test_a_run_lets_those_under_way_come_to_their_end(kurz, clock):
    """Five turns of waiting take as long as a run."""
    for name in "ab":
        await create_link(kurz, f"https://{name}.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    ahead, checker = 0.0, TableChecker()
    checker.gate = asyncio.Event()
    job = job_of(kurz, checker, monotonic=lambda: time.monotonic() + ahead)
    running = asyncio.create_task(run(job))
    await until(lambda: len(checker.asked) == 2)
    ahead = 350.0
    late, asked = [
        await create_link(kurz, f"https://{name}.example/") for name in ("late", "asked")
    ]
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
    await create_link(kurz)
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
    link = await create_link(kurz)
    await store_of(kurz).ask(link.id, clock.now())
    job = job_of(kurz, TableChecker(), boot_clock=JumpedClock(timedelta(days=1)))
    await job.look(clock.now())
    lease, _ = await SqlLeaseStore(kurz.database, clock).look(JOB)
    assert lease is None


async def test_dead_name_servers_break_nothing(kurz, clock):
    made = [await create_link(kurz, f"https://site-{number}.example/") for number in range(5)]
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
    link = await create_link(kurz)
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
    jobs = [job_of(kurz, TableChecker(), it, boot_clock=JumpedClock(None)) for it in turns]
    runners = [runner_of(kurz, job) for job in jobs]
    for runner in runners:
        runner._first_at = 0.0
    for who, seconds in ((0, 0), (0, 300), (1, 300), (1, 300), (0, 320)):
        clock.advance(seconds=seconds)
        assert await runners[who].tick()
    assert [it.rests for it in turns] == [[320.0], [300.0]]


async def test_it_stops_soon_and_nothing_is_lost(kurz, clock):
    for number in range(9):
        await create_link(kurz, f"https://site-{number}.example/")
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()  # nobody ever answers
    job = job_of(kurz, checker)
    runner = runner_of(kurz, job)
    running = asyncio.create_task(runner.run(RunCause.DUE))
    await until(lambda: len(checker.asked) == 9)
    runner.request_stop()
    result = await running
    assert result is not None
    assert result.outcome is RunOutcome.DONE
    assert checker.at_once == 0
    checker.gate.set()
    assert (await run(job)).counts == {"ok": 9}


async def test_an_outage_while_it_is_written_down_is_waited_out(kurz, clock, monkeypatch):
    await create_link(kurz)
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
    await create_link(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    job = job_of(kurz, checker)
    runner = runner_of(kurz, job)
    with monkeypatch.context() as out:

        async def find_due(*_):
            raise StoreUnavailable("out")

        out.setattr(job._store, "find_due", find_due)
        result = await runner.run(RunCause.DUE)
        assert result is not None
        assert result.outcome is RunOutcome.FAILED
    assert await runner.run(RunCause.NOW) is not None
    assert checker.urls == [URL]


async def test_only_one_process_checks(kurz, clock):
    await create_link(kurz)
    await follow(kurz)
    clock.advance(minutes=6)
    checker = TableChecker()
    checker.gate = asyncio.Event()
    runners = [runner_of(kurz, job_of(kurz, checker)) for _ in range(3)]
    runs = [asyncio.create_task(runner.run(RunCause.DUE)) for runner in runners]
    await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED)
    checker.gate.set()
    results = await asyncio.gather(*runs)
    assert len([result for result in results if result is not None]) == 1
    assert checker.urls == [URL]
    lease, _ = await SqlLeaseStore(kurz.database, clock).look(JOB)
    assert lease is not None
    assert lease.ended_at is not None
