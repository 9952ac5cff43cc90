"""What the reaper has to do, and what administrators see of it and can ask of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from kurz.links.reaping import JOB, ReaperStore
from kurz.links.retention import Ended, Retention, Rule, without_archive
from kurz.scheduling import (
    AlreadyRunning,
    JobTotals,
    Lease,
    LeaseStore,
    Run,
    RunStore,
    Schedule,
)

COUNTED = 100_000  # of each kind: a look at the reaper is cheap however much there is to do
SHOWN_RUNS = 20

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Links that the next run deals with; no more than the limit of each kind are counted.
    `unmarked` are to be marked, and so many of them `go_on`: they are among those of their kind."""

    unmarked: int
    go_on: int
    by_kind: dict[Ended, int]

    @property
    def total(self) -> int:
        return self.unmarked - self.go_on + sum(self.by_kind.values())


@dataclass(frozen=True, slots=True)
class ReaperState:
    """The reaper at an instant. `next_at` None: never, for it is switched off."""

    now: datetime
    lease: Lease | None
    next_at: datetime | None
    totals: JobTotals
    waiting: Waiting

    @property
    def is_running(self) -> bool:
        return self.lease is not None and self.lease.is_held(self.now)


@dataclass(frozen=True, slots=True)
class ChoreState:
    """Something that is done now and then. `next_at` as the reaper's, `lease` while it runs."""

    schedule: Schedule
    next_at: datetime | None
    last_run: Run | None
    lease: Lease | None


class Plan:
    """What becomes of which links when. Without an archive, what is to go there stays where it
    is."""

    def __init__(self, retention: Retention, *, has_archive: bool) -> None:
        self.retention = retention
        self.has_archive = has_archive

    def rules(self) -> dict[Ended, Rule]:
        """Those that something is done by."""
        retention = self.retention if self.has_archive else without_archive(self.retention)
        return {ended: rule for ended, rule in retention.items() if rule.after is not None}

    def before(self, ended: Ended, now: datetime) -> datetime:
        """What ended before is due."""
        after = self.retention[ended].after
        if after is None:
            raise ValueError(f"links of the kind {ended} stay for ever")
        return now - after

    async def count(
        self, store: ReaperStore, limit: int = COUNTED, tell: Tell = lambda _, __: None
    ) -> Waiting:
        """`tell` hears how many of how many kinds are counted."""
        now = await store.now()
        unmarked = await store.count_unmarked(now, limit)
        go_on, by_kind = 0, {}
        rules = self.rules()
        for number, ended in enumerate(rules, 1):
            tell(number, len(rules) + 1)
            before = self.before(ended, now)
            count = await store.count(ended, before, limit)
            if unmarked and ended in (Ended.TEMPORARY, Ended.PERMANENT):
                marked_first = await store.count_unmarked(before, limit - count, ended)
                go_on, count = go_on + marked_first, count + marked_first
            by_kind[ended] = count
        return Waiting(unmarked, min(go_on, unmarked), by_kind)


class Upkeep:
    """The reaper, as any instance sees it: all comes from the store. `preset` is what the plan
    began with."""

    def __init__(
        self,
        plan: Plan,
        schedule: Schedule,
        store: ReaperStore,
        leases: LeaseStore,
        runs: RunStore,
        *,
        preset: str = "default",
        chores: Sequence[Schedule] = (),
    ) -> None:
        self.plan = plan
        self.preset = preset
        self.schedule = schedule
        self._store = store
        self._leases = leases
        self._runs = runs
        self._chores = chores

    async def state(self) -> ReaperState:
        lease, now = await self._leases.look(JOB)
        return ReaperState(
            now,
            lease,
            self.schedule.next_at(lease, now),
            await self._runs.totals(JOB),
            await self.waiting(),
        )

    async def waiting(self, limit: int = COUNTED, tell: Tell = lambda _, __: None) -> Waiting:
        return await self.plan.count(self._store, limit, tell)

    async def last_runs(self, limit: int = SHOWN_RUNS) -> Sequence[Run]:
        return await self._runs.last(JOB, limit)

    async def chores(self) -> list[ChoreState]:
        return [await self.look_at(schedule) for schedule in self._chores]

    async def look_at(self, schedule: Schedule) -> ChoreState:
        """Any job, whoever does it."""
        lease, now = await self._leases.look(schedule.job)
        runs = await self._runs.last(schedule.job, 1)
        return ChoreState(
            schedule,
            schedule.next_at(lease, now),
            runs[0] if runs else None,
            lease if lease is not None and lease.is_held(now) else None,
        )

    async def ask(self) -> datetime:
        """Has a jobs process run it within seconds, whichever looks first; gives since when it is
        asked. Raises `AlreadyRunning` while it runs."""
        asked_at = await self._leases.ask(JOB)
        if asked_at is None:
            raise AlreadyRunning(
                "The reaper is already running. Wait until it finishes, then try again."
            )
        return asked_at

    async def withdraw(self) -> bool:
        """Asks no longer. False: somebody has begun."""
        return await self._leases.withdraw(JOB)
