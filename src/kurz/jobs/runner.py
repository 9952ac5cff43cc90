"""Runs a scheduled job: in one process of the whole installation at a time, under a lease."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from kurz.errors import KurzError, StoreUnavailable
from kurz.rounds import Rounds
from kurz.scheduling import (
    Lease,
    LeaseStore,
    Result,
    RunCause,
    RunContext,
    RunOutcome,
    RunStore,
    Schedule,
)

TICK_SECONDS = 5.0
# For a running job when the process stops, which has 15 seconds in total: a batch ends long before,
# unless the database or the archive is slow.
STOP_SECONDS = 5.0

GIVEN_UP = Result(reason="The run was stopped during a batch.")

_log = structlog.get_logger(__name__)


class Work(Protocol):
    """What a job does. It must be harmless to do it twice, or in two places at once: a process may
    be suspended for longer than its lease."""

    async def look(self, now: datetime) -> None:
        """Called every few seconds, whether it is due or not."""

    async def run(self, context: RunContext) -> Result:
        """Ends soon when `context.stopping` is set."""


class Runner(Rounds):
    """Checks every few seconds whether the job is due or requested. A failed run is logged and
    counted, and the next one comes at its usual time; whatever happens, the runner continues.
    `monotonic` is the clock that runs are timed by."""

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
        super().__init__(schedule.job, self.tick, tick_seconds)
        self._schedule = schedule
        self._job = work
        self._leases = leases
        self._runs = runs
        self._stop_seconds = stop_seconds
        self._monotonic = monotonic
        self._first_at = monotonic() + schedule.first_after.total_seconds()
        self._holder = holder_name()
        self._ended = dict.fromkeys(RunOutcome, 0)
        self._last_seconds = 0.0

    def counts(self) -> dict[str, int]:
        job = self._schedule.job
        return {
            f"{job}_runs": self._ended[RunOutcome.DONE],
            f"{job}_failed_runs": self._ended[RunOutcome.FAILED],
            f"{job}_skipped_runs": self._ended[RunOutcome.SKIPPED],
            f"{job}_last_run_milliseconds": round(self._last_seconds * 1000),
        }

    async def tick(self) -> bool:
        """Runs the job, if there is a cause. Raises `StoreUnavailable`."""
        lease, now = await self._leases.look(self._schedule.job)
        await self._job.look(now)
        cause = self._schedule.cause(lease, now)
        if cause is RunCause.DUE and self._monotonic() < self._first_at:
            cause = None
        if cause is None or self.is_stopping:
            return False
        return await self.run(cause) is not None

    async def run(
        self, cause: RunCause, tell: Callable[[str, int], None] = lambda _, __: None
    ) -> Result | None:
        """Runs it, if there is this cause. None: another process runs it, or has just done so."""
        lease = await self._leases.take(self._schedule, self._holder, cause)
        if lease is None:
            return None
        try:
            run_id = await self._runs.begin(lease, is_requested=cause is not RunCause.DUE)
        except StoreUnavailable:
            await self._give_back(lease)
            raise
        renew = partial(self._leases.renew, lease, self._schedule.at_most)
        context = RunContext(self._stopping, tell=tell, renew=renew)
        started = self._monotonic()
        result = await self._do(context)
        self._ended[result.outcome] += 1
        seconds = self._last_seconds = self._monotonic() - started
        self._tell(result, context.counts)
        await self._retry_until_done(
            lambda: self._runs.end(run_id, result, context.counts, seconds)
        )
        await self._give_back(lease)
        return result

    async def _do(self, context: RunContext) -> Result:
        try:
            return await self._work_on(context)
        except Exception as error:  # noqa: BLE001  the next run may succeed
            if isinstance(error, KurzError):
                return Result(RunOutcome.FAILED, error.detail)
            _log.exception(f"{self._schedule.job} failed")
            return Result(RunOutcome.FAILED, f"{type(error).__name__}. See the log for details.")

    async def _work_on(self, context: RunContext) -> Result:
        """A run that does not end soon after a stop is given up at any point: what it was writing
        is written completely, or not at all."""
        work = asyncio.create_task(self._job.run(context))
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
            RunOutcome.FAILED: _log.error,
            RunOutcome.SKIPPED: _log.warning,
            RunOutcome.DONE: _log.debug if did_nothing else _log.info,
        }
        tell[result.outcome](
            f"{self._schedule.job} finished",
            outcome=str(result.outcome),
            seconds=round(self._last_seconds, 3),
            **counts,
            **({} if result.reason is None else {"reason": result.reason}),
        )

    async def _give_back(self, lease: Lease) -> None:
        await self._retry_until_done(lambda: self._leases.give_back(lease, self._schedule.at_least))

    async def _retry_until_done(self, act: Callable[[], Awaitable[object]]) -> None:
        """Retries through an outage, because the result must be recorded. If the process ends
        first, the lease expires, and its next holder counts the run as failed."""
        while True:
            try:
                await act()
            except StoreUnavailable as outage:
                self.note_outage(outage)
                if self.is_stopping:
                    return
                await self.rest(self._wake_seconds)
            else:
                self._is_down = False
                return


def holder_name() -> str:
    """Identifies the holder of a lease, and says where to find it; unique."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
