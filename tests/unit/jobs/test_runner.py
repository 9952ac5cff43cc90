"""When a job runs, and what becomes of a run that fails: under real leases, by a frozen clock."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, time, timedelta

import pytest
import structlog
from structlog.testing import capture_logs

from kurz.errors import StoreUnavailable
from kurz.jobs.runner import GIVEN_UP, Runner, holder_name
from kurz.scheduling import Lease, Result, RunCause, RunContext, RunOutcome, Schedule, Window
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from support.jobs import SCHEDULE

NIGHT = Window(time(2), time(5))
AROUND_MIDNIGHT = Window(time(23), time(1, 30))


class Work:
    """Counts how often it is done; fails, or is cut short, as the test says."""

    def __init__(self) -> None:
        self.counts = {"purged": 3}
        self.runs = 0
        self.looks = 0
        self.failure: Exception | None = None
        self.result = Result()
        self.begun = asyncio.Event()
        self.waits = False
        self.hangs: asyncio.Event | None = None
        self.on_run: Callable[[], None] = lambda: None

    async def look(self, now: datetime) -> None:
        self.looks += 1

    async def run(self, context: RunContext) -> Result:
        self.runs += 1
        self.on_run()
        for name, count in self.counts.items():
            context.add(name, count)
        self.begun.set()
        if self.waits:
            await context.stopping.wait()
        if self.hangs is not None:
            await self.hangs.wait()
        if self.failure is not None:
            raise self.failure
        return self.result


class Outages:
    """The leases or runs of a store that does not answer while it is out."""

    def __init__(self, store: object) -> None:
        self._store = store
        self.are_out = False
        self.were_met_often = asyncio.Event()
        self._met = 0

    def __getattr__(self, name: str) -> object:
        if self.are_out:
            self._met += 1
            if self._met == 3:
                self.were_met_often.set()
            raise StoreUnavailable("Nobody answers.")
        return getattr(self._store, name)


@pytest.fixture
def engine() -> str:
    """The one whose clock is the test's."""
    return "sqlite"


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def leases(kurz) -> SqlLeaseStore:
    return SqlLeaseStore(kurz.database, kurz.clock)


@pytest.fixture
def runs(kurz) -> SqlRunStore:
    return SqlRunStore(kurz.database, kurz.clock)


@pytest.fixture
def make_runner(leases, runs, work, clock):
    """Of a process that starts now."""

    def make(schedule: Schedule = SCHEDULE, **more: object) -> Runner:
        parts = {"leases": leases, "runs": runs} | more
        seconds = lambda: clock.micros() / 1_000_000  # noqa: E731
        return Runner(schedule, work, **parts, monotonic=seconds, tick_seconds=0.001)

    return make


async def test_the_first_run_is_a_minute_after_the_start(make_runner, work, clock):
    runner = make_runner()
    assert not await runner.tick()
    clock.advance(seconds=59)
    assert not await runner.tick()
    clock.advance(seconds=1)
    assert await runner.tick()
    assert (work.runs, work.looks) == (1, 3)


async def test_then_it_runs_every_15_minutes(make_runner, work, clock):
    runner = make_runner()
    begun = []
    for minute in range(62):
        if await runner.tick():
            begun.append(minute)
        clock.advance(minutes=1)
    assert begun == [1, 16, 31, 46, 61]
    assert work.runs == 5


async def test_of_two_processes_one_runs(make_runner, work, clock):
    runners = [make_runner(), make_runner()]
    clock.advance(minutes=1)
    assert sorted([await runner.tick() for runner in runners]) == [False, True]
    clock.advance(minutes=15)
    found = await asyncio.gather(*(runner.tick() for runner in runners))
    assert sorted(found) == [False, True]
    assert work.runs == 2


async def test_a_dead_holder_is_replaced_within_the_longest_time_and_a_tick(
    make_runner, leases, work, clock
):
    await leases.take(SCHEDULE, "dead", RunCause.DUE)
    runner = make_runner()
    clock.advance(minutes=14, seconds=-1)
    assert not await runner.tick()
    clock.advance(seconds=1)
    assert await runner.tick()
    assert work.runs == 1


async def test_who_is_asked_runs_at_once(make_runner, leases, runs, work, clock):
    runner = make_runner()
    clock.advance(minutes=1)
    await runner.tick()
    clock.advance(minutes=1)
    await leases.ask("reaper")
    assert await runner.tick()
    assert not await runner.tick()
    assert [run.is_requested for run in await runs.last("reaper", 9)] == [True, False]
    clock.advance(minutes=15)
    assert await runner.tick()
    assert work.runs == 3


