"""Several reapers at once, killed and held up in the middle of their runs: every link that has
ended is dealt with once, no other is touched, and the lease moves on."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from kurz.clock import SystemClock
from kurz.links.ending.ports import JOB
from kurz.scheduling import JobTotals, Lease
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import USUAL
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.core import Kurz
from support.ended_links import World, make_world
from support.engines import without_redis
from support.reaper_process import TICK_SECONDS
from support.slack import slack

engine = without_redis  # which has no part in it

AT_MOST = timedelta(seconds=2)
NUMBERS = {
    "KURZ_REAPER_AT_MOST": "2s",
    "KURZ_REAPER_AT_LEAST": "0s",
    "KURZ_REAPER_INTERVAL": "0s",
    "KURZ_REAPER_FIRST_AFTER": "0s",
    "KURZ_REAPER_LONGEST_RUN": "1s",
    "KURZ_REAPER_PAUSE": "5ms",
}
PATIENCE = timedelta(seconds=100)  # until something happens at all
# Until a lease that is over is taken: somebody looks, and writes.
SOON = timedelta(seconds=slack(TICK_SECONDS + USUAL.write_seconds))


class Reapers:
    """Processes that reap a database."""

    def __init__(self, settings: Settings, environment: dict[str, str]) -> None:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        own = {"KURZ_DATA_DIR": str(settings.data_dir), **environment, **NUMBERS}
        self._environment = {**inherited, **own}
        self._closing = ExitStack()
        self.processes: list[subprocess.Popen[str]] = []

    def start(self, number: int, mode: str, *, batch: int) -> None:
        """Returns when so many of them are ready."""
        begun = [self._start(mode, batch) for _ in range(number)]
        for process in begun:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        self.processes += begun

    def _start(self, mode: str, batch: int) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "support.reaper_process", mode],
            cwd=Path(__file__).parents[1],
            env={**self._environment, "KURZ_REAPER_BATCH": str(batch)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._closing.enter_context(process)
        self._closing.callback(process.kill)
        return process

    def is_one(self, pid: int) -> bool:
        return any(process.pid == pid for process in self.processes)

    def close(self) -> None:
        self._closing.close()


@pytest.fixture
def clock() -> SystemClock:
    """The reapers go by that of the machine."""
    return SystemClock()


@pytest.fixture
def reapers(kurz: Kurz, environment: dict[str, str]) -> Iterator[Reapers]:
    found = Reapers(kurz.settings, environment)
    yield found
    found.close()


class Strikes:
    """Somebody who kills the holder of the lease, or holds it up, in the middle of a run, and sees
    where the lease goes then. Reapers that have ended all links before a strike get more: so there
    is always work left, however fast they are."""

    def __init__(self, kurz: Kurz, world: World) -> None:
        self._leases = SqlLeaseStore(kurz.database, kurz.clock)
        self._runs = SqlRunStore(kurz.database, kurz.clock)
        self._world = world
        self._more = len(world.ended)  # links, each time
        self.late: list[timedelta] = []  # after the end of a lease, until it is taken
        self.longest_look = timedelta()  # what a busy machine makes of one of ours

    async def kill(self) -> None:
        lease, pid = await self._stop()
        os.kill(pid, signal.SIGKILL)
        assert await self._has_moved(lease, PATIENCE)

    async def hold_up(self) -> None:
        """Until another has the lease; then it goes on, as if nothing had happened."""
        has_moved = False
        while not has_moved:  # else it was in the middle of a write that all have to wait for
            lease, pid = await self._stop()
            has_moved = await self._has_moved(lease, AT_MOST + timedelta(seconds=2))
            os.kill(pid, signal.SIGCONT)

    async def _stop(self) -> tuple[Lease, int]:
        """Wherever it is in a run that has more to do."""
        ends_at = time.monotonic() + PATIENCE.total_seconds()
        while time.monotonic() < ends_at:
            lease, now = await self._leases.look(JOB)
            if lease is not None and lease.is_held(now):
                await asyncio.sleep(random.uniform(0, 0.1))
                pid = int(lease.holder.split(":")[1])
                os.kill(pid, signal.SIGSTOP)
                if await self._is_running(lease):
                    return lease, pid
                os.kill(pid, signal.SIGCONT)
            if not await self._world.left():
                await self._world.add_ended(self._more)
            await asyncio.sleep(0.01)
        raise AssertionError("nobody takes the lease")

    async def _is_running(self, lease: Lease) -> bool:
        """Whether its holder still has it, has begun its run, and there is something to end. The
        holder stands still, so all of that is still so when it is struck."""
        has_work = await self._world.left() > 0
        run = next(iter(await self._runs.last(JOB, 1)), None)
        is_begun = run is not None and run.outcome is None and run.holder == lease.holder
        after, now = await self._leases.look(JOB)
        return has_work and is_begun and after == lease and lease.is_held(now)

    async def _has_moved(self, lease: Lease, patience: timedelta) -> bool:
        ends_at = time.monotonic() + patience.total_seconds()
        while time.monotonic() < ends_at:
            started = time.monotonic()
            after, _ = await self._leases.look(JOB)
            assert after is not None
            if after.taken_at != lease.taken_at:
                assert after.taken_at >= lease.until, "it was taken from somebody"
                self.late.append(after.taken_at - lease.until)
                return True
            await asyncio.sleep(0.02)
            took = timedelta(seconds=time.monotonic() - started)
            self.longest_look = max(self.longest_look, took)
        return False


async def totals(kurz: Kurz) -> JobTotals:
    return await SqlRunStore(kurz.database, kurz.clock).totals(JOB)


async def until_none_is_left(world: World) -> None:
    left = await world.left()
    while left:
        await asyncio.sleep(0.2)
        left = await world.left()


async def check_strikes(
    kurz: Kurz, reapers: Reapers, *, each: int, processes: int, strikes: int, batch: int
) -> None:
    """So many of each kind of strike."""
    world = await make_world(kurz, each)
    reapers.start(processes, "leased", batch=batch)
    somebody = Strikes(kurz, world)
    for _ in range(strikes):
        await somebody.kill()
        await somebody.hold_up()
        reapers.start(1, "leased", batch=batch)  # in place of the one that was killed
    await until_none_is_left(world)
    reapers.close()
    found = await totals(kurz)
    print(
        f"{found}; the lease moved on {max(somebody.late)} after its end at the latest; our own"
        f" looks took up to {somebody.longest_look}"
    )
    await world.check()
    assert found.cleaned == len(world.ended)
    assert found.failed_runs >= strikes  # those that were killed; others may have gone on
    assert max(somebody.late) <= SOON + somebody.longest_look


@pytest.mark.deadlines
async def test_reapers_that_are_killed_and_held_up_end_every_link_once(kurz, reapers):
    # Of small batches: it can be struck in many places.
    await check_strikes(kurz, reapers, each=1000, processes=3, strikes=1, batch=5)


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_eight_reapers_that_are_killed_and_held_up_end_100000_links_once(kurz, reapers):
    await check_strikes(kurz, reapers, each=100_000, processes=8, strikes=10, batch=50)


async def check_crowd(kurz: Kurz, reapers: Reapers, *, each: int, processes: int) -> None:
    """As if there were no leases."""
    world = await make_world(kurz, each)
    reapers.start(processes, "regardless", batch=50)
    for process in reapers.processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    shares = []
    for process in reapers.processes:
        assert process.stdout is not None
        shares.append(int(await asyncio.to_thread(process.stdout.readline)))
    print(f"{each} links, shared out as {shares}")
    assert sum(shares) == each
    assert (await totals(kurz)).cleaned == each
    await world.check()


async def test_reapers_that_all_run_at_once_end_every_link_once(kurz, reapers):
    await check_crowd(kurz, reapers, each=2000, processes=3)


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_eight_reapers_that_all_run_at_once_end_100000_links_once(kurz, reapers):
    await check_crowd(kurz, reapers, each=100_000, processes=8)
