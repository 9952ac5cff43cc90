"""The reaper's work, and what administrators can see of it and ask for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kurz.links.ending.ports import JOB, ReaperStore
from kurz.links.ending.retention import EndedKind, Retention, RetentionRule, without_archive
from kurz.scheduling import (
    AlreadyRunning,
    JobTotals,
    Lease,
    LeaseStore,
    Run,
    RunStore,
    Schedule,
)

COUNTED = 100_000  # of each kind, so that showing the reaper is always cheap
SHOWN_RUNS = 20

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReaperBacklog:
    """Links that the next run deals with; no more than the limit of each kind are counted.
    `unmarked` must be marked; `go_on` of them are also counted under their kind."""

    unmarked: int
    go_on: int
    by_kind: dict[EndedKind, int]

    @property
    def total(self) -> int:
        return self.unmarked - self.go_on + sum(self.by_kind.values())


@dataclass(frozen=True, slots=True)
class ReaperState:
    """The reaper at an instant. `next_at` None: never, because it is switched off."""

    now: datetime
    lease: Lease | None
    next_at: datetime | None
    totals: JobTotals
    waiting: ReaperBacklog

    @property
    def is_running(self) -> bool:
        return self.lease is not None and self.lease.is_held(self.now)


@dataclass(frozen=True, slots=True)
class PeriodicTaskState:
    """Something that is done from time to time. `next_at` as the reaper's, `lease` while it
    runs."""

    schedule: Schedule
    next_at: datetime | None
    last_run: Run | None
    lease: Lease | None


class RetentionPlan:
    """What happens to which links, and when. Without an archive, links that would go there stay."""

    def __init__(self, retention: Retention, *, has_archive: bool) -> None:
        self.retention = retention
        self.has_archive = has_archive

    def rules(self) -> dict[EndedKind, RetentionRule]:
        """The rules under which something is done."""
        retention = self.retention if self.has_archive else without_archive(self.retention)
        return {ended: rule for ended, rule in retention.items() if rule.after is not None}

    def before(self, ended: EndedKind, now: datetime) -> datetime:
        """Links that ended before this are due."""
        after = self.retention[ended].after
        if after is None:
            raise ValueError(f"links of the kind {ended} are kept permanently")
        return now - after

    def view(self, waiting: ReaperBacklog) -> list[dict[str, Any]]:
        """The rules as the API and `--json` show them, with how many links wait."""
        return [
            {
                "ended": ended,
                "after_seconds": None if rule.after is None else round(rule.after.total_seconds()),
                "action": rule.action,
                "waiting": waiting.by_kind.get(ended),
            }
            for ended, rule in self.retention.items()
        ]

    async def count(
        self, store: ReaperStore, limit: int = COUNTED, tell: Tell = lambda _, __: None
    ) -> ReaperBacklog:
        """`tell` is called with how many of how many kinds are counted."""
        now = await store.now()
        unmarked = await store.count_unmarked(now, limit)
        go_on, by_kind = 0, {}
        rules = self.rules()
        for number, ended in enumerate(rules, 1):
            tell(number, len(rules) + 1)
            before = self.before(ended, now)
            count = await store.count(ended, before, limit)
            if unmarked and ended in (EndedKind.TEMPORARY, EndedKind.PERMANENT):
                marked_first = await store.count_unmarked(before, limit - count, ended)
                go_on, count = go_on + marked_first, count + marked_first
            by_kind[ended] = count
        return ReaperBacklog(unmarked, min(go_on, unmarked), by_kind)


class ReaperAdmin:
    """The reaper as any instance sees it: everything comes from the store. `preset` is the plan's
    preset."""

    def __init__(
        self,
        plan: RetentionPlan,
        schedule: Schedule,
        store: ReaperStore,
        leases: LeaseStore,
        runs: RunStore,
        *,
        preset: str = "default",
        periodic_tasks: Sequence[Schedule] = (),
    ) -> None:
        self.plan = plan
        self.preset = preset
        self.schedule = schedule
        self._store = store
        self._leases = leases
        self._runs = runs
        self._periodic_tasks = periodic_tasks

    async def state(self) -> ReaperState:
        lease, now = await self._leases.look(JOB)
        return ReaperState(
            now,
            lease,
            self.schedule.next_at(lease, now),
            await self._runs.totals(JOB),
            await self.waiting(),
        )

    async def waiting(self, limit: int = COUNTED, tell: Tell = lambda _, __: None) -> ReaperBacklog:
        return await self.plan.count(self._store, limit, tell)

    async def last_runs(self, limit: int = SHOWN_RUNS) -> Sequence[Run]:
        return await self._runs.last(JOB, limit)

    async def periodic_tasks(self) -> list[PeriodicTaskState]:
        return [await self.look_at(schedule) for schedule in self._periodic_tasks]

    async def look_at(self, schedule: Schedule) -> PeriodicTaskState:
        """The state of any job, in whatever process it runs."""
        lease, now = await self._leases.look(schedule.job)
        runs = await self._runs.last(schedule.job, 1)
        return PeriodicTaskState(
            schedule,
            schedule.next_at(lease, now),
            runs[0] if runs else None,
            lease if lease is not None and lease.is_held(now) else None,
        )

    async def ask(self) -> datetime:
        """Asks the jobs processes to run it: the first that looks does so, within seconds. Returns
        the time of the request. Raises `AlreadyRunning` while it runs."""
        requested_at = await self._leases.ask(JOB)
        if requested_at is None:
            raise AlreadyRunning(
                "The reaper is already running. Wait until it finishes, then try again."
            )
        return requested_at

    async def withdraw(self) -> bool:
        """Withdraws the request. False: a run has begun."""
        return await self._leases.withdraw(JOB)