async def test_who_is_asked_does_not_wait_for_its_first_minute(make_runner, leases):
    await leases.ask("reaper")
    assert await make_runner().tick()


async def test_what_is_switched_off_runs_if_it_is_asked(make_runner, leases, clock):
    runner = make_runner(replace(SCHEDULE, is_enabled=False))
    clock.advance(hours=1)
    assert not await runner.tick()
    await leases.ask("reaper")
    assert await runner.tick()


async def test_outside_its_window_it_only_runs_if_it_is_asked(make_runner, leases, clock):
    runner = make_runner(replace(SCHEDULE, window=NIGHT))
    clock.advance(hours=1)  # 13:00
    assert not await runner.tick()
    await leases.ask("reaper")
    assert await runner.tick()
    clock.advance(hours=13)  # 02:00
    assert await runner.tick()


@pytest.mark.parametrize(
    ("window", "hour", "minute", "is_within"),
    [
        (NIGHT, 1, 59, False),
        (NIGHT, 2, 0, True),
        (NIGHT, 4, 59, True),
        (NIGHT, 5, 0, False),
        (AROUND_MIDNIGHT, 22, 59, False),
        (AROUND_MIDNIGHT, 23, 0, True),
        (AROUND_MIDNIGHT, 0, 0, True),
        (AROUND_MIDNIGHT, 1, 29, True),
        (AROUND_MIDNIGHT, 1, 30, False),
        (AROUND_MIDNIGHT, 12, 0, False),
    ],
)
def test_a_window_may_pass_midnight(clock, window, hour, minute, is_within):
    now = clock.now().replace(hour=hour, minute=minute)
    assert window.holds(now) is is_within
    start = window.next_start(now)
    assert window.holds(start)
    assert (start == now) is is_within
    assert now <= start < now + timedelta(days=1)


def test_the_next_run_is_told(clock):
    now = clock.now()
    ended = Lease("reaper", "one", now, now + timedelta(minutes=10), now)
    runs = replace(ended, until=now + timedelta(minutes=14), ended_at=None)
    at_night = replace(SCHEDULE, window=NIGHT)
    assert SCHEDULE.next_at(None, now) == now
    assert SCHEDULE.next_at(ended, now) == now + timedelta(minutes=15)
    assert SCHEDULE.next_at(ended, now + timedelta(hours=1)) == now + timedelta(hours=1)
    assert SCHEDULE.next_at(runs, now) == now + timedelta(minutes=14)
    assert at_night.next_at(ended, now) == now + timedelta(hours=14)
    assert replace(SCHEDULE, is_enabled=False).next_at(ended, now) is None


@pytest.mark.parametrize(
    ("counts", "level"), [({}, "debug"), ({"purged": 0}, "debug"), ({"purged": 3}, "info")]
)
async def test_a_run_that_did_nothing_is_told_to_those_who_look_closely(
    make_runner, work, clock, counts, level
):
    structlog.reset_defaults()
    runner, work.counts = make_runner(), counts
    clock.advance(minutes=1)
    with capture_logs() as logs:
        assert await runner.tick()
    assert [line["log_level"] for line in logs if line["event"] == "reaper finished"] == [level]


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (
            StoreUnavailable("The disk of the database is full."),
            "The disk of the database is full.",
        ),
        (ZeroDivisionError("oh"), "ZeroDivisionError. See the log for details."),
    ],
)
async def test_7a_a_failed_run_is_logged_and_counted_and_the_next_has_its_usual_time(
    make_runner, runs, leases, work, clock, failure, reason
):
    structlog.reset_defaults()
    runner = make_runner()
    work.failure = failure
    clock.advance(minutes=1)
    with capture_logs() as logs:
        assert await runner.tick()
    assert ("reaper finished", "error", "failed") in [
        (line["event"], line["log_level"], line.get("outcome")) for line in logs
    ]
    (run,) = await runs.last("reaper", 9)
    assert (run.outcome, run.reason, run.counts) == (RunOutcome.FAILED, reason, {"purged": 3})
    totals = await runs.totals("reaper")
    assert (totals.failed_runs, totals.successful_runs) == (1, 0)
    lease, now = await leases.look("reaper")
    assert not lease.is_held(now)
    work.failure = None
    clock.advance(minutes=14)
    assert not await runner.tick()
    clock.advance(minutes=1)
    assert await runner.tick()
    totals = await runs.totals("reaper")
    assert (totals.failed_runs, totals.successful_runs) == (1, 1)
    counts = runner.counts()
    assert (counts["reaper_runs"], counts["reaper_failed_runs"]) == (1, 1)


