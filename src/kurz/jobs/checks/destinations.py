"""Checks whether the destinations of links still answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime, timedelta
from typing import Any

import structlog

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.jobs.boot_clock import BootClock, told
from kurz.jobs.checks.queue import USUAL_PACE, CheckPace, CheckQueue, SiteQueue
from kurz.links.model import DestinationStatus
from kurz.safety.check_schedule import conclude, fraction
from kurz.safety.checks import JOB, Checker, CheckStore, Destination, NoTurn, SiteTurns, key_of
from kurz.scheduling import Lease, LeaseStore, Result, RunContext, RunOutcome

# In multiples of `run_seconds`: until when a run starts requested checks, and when it ends at the
# latest. A check takes at most 12 minutes of waiting and some seconds.
REQUESTED_RUNS = 1.4
LONGEST_RUNS = 3.9
LEASE_RUNS = 4
LOOK_SECONDS = 60.0  # between counts of what is due
COUNTED = 100_000
LATER = timedelta(hours=1)  # once or twice that, if a site was called too recently

_log = structlog.get_logger(__name__)


class CheckJob:
    """The `Work` of checks. Requested checks come first, then those that are overdue longest. What
    a run has no time for, the next run does."""

    def __init__(
        self,
        store: CheckStore,
        checker: Checker,
        turns: SiteTurns,
        leases: LeaseStore,
        clock: Clock,
        pace: CheckPace = USUAL_PACE,
        *,
        boot_clock: BootClock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._checker = checker
        self._turns = turns
        self._leases = leases
        self._clock = clock
        self._pace = pace
        self._boot_clock = boot_clock or BootClock()
        self._monotonic = monotonic
        self._ahead: timedelta | None = None
        self._holder: str | None = None  # this process, if it ever held the lease
        self._last: Lease | None = None
        self._waiting = 0
        self._looked_at = -LOOK_SECONDS
        self._found: Counter[str] = Counter()

    def counts(self) -> dict[str, int]:
        found = {f"{JOB}_{result}": self._found[result] for result in DestinationStatus}
        return {**found, f"{JOB}_waiting": self._waiting}

    async def look(self, now: datetime) -> None:
        self._ahead = self._boot_clock.jump(now)
        self._last, _ = await self._leases.look(JOB)
        # Includes what was requested when a run had just ended.
        if self._ahead is None and await self._store.has_requested(now):
            await self._leases.ask(JOB)
        if self._monotonic() - self._looked_at >= LOOK_SECONDS:
            self._waiting = await self._store.count_due(now, COUNTED)
            self._looked_at = self._monotonic()

    async def run(self, context: RunContext) -> Result:
        if self._ahead is not None:
            return Result(RunOutcome.SKIPPED, told(self._ahead))
        await self._rest_after_others()
        calls = _Calls(self._check, context)
        try:
            await self._call_all(calls, context)
        finally:
            await calls.cancel()
        return Result()

    async def _rest_after_others(self) -> None:
        """If another process held the lease last, waits: its calls of sites are not known here."""
        lease, now = await self._leases.look(JOB)
        last, self._last = self._last, lease
        if last is not None and last.holder not in ("", self._holder):
            ended_at = last.ended_at or now
            self._turns.rest(max((now - ended_at).total_seconds(), 0.0))
        self._holder = None if lease is None else lease.holder

    async def _call_all(self, calls: "_Calls", context: RunContext) -> None:
        """When its time is over, a run starts no more checks but finishes those in progress: a
        cancelled check would be the first of the next run."""
        began, longest = self._monotonic(), self._pace.run_seconds
        queue = CheckQueue(self._store, self._turns, self._clock, self._pace, self._monotonic)
        while not context.stopping.is_set():
            seconds = self._monotonic() - began
            is_starting = seconds < longest
            if seconds < longest * REQUESTED_RUNS:
                await self._start_some(calls, queue, is_due_too=is_starting)
            if not (calls.tasks or (is_starting and queue.has_more)):
                return
            if seconds >= longest * LONGEST_RUNS:
                return
            await calls.wait(self._pace.rest_seconds)

    async def _start_some(self, calls: "_Calls", queue: CheckQueue, *, is_due_too: bool) -> None:
        count = len(calls.tasks)
        pace = self._pace
        room = min(pace.at_once - (count - self._turns.waiting), pace.under_way - count)
        try:
            chosen = await queue.take(calls.tasks.keys(), room, is_due_too=is_due_too)
        except StoreUnavailable:
            if not calls.tasks:
                raise
            return  # checks in progress continue
        for destination, site in chosen:
            calls.start(destination, site)

    async def _check(self, destination: Destination, context: RunContext) -> None:
        """What cannot be checked or stored waits for the next run."""
        started_at, was_ok = self._clock.now(), destination.standing.was_ok
        try:
            finding = await self._checker.check(
                destination.location,
                was_ok=was_ok,
                is_requested=destination.requested_at is not None,
            )
        except NoTurn:
            until = self._clock.now() + LATER * (1 + fraction(key_of(destination.location)))
            await self._retry_until_done(lambda: self._store.defer(destination.id, until))
            return
        verdict = conclude(destination, finding, started_at, self._clock.now())
        await self._retry_until_done(lambda: self._store.record(destination.id, verdict))
        self._found[finding.result] += 1
        context.add(finding.result, 1)

    async def _retry_until_done(self, write: Callable[[], Awaitable[None]]) -> None:
        """Retries until the run is over, so that no finished check is lost."""
        while True:
            try:
                return await write()
            except StoreUnavailable:
                await asyncio.sleep(self._pace.rest_seconds)


class _Calls:
    """The checks in progress: one per site, and one more that somebody asked for."""

    def __init__(
        self,
        check: Callable[[Destination, RunContext], Coroutine[Any, Any, None]],
        context: RunContext,
    ) -> None:
        self._check = check
        self._context = context
        self._ids: dict[SiteQueue, int] = {}
        self.tasks: dict[SiteQueue, asyncio.Task[None]] = {}

    def start(self, destination: Destination, site: str) -> None:
        """A requested check replaces a check of the same destination."""
        site_queue = site, destination.requested_at is not None
        if site_queue in self.tasks:  # it was answered meanwhile
            return
        if self._ids.get((site, False)) == destination.id:
            self.tasks[site, False].cancel()
        task = asyncio.create_task(self._check(destination, self._context))
        self._ids[site_queue], self.tasks[site_queue] = destination.id, task
        task.add_done_callback(lambda done: self._end(site_queue, done))

    def _end(self, site_queue: SiteQueue, task: asyncio.Task[None]) -> None:
        del self._ids[site_queue], self.tasks[site_queue]
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, StoreUnavailable):
            _log.error("destination check failed", exc_info=error)

    async def wait(self, seconds: float) -> None:
        """Waits until one of them has ended, the run must end, or the time has passed."""
        stopping = asyncio.create_task(self._context.stopping.wait())
        try:
            awaited = {stopping, *self.tasks.values()}
            await asyncio.wait(awaited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()

    async def cancel(self) -> None:
        tasks = [*self.tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
