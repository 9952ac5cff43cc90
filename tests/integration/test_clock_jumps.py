"""Clocks that jump, and instances whose clocks are wrong: nothing is purged early, and nothing
redirects late."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta

import httpx2
import pytest

from kurz.clock import MICROSECOND, SteadyClock, SystemClock, from_micros
from kurz.jobs.boot_clock import BootClock
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.jobs.reaper_run import LOST, NOT_TRUSTED, Asking
from kurz.jobs.runner import Runner
from kurz.links.ending.reaper_admin import RetentionPlan
from kurz.links.ending.retention import PRESETS
from kurz.links.model import Draft, Link, Scope, Status
from kurz.people.workspaces import GRACE
from kurz.scheduling import Result, RunCause, RunContext, RunOutcome
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.followers.timekeeper import TimeKeeper
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.core import Kurz
from kurz.wiring.reaper import make_periodic_tasks, open_reaper_admin
from support.clock import FrozenClock
from support.engines import without_redis
from support.jobs import SCHEDULE, put_back
from support.machine import HOUR, SECOND, Machine

engine = without_redis  # whose clock nobody asks
MINUTE = 60 * SECOND
KEPT = timedelta(days=365)
both_ways = pytest.mark.parametrize("jump", [8 * HOUR, -8 * HOUR], ids=["ahead", "back"])


class WallStore(SqlReaperStore):
    """Of PostgreSQL, as if its clock were the machine's, which may jump."""

    def __init__(self, kurz: Kurz, machine: Machine) -> None:
        super().__init__(kurz.database, kurz.clock, KEPT)
        self._machine = machine

    async def now(self) -> datetime:
        return from_micros(self._machine.wall_ns // 1000)


def store_of(kurz: Kurz, machine: Machine) -> SqlReaperStore:
    if kurz.settings.is_embedded:
        return SqlReaperStore(kurz.database, kurz.clock, KEPT)
    return WallStore(kurz, machine)


@pytest.fixture
def machine() -> Machine:
    return Machine()


def reaper_of(store: SqlReaperStore, boot: BootClock | None = None) -> Reaper:
    return Reaper(
        store,
        RetentionPlan(PRESETS["default"], has_archive=False),
        ReaperPace(10, timedelta(), timedelta(minutes=5)),
        boot_clock=boot,
    )


async def outcome_of(reaper: Reaper) -> RunOutcome:
    return (await reaper.run(RunContext(asyncio.Event()))).outcome


async def row(kurz: Kurz, link: Link) -> Link | None:
    return await kurz.store.find(link.id, Scope())


async def status(client: httpx2.AsyncClient, link: Link) -> int:
    return (await client.get(f"/{link.short_code}")).status_code


class TestJumps:
    """On one machine."""

    @pytest.fixture
    def clock(self, machine: Machine) -> SteadyClock:
        return machine.clock()

    @both_ways
    async def test_nothing_is_purged_early_and_no_link_comes_back(
        self, kurz, client, add_link, machine, jump
    ):
        link = await add_link(is_anonymous=True, expires_in_seconds=60)
        keeper = TimeKeeper(kurz.clock, None)
        reaper = reaper_of(store_of(kurz, machine), BootClock(lambda: machine.boot_ns / SECOND))
        await reaper.look(await store_of(kurz, machine).now())
        assert await status(client, link) == 302
        machine.wait(2 * MINUTE)
        assert await status(client, link) == 410
        machine.wall_ns += jump
        for _ in range(2):
            await keeper.look()
            assert await outcome_of(reaper) is RunOutcome.SKIPPED
            assert await row(kurz, link) is not None
            assert await status(client, link) == 410
            machine.wait(MINUTE)
        machine.wall_ns -= jump
        await keeper.look()
        assert await outcome_of(reaper) is RunOutcome.DONE
        assert await row(kurz, link) is not None
        machine.wait(HOUR)
        assert await outcome_of(reaper) is RunOutcome.DONE
        assert await row(kurz, link) is None

    async def test_a_link_that_lives_still_does_when_the_clock_is_right_again(
        self, kurz, client, add_link, machine
    ):
        """Ahead, it has expired for a while. The reaper leaves its row alone; one that has just
        begun to compare clocks does not."""
        link = await add_link(expires_in_seconds=3600)
        keeper, store = TimeKeeper(kurz.clock, None), store_of(kurz, machine)
        reaper = reaper_of(store, BootClock(lambda: machine.boot_ns / SECOND))
        await reaper.look(await store.now())
        machine.wall_ns += 8 * HOUR
        await keeper.look()
        assert await outcome_of(reaper) is RunOutcome.SKIPPED
        assert await row(kurz, link) == link
        assert await store.mark_expired(await store.now(), 10) == 1
        assert await status(client, link) == 410
        machine.wall_ns -= 8 * HOUR
        await keeper.look()
        assert await status(client, link) == 302
        machine.wait(HOUR)
        assert await status(client, link) == 410


class TestWhoAsks:
    """Somebody wants a run at once, from a process that has just come and knows no other time."""

    @pytest.fixture
    def clock(self, machine: Machine) -> SteadyClock:
        return machine.clock()

    @pytest.fixture
    async def link(self, kurz, add_link, machine) -> Link:
        """One that lives, and seems to have expired an hour ago by a clock that is 8 h ahead."""
        link: Link = await add_link(is_anonymous=True, expires_in_seconds=6 * 3600)
        return link

    @pytest.fixture
    async def jobs(self, kurz, machine) -> AsyncIterator[Runner]:
        """A process that compares clocks, when it is started."""
        store = store_of(kurz, machine)
        reaper = reaper_of(store, BootClock(lambda: machine.boot_ns / SECOND))
        await reaper.look(await store.now())
        leases, runs = (
            SqlLeaseStore(kurz.database, kurz.clock),
            SqlRunStore(kurz.database, kurz.clock),
        )
        schedule = replace(SCHEDULE, is_enabled=False)  # but when it is asked
        runner = Runner(schedule, reaper, leases, runs, tick_seconds=0.05)
        yield runner
        await runner.stop()

    async def test_the_process_that_knows_of_a_jump_is_asked(self, kurz, machine, link, jobs):
        reaper_admin = open_reaper_admin(kurz)
        jobs.start()
        assert await Asking(reaper_admin).run() == (Result(), (await reaper_admin.last_runs())[0])
        machine.wall_ns += 8 * HOUR
        await TimeKeeper(kurz.clock, None).look()
        told = await Asking(reaper_admin).run()
        assert told is not None
        result, run = told
        assert result.outcome is RunOutcome.SKIPPED
        assert "The clock has jumped" in str(result.reason)
        assert run == (await reaper_admin.last_runs())[0]
        assert await row(kurz, link) == link

    async def test_without_one_nobody_runs_it_behind_a_skipped_run(self, kurz, machine, link, jobs):
        keeper = TimeKeeper(kurz.clock, None)
        asking = Asking(open_reaper_admin(kurz), deadline_seconds=0.1)
        assert (await asking.run(), await asking.objection()) == (None, None)
        machine.wall_ns += 8 * HOUR
        await keeper.look()
        assert await jobs.run(RunCause.NOW) is not None
        assert await asking.run() is None
        assert await asking.objection() == NOT_TRUSTED
        machine.wall_ns -= 8 * HOUR
        await keeper.look()
        assert await jobs.run(RunCause.NOW) == Result()
        assert await asking.objection() is None

    async def test_who_waits_in_vain_asks_no_longer(self, kurz, jobs):
        reaper_admin = open_reaper_admin(kurz)
        with pytest.raises(TimeoutError):  # or leaves, by Ctrl+C
            async with asyncio.timeout(0.1):
                await Asking(reaper_admin).run()
        assert await Asking(reaper_admin, deadline_seconds=0.1).run() is None
        assert not await jobs.tick()
        assert await reaper_admin.last_runs() == []

    async def test_a_process_that_ends_in_the_middle_is_no_success(self, kurz):
        reaper_admin, leases = open_reaper_admin(kurz), SqlLeaseStore(kurz.database, kurz.clock)
        is_requested = asyncio.Event()
        asked = asyncio.create_task(Asking(reaper_admin, lambda _: is_requested.set()).run())
        await is_requested.wait()
        lease = await leases.take(SCHEDULE, "elsewhere", RunCause.REQUESTED)
        assert lease is not None
        await SqlRunStore(kurz.database, kurz.clock).begin(lease, is_requested=True)
        await asyncio.sleep(0.3)
        assert not asked.done()
        await put_back(kurz, SCHEDULE.at_most)
        told = await asked
        assert told is not None
        assert told[0] == LOST


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
class TestWrongAtTheStart:
    """A machine that comes up 8 hours ahead, and is set right when kurz runs."""

    @pytest.fixture
    async def link(self, kurz, machine) -> Link:
        """Nobody's, with 6 hours left."""
        draft = Draft(original_url="https://example.com/", is_anonymous=True)
        link: Link = (await kurz.links.create(draft)).link
        assert link.expires_at == kurz.clock.now() + timedelta(hours=8)
        machine.wait(2 * HOUR)
        return link

    @pytest.fixture
    def clock(self, machine: Machine) -> SteadyClock:
        return machine.clock()

    @pytest.mark.parametrize("is_seen", [True, False], ids=["behind a look", "before it"])
    async def test_a_living_link_is_not_purged(self, kurz, machine, link, is_seen):
        machine.wall_ns += 8 * HOUR
        ahead = machine.clock()  # of a process that starts now
        store = SqlReaperStore(kurz.database, ahead, KEPT)
        reaper = reaper_of(store, BootClock(lambda: machine.boot_ns / SECOND))
        if is_seen:
            await reaper.look(await store.now())
        machine.wall_ns -= 8 * HOUR
        await TimeKeeper(ahead, None).look()
        for _ in range(5):
            expected = RunOutcome.SKIPPED if is_seen else RunOutcome.DONE
            assert await outcome_of(reaper) is expected
            assert await row(kurz, link) == link
            machine.wait(20 * MINUTE)

    async def test_periodic_tasks_and_leases_go_by_the_machines_too(self, kurz, machine, people):
        owner = await people.add()
        workspace = await people.workspace(owner, "team")
        await kurz.teams.delete(workspace)
        machine.wait((GRACE - timedelta(hours=4)) // MICROSECOND * 1000)
        machine.wall_ns += 8 * HOUR
        ahead = replace(kurz, clock=machine.clock())
        machine.wall_ns -= 8 * HOUR
        for task in make_periodic_tasks(ahead):
            assert await task.run(RunCause.NOW) is not None
        assert await kurz.workspaces.find(workspace.id) is not None
        (run,) = await SqlRunStore(kurz.database, kurz.clock).last("workspaces", 9)
        assert run.started_at == run.ended_at == kurz.clock.now()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
class TestSkewedInstances:
    """Each with a clock of its own, beside PostgreSQL's."""

    @pytest.fixture
    def clock(self) -> FrozenClock:
        """Links are made a day ago."""
        return FrozenClock(SystemClock().now() - timedelta(days=1))

    @both_ways
    async def test_their_reapers_go_by_the_databases(self, kurz, add_link, clock, jump):
        day = 86400
        links = {
            "over": await add_link(is_anonymous=True, expires_in_seconds=60),
            "graced": await add_link(expires_in_seconds=day - 600),
            "live": await add_link(expires_in_seconds=day + 600),
        }
        wrong = FrozenClock(SystemClock().now() + timedelta(microseconds=jump // 1000))
        reaper = reaper_of(SqlReaperStore(kurz.database, wrong, KEPT))
        assert await outcome_of(reaper) is RunOutcome.DONE
        found = {name: await row(kurz, link) for name, link in links.items()}
        assert found["over"] is None
        assert found["graced"] is not None
        assert found["graced"].status is Status.EXPIRED
        assert found["live"] == links["live"]

    @both_ways
    async def test_their_visitors_are_answered_by_the_databases(
        self, kurz, connect, add_link, clock, jump
    ):
        day = 86400
        over = await add_link(expires_in_seconds=day - 600)
        live = await add_link(expires_in_seconds=day + 600)
        own = SteadyClock(wall_ns=lambda: time.time_ns() + jump)
        keeper = TimeKeeper(own, kurz.database)
        await keeper.start()
        clock.advance(microseconds=own.micros() - clock.micros())
        client = await connect()
        assert await status(client, over) == 410
        assert await status(client, live) == 302
        await keeper.stop()