async def test_a_run_that_was_skipped_says_why(make_runner, runs, work, clock):
    work.result = Result(RunOutcome.SKIPPED, "The clock has jumped.")
    runner = make_runner()
    clock.advance(minutes=1)
    assert await runner.tick()
    (run,) = await runs.last("reaper", 9)
    assert (run.outcome, run.reason) == (RunOutcome.SKIPPED, "The clock has jumped.")
    counts = runner.counts()
    assert (counts["reaper_runs"], counts["reaper_skipped_runs"]) == (0, 1)


async def test_an_outage_does_not_end_the_runner(make_runner, leases, work, clock):
    outages = Outages(leases)
    runner = make_runner(leases=outages)
    clock.advance(minutes=1)
    outages.are_out = True
    runner.start()
    async with asyncio.timeout(10):
        await outages.were_met_often.wait()
        assert work.runs == 0
        outages.are_out = False
        await work.begun.wait()
    await runner.stop()
    assert work.runs == 1


async def test_what_a_run_did_is_written_down_after_an_outage(make_runner, runs, work, clock):
    outages = Outages(runs)
    runner = make_runner(runs=outages)
    clock.advance(minutes=1)
    work.waits = True
    runner.start()
    async with asyncio.timeout(10):
        await work.begun.wait()
    outages.are_out = True
    runner.request_stop()
    await runner.stop()
    (run,) = await runs.last("reaper", 9)
    assert run.outcome is None  # it could not be, before the process ended
    outages.are_out = False
    work.waits = False
    clock.advance(minutes=15)
    assert await make_runner(replace(SCHEDULE, first_after=timedelta())).tick()
    newest, oldest = await runs.last("reaper", 9)
    assert (newest.outcome, oldest.outcome) == (RunOutcome.DONE, RunOutcome.FAILED)


async def test_an_outage_at_the_end_of_a_run_is_waited_for(make_runner, runs, leases, work, clock):
    outages = Outages(runs)
    runner = make_runner(runs=outages)
    clock.advance(minutes=1)
    work.failure = StoreUnavailable("Nobody answers.")
    work.on_run = lambda: setattr(outages, "are_out", True)
    runner.start()
    async with asyncio.timeout(10):
        await outages.were_met_often.wait()
        outages.are_out = False
    await runner.stop()
    lease, now = await leases.look("reaper")
    assert not lease.is_held(now)
    assert (await runs.totals("reaper")).failed_runs == 1


async def test_a_runner_that_stops_lets_its_run_end(make_runner, runs, leases, work, clock):
    work.waits = True
    runner = make_runner()
    clock.advance(minutes=1)
    runner.start()
    async with asyncio.timeout(10):
        await work.begun.wait()
    await runner.stop()
    (run,) = await runs.last("reaper", 9)
    lease, now = await leases.look("reaper")
    assert run.outcome is RunOutcome.DONE
    assert not lease.is_held(now)


async def test_work_that_does_not_end_when_it_is_to_stop_is_given_up(
    make_runner, runs, leases, work, clock
):
    """As a call of an archive that does not answer."""
    work.hangs = asyncio.Event()
    runner = make_runner(stop_seconds=0.01)
    clock.advance(minutes=1)
    runner.start()
    async with asyncio.timeout(10):
        await work.begun.wait()
        await runner.stop()
    (run,) = await runs.last("reaper", 9)
    lease, now = await leases.look("reaper")
    assert (run.outcome, run.reason) == (RunOutcome.DONE, GIVEN_UP.reason)
    assert run.counts == {"purged": 3}
    assert not lease.is_held(now)


async def test_no_run_is_given_up_before_it_is_to_stop(make_runner, runs, work):
    work.hangs = asyncio.Event()
    runner = make_runner(stop_seconds=0)
    running = asyncio.create_task(runner.run(RunCause.NOW))
    async with asyncio.timeout(10):
        await work.begun.wait()
        for _ in range(10):
            await runs.last("reaper", 9)  # time for others
        work.hangs.set()
        assert await running == Result()


def test_no_holder_has_the_name_of_another():
    assert len({holder_name() for _ in range(100)}) == 100
