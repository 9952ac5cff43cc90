"""Scheduled jobs: when they are due, who holds the lease of one, and what their runs did.

All instants here are the store's, whose clock the instances share.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from kurz.errors import Kind, KurzError

if TYPE_CHECKING:
    import asyncio


class AlreadyRunning(KurzError):
    kind = Kind.CONFLICT
    code = "already-running"
    title = "Already running"


class Cause(StrEnum):
    """Why a lease is taken."""

    DUE = "due"
    ASKED = "asked"  # somebody left word
    NOW = "now"  # somebody is at it and waits


class Outcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # for a good reason, which the run tells


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the day, UTC, that a job may begin in. It may pass midnight."""

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
    """The one lease of a job. `ended_at` None: it is held, or its holder died. `asked_at`: since
    when somebody wants the job to run."""

    job: str
    holder: str
    taken_at: datetime
    until: datetime
    ended_at: datetime | None = None
    asked_at: datetime | None = None

    def is_held(self, now: datetime) -> bool:
        return self.ended_at is None and self.until > now


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """`at_least` is for how long no other process takes a lease that was given back, `at_most` when
    a dead holder is replaced. A disabled job only runs if somebody asks for it."""

    job: str
    every: timedelta
    first_after: timedelta  # the start of a process
    at_least: timedelta
    at_most: timedelta
    window: Window | None = None
    is_enabled: bool = True

    def next_at(self, lease: Lease | None, now: datetime) -> datetime | None:
        """When it is due next, `now` if it is; None: never, for it is disabled. A lease that runs
        is replaced when its holder turns out to be dead."""
        if not self.is_enabled:
            return None
        at = now
        if lease is not None and not self.is_astray(lease, now):
            rest = lease.until if lease.ended_at is None else lease.taken_at + self.every
            at = max(now, rest, lease.until)
        return at if self.window is None else self.window.next_start(at)

    def is_astray(self, lease: Lease, now: datetime) -> bool:
        """It was taken by a clock that has been set back since: it would be kept for ever."""
        return lease.taken_at > now + self.at_most

    def cause(self, lease: Lease | None, now: datetime) -> Cause | None:
        """Why to run now; None: not now."""
        if lease is not None and lease.asked_at is not None and not lease.is_held(now):
            return Cause.ASKED
        next_at = self.next_at(lease, now)
        return Cause.DUE if next_at is not None and next_at <= now else None


@dataclass(frozen=True, slots=True)
class Run:
    """`outcome` None: it runs, or its holder died."""

    id: int
    job: str
    holder: str
    is_asked: bool
    started_at: datetime
    ended_at: datetime | None
    outcome: Outcome | None
    counts: Mapping[str, int]
    reason: str | None


@dataclass(frozen=True, slots=True)
class JobTotals:
    """Of all runs of a job that there ever were. `run_ms` is that of the successful ones,
    `last_batch` what the last run has cleaned, or the present one so far."""

    successful_runs: int = 0
    failed_runs: int = 0
    run_ms: int = 0
    cleaned: int = 0
    last_batch: int = 0
    last_ended_at: datetime | None = None

    @property
    def average_ms(self) -> float:
        return self.run_ms / self.successful_runs if self.successful_runs else 0.0


@dataclass(slots=True)
class Turn:
    """A run, for the work that is done in it: what was done so far, even if it fails, and whether
    to come to an end. `tell` hears of every bit of it."""

    stopping: "asyncio.Event"
    counts: Counter[str] = field(default_factory=Counter)
    tell: Callable[[str, int], None] = lambda _, __: None

    def add(self, name: str, count: int) -> None:
        self.counts[name] += count
        self.tell(name, count)


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Outcome = Outcome.DONE
    reason: str | None = None


class LeaseStore(Protocol):
    """Each call is one statement, by the store's clock: of several at once, one takes a lease. An
    outage raises `StoreUnavailable`."""

    async def look(self, job: str) -> tuple[Lease | None, datetime]:
        """The lease, if it was ever taken or asked for, and the instant it was looked at."""

    async def take(self, schedule: Schedule, holder: str, cause: Cause) -> Lease | None:
        """Takes it for `at_most`, if there still is this cause to. None: not now, or another was
        quicker."""

    async def give_back(self, lease: Lease, at_least: timedelta) -> bool:
        """Lets others have it, when it was held for `at_least`. False: it is another's by now."""

    async def ask(self, job: str) -> datetime | None:
        """Leaves word that it should run at once; gives the instant. None: it is running."""

    async def withdraw(self, job: str) -> bool:
        """Takes that word back. False: there is none any more, for somebody has begun."""


class RunStore(Protocol):
    """The last runs of jobs, and totals of all. An outage raises `StoreUnavailable`."""

    async def begin(self, lease: Lease, *, is_asked: bool) -> int:
        """Whoever holds the lease begins; runs of this job that never ended are failed ones."""

    async def end(
        self, run_id: int, result: Result, counts: Mapping[str, int], seconds: float
    ) -> bool:
        """Ends it, and adds it to the totals. False: it is over already, and counted."""

    async def last(self, job: str, limit: int) -> Sequence[Run]:
        """The newest first."""

    async def totals(self, job: str) -> JobTotals: ...
