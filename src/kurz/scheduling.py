"""Scheduled jobs: when they are due, who holds the lease of one, and what their runs did.

All instants here are the store's, whose clock the instances share.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from kurz.errors import Conflict

if TYPE_CHECKING:
    import asyncio


class AlreadyRunning(Conflict):
    title = "Already running"


class RunCause(StrEnum):
    """Why a lease is taken."""

    DUE = "due"
    REQUESTED = "requested"  # somebody requested a run
    NOW = "now"  # somebody runs it and waits


class RunOutcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # for a good reason, which the run states


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the day, UTC, in which a job may start. It may span midnight."""

    start: time
    end: time

    def holds(self, now: datetime) -> bool:
        at = now.astimezone(UTC).time()
        if self.start <= self.end:
            return self.start <= at < self.end
        return at >= self.start or at < self.end

    def next_start(self, now: datetime) -> datetime:
        """`now` itself, within the window."""
        if self.holds(now):
            return now
        today = datetime.combine(now.astimezone(UTC).date(), self.start, UTC)
        return today if today >= now else today + timedelta(days=1)

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


@dataclass(frozen=True, slots=True)
class Lease:
    """The one lease of a job. `ended_at` None: it is held, or its holder died. `requested_at`:
    when a run was requested."""

    job: str
    holder: str
    taken_at: datetime
    until: datetime
    ended_at: datetime | None = None
    requested_at: datetime | None = None

    def is_held(self, now: datetime) -> bool:
        return self.ended_at is None and self.until > now


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`at_least` is how long no other process takes a released lease; after `at_most` a dead holder
    is replaced. A disabled job only runs on request."""

    job: str
    every: timedelta
    first_after: timedelta  # the start of a process
    at_least: timedelta
    at_most: timedelta
    window: Window | None = None
    is_enabled: bool = True

    def next_at(self, lease: Lease | None, now: datetime) -> datetime | None:
        """When it is due next, `now` if it is due; None: never, because it is disabled. A current
        lease is replaced when its holder turns out to be dead."""
        if not self.is_enabled:
            return None
        at = now
        if lease is not None and not self.is_from_future(lease, now):
            rest = lease.until if lease.ended_at is None else lease.taken_at + self.every
            at = max(now, rest, lease.until)
        return at if self.window is None else self.window.next_start(at)

    def is_from_future(self, lease: Lease, now: datetime) -> bool:
        """It was taken before the clock was set back: it would never expire."""
        return lease.taken_at > now + self.at_most

    def cause(self, lease: Lease | None, now: datetime) -> RunCause | None:
        """Why to run now; None: not now."""
        if lease is not None and lease.requested_at is not None and not lease.is_held(now):
            return RunCause.REQUESTED
        next_at = self.next_at(lease, now)
        return RunCause.DUE if next_at is not None and next_at <= now else None


@dataclass(frozen=True, slots=True)
class Run:
    """`outcome` None: it runs, or its holder died."""

    id: int
    job: str
    holder: str
    is_requested: bool
    started_at: datetime
    ended_at: datetime | None
    outcome: RunOutcome | None
    counts: Mapping[str, int]
    reason: str | None


@dataclass(frozen=True, slots=True)
class JobTotals:
    """Totals of all runs of a job. `run_ms` is that of the successful ones, `last_batch` what the
    last run has cleaned, or the current one so far."""

    successful_runs: int = 0
    failed_runs: int = 0
    run_ms: int = 0
    cleaned: int = 0
    last_batch: int = 0
    last_ended_at: datetime | None = None

    @property
    def average_ms(self) -> float:
        return self.run_ms / self.successful_runs if self.successful_runs else 0.0


async def _always() -> bool:
    return True


@dataclass(slots=True)
class RunContext:
    """A run, as its work sees it: what was done so far, even if it fails, and whether to stop.
    `tell` is called with every count. Work that may take longer than a lease calls `renew`, as long
    as it makes progress; False: another process has the lease by now. An outage raises
    `StoreUnavailable`."""

    stopping: "asyncio.Event"
    counts: Counter[str] = field(default_factory=Counter)
    tell: Callable[[str, int], None] = lambda _, __: None
    renew: Callable[[], Awaitable[bool]] = _always

    def add(self, name: str, count: int) -> None:
        self.counts[name] += count
        self.tell(name, count)


@dataclass(frozen=True, slots=True)
class Result:
    outcome: RunOutcome = RunOutcome.DONE
    reason: str | None = None


class LeaseStore(Protocol):
    """Each call is one statement, by the store's clock: of several at once, one gets the lease. An
    outage raises `StoreUnavailable`."""

    async def look(self, job: str) -> tuple[Lease | None, datetime]:
        """The lease, if it was ever taken or requested, and the time of reading."""

    async def take(self, schedule: Schedule, holder: str, cause: RunCause) -> Lease | None:
        """Takes it for `at_most`, if there is still this cause. None: not now, or another was
        faster."""

    async def renew(self, lease: Lease, at_most: timedelta) -> bool:
        """Holds it for `at_most` from now on. False: another process has it by now."""

    async def give_back(self, lease: Lease, at_least: timedelta) -> bool:
        """Releases it, once it was held for `at_least`. False: another process has it by now."""

    async def ask(self, job: str) -> datetime | None:
        """Requests a run at once; returns the time of the request. None: it is running."""

    async def withdraw(self, job: str) -> bool:
        """Withdraws the request. False: there is none any more, because a run has begun."""


class RunStore(Protocol):
    """The last runs of jobs, and totals of all. An outage raises `StoreUnavailable`."""

    async def begin(self, lease: Lease, *, is_requested: bool) -> int:
        """The holder of the lease begins a run; earlier runs of this job that never ended count as
        failed."""

    async def end(
        self, run_id: int, result: Result, counts: Mapping[str, int], seconds: float
    ) -> bool:
        """Ends it, and adds it to the totals. False: it is over already, and counted."""

    async def last(self, job: str, limit: int) -> Sequence[Run]:
        """The newest first."""

    async def totals(self, job: str) -> JobTotals: ...
