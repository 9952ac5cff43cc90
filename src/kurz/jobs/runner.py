"""Runs a scheduled job: in one process of the whole installation at a time, under a lease."""

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Protocol

import structlog

from kurz.errors import KurzError, StoreUnavailable
from kurz.scheduling import Cause, Lease, LeaseStore, Outcome, Result, RunStore, Schedule, Turn

TICK_SECONDS = 5.0
# For a run under way when the process stops, which has 15 seconds in all: a batch has its own end
# long before, unless the database or the archive is slow.
STOP_SECONDS = 5.0

GIVEN_UP = Result(reason="The run was stopped during a batch.")

_log = structlog.get_logger(__name__)


class Work(Protocol):
    """What a job does. It is harmless to do it twice, or in two places at once: a process may sleep
    for longer than its lease."""

    async def look(self, now: datetime) -> None:
        """Every few seconds, whether it is due or not."""

    async def run(self, turn: Turn) -> Result:
        """Comes to an end soon when `turn.stopping` is set."""


class Runner:
    """Looks every few seconds whether the job is due, or somebody asks for it. A run that fails is
    told in the log and counted, and the next one has its usual time; whatever happens, the runner
    goes on. `monotonic` is the clock that runs are timed by."""

    def __init__(
        self,
        schedule: Schedule,
        work: Work,
        leases: LeaseStore,
        runs: RunStore,
        *,
        tick_seconds: float = TICK_SECONDS,
        stop_seconds: float = STOP_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._schedule = schedule
        self._work = work
        self._leases = leases
        self._runs = runs
        self._tick_seconds = tick_seconds
        self._stop_seconds = stop_seconds
        self._monotonic = monotonic
        self._first_at = monotonic() + schedule.first_after.total_seconds()
        self._holder = holder_name()
        self._stopping = asyncio.Event()
        self._is_down = False
        self._ended = dict.fromkeys(Outcome, 0)
        self._last_seconds = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._stopping.clear()
        self._task = asyncio.create_task(self._go_on())

    async def stop(self) -> None:
        """Returns when a run under way has come to its end, or was given up."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None

    def leave_off(self) -> None:
        """Has a run under way come to its end, and no other one begin."""
        self._stopping.set()

    def counts(self) -> dict[str, int]:
        job = self._schedule.job
        return {
            f"{job}_runs": self._ended[Outcome.DONE],
            f"{job}_failed_runs": self._ended[Outcome.FAILED],
            f"{job}_skipped_runs": self._ended[Outcome.SKIPPED],
            f"{job}_last_run_milliseconds": round(self._last_seconds * 1000),
        }

    async def tick(self) -> bool:
        """Runs the job, if there is a cause to. Raises `StoreUnavailable`."""
        lease, now = await self._leases.look(self._schedule.job)
        await self._work.look(now)
        cause = self._schedule.cause(lease, now)
        if cause is Cause.DUE and self._monotonic() < self._first_at:
            cause = None
        if cause is None or self._stopping.is_set():
            return False
        return await self.run(cause) is not None

    async def run(
        self, cause: Cause, tell: Callable[[str, int], None] = lambda _, __: None
    ) -> Result | None:
        """Runs it, if there is this cause. None: somebody else does, or has just done so."""
        lease = await self._leases.take(self._schedule, self._holder, cause)
        if lease is None:
            return None
        try:
            run_id = await self._runs.begin(lease, is_asked=cause is not Cause.DUE)
        except StoreUnavailable:
            await self._give_back(lease)
            raise
        turn = Turn(self._stopping, tell=tell)
        started = self._monotonic()
        result = await self._do(turn)
        self._ended[result.outcome] += 1
        seconds = self._last_seconds = self._monotonic() - started
        self._tell(result, turn.counts)
        await self._insist(lambda: self._runs.end(run_id, result, turn.counts, seconds))
        await self._give_back(lease)
        return result

    async def _do(self, turn: Turn) -> Result:
        try:
            return await self._work_on(turn)
        except Exception as error:  # noqa: BLE001  the next run may succeed
            if isinstance(error, KurzError):
                return Result(Outcome.FAILED, error.detail)
            _log.exception(f"{self._schedule.job} failed")
            return Result(Outcome.FAILED, f"{type(error).__name__}. See the log for details.")

    async def _work_on(self, turn: Turn) -> Result:
        """What does not come to its end soon when it is to stop is given up, wherever it is: what
        it was writing is written whole, or not at all."""
        work = asyncio.create_task(self._work.run(turn))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({work, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({work}, timeout=self._stop_seconds)
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
            return GIVEN_UP if work.cancelled() else work.result()
        finally:
            stopping.cancel()
            work.cancel()

    def _tell(self, result: Result, counts: Mapping[str, int]) -> None:
        did_nothing = not any(counts.values()) and result.reason is None
        tell = {
            Outcome.FAILED: _log.error,
            Outcome.SKIPPED: _log.warning,
            Outcome.DONE: _log.debug if did_nothing else _log.info,
        }
        tell[result.outcome](
            f"{self._schedule.job} finished",
            outcome=str(result.outcome),
            seconds=round(self._last_seconds, 3),
            **counts,
            **({} if result.reason is None else {"reason": result.reason}),
        )

    async def _give_back(self, lease: Lease) -> None:
        await self._insist(lambda: self._leases.give_back(lease, self._schedule.at_least))

    async def _insist(self, act: Callable[[], Awaitable[object]]) -> None:
        """Through an outage: what was done is to be written down. If the process ends first, the
        lease ends by itself, and whoever takes it next counts the run as failed."""
        while True:
            try:
                await act()
            except StoreUnavailable as outage:
                self._tell_outage(outage)
                if self._stopping.is_set():
                    return
                await self._rest()
            else:
                self._is_down = False
                return

    async def _go_on(self) -> None:
        while not self._stopping.is_set():
            try:
                await self.tick()
                self._is_down = False
            except StoreUnavailable as outage:
                self._tell_outage(outage)
            except Exception:  # noqa: BLE001  see above
                _log.exception(f"{self._schedule.job} cannot be scheduled")
            await self._rest()

    def _tell_outage(self, outage: StoreUnavailable) -> None:
        if not self._is_down:
            _log.warning(f"{self._schedule.job} waiting for the database", reason=outage.detail)
        self._is_down = True

    async def _rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._tick_seconds):
                await self._stopping.wait()


def holder_name() -> str:
    """Says where to look for whoever holds a lease, and is no other's."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
