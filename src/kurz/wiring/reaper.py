"""The reaper, over the parts that `core` has opened, and its settings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kurz.errors import SettingRefused
from kurz.jobs.account_ender import JOB as ACCOUNTS
from kurz.jobs.account_ender import AccountEnder, AccountWork
from kurz.jobs.bans import BanWork
from kurz.jobs.boot_clock import BootClock
from kurz.jobs.checks.domains import DomainChecks
from kurz.jobs.housekeeping import Housekeeping
from kurz.jobs.periodic import PeriodicTask, Task
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.jobs.runner import TICK_SECONDS, Runner, Work
from kurz.jobs.workspace_purger import WorkspacePurger
from kurz.links.ending.ports import JOB
from kurz.links.ending.reaper_admin import ReaperAdmin, RetentionPlan
from kurz.links.ending.retention import INTERVALS
from kurz.safety.banning import JOB as BANS
from kurz.scheduling import Schedule
from kurz.settings.model import Settings
from kurz.settings.values import show_duration
from kurz.storage.ending.accounts import SqlAccountEnds
from kurz.storage.ending.housekeeping import SqlHousekeepingStore
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.ending.workspaces import SqlWorkspaceEnds
from kurz.storage.followers.day_folder import DayFolder
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.archive import open_archiver
from kurz.wiring.core import Kurz, open_custom_domains, retention_of

HOUSEKEEPING, WORKSPACES, DOMAINS, MONTHS = "housekeeping", "workspaces", "domains", "months"
PERIODIC_TASKS = {  # how often
    HOUSEKEEPING: timedelta(hours=1),
    WORKSPACES: timedelta(days=1),
    DOMAINS: timedelta(days=1),
    BANS: timedelta(hours=1),
    ACCOUNTS: timedelta(hours=1),
    MONTHS: timedelta(minutes=10),
}
REQUESTED = (BANS, ACCOUNTS)  # they check every few seconds whether there is something to do
PERIODIC_TASK_TICK_SECONDS = 60.0  # except for `REQUESTED`


@dataclass(frozen=True)
class Reaping:
    """The reaper, and its counts."""

    reaper: Reaper
    runner: Runner
    reaper_admin: ReaperAdmin

    def counts(self) -> dict[str, int]:
        return {**self.runner.counts(), **self.reaper.counts()}


def schedule_of(settings: Settings) -> Schedule:
    """Raises `SettingRefused` for numbers that contradict each other."""
    every = settings.reaper_interval
    if every is None:
        every = INTERVALS[settings.retention]
    at_least, at_most = settings.reaper_at_least, settings.reaper_at_most
    longest = settings.reaper_longest_run
    _check("AT_MOST", at_most, "more than", "LONGEST_RUN", longest, is_met=at_most > longest)
    _check("AT_LEAST", at_least, "no more than", "AT_MOST", at_most, is_met=at_least <= at_most)
    _check("AT_LEAST", at_least, "no more than", "INTERVAL", every, is_met=at_least <= every)
    return Schedule(
        job=JOB,
        every=every,
        first_after=settings.reaper_first_after,
        at_least=at_least,
        at_most=at_most,
        window=settings.reaper_window,
        is_enabled=settings.reaper_enabled == "on",
    )


def open_reaper_admin(kurz: Kurz) -> ReaperAdmin:
    """The reaper as any process can show it."""
    return ReaperAdmin(
        RetentionPlan(retention_of(kurz.settings), has_archive=kurz.settings.archive is not None),
        schedule_of(kurz.settings),
        _store(kurz),
        SqlLeaseStore(kurz.database, kurz.clock),
        SqlRunStore(kurz.database, kurz.clock),
        preset=kurz.settings.retention,
        periodic_tasks=[*periodic_task_schedules(kurz.settings).values()],
    )


@asynccontextmanager
async def open_reaper(kurz: Kurz, boot_clock: BootClock | None = None) -> AsyncIterator[Reaping]:
    """It reaps from the start of the runner on. At the end, a current run is finished."""
    settings, reaper_admin = kurz.settings, open_reaper_admin(kurz)
    reaper = Reaper(
        _store(kurz),
        reaper_admin.plan,
        ReaperPace(settings.reaper_batch, settings.reaper_pause, settings.reaper_longest_run),
        open_archiver(kurz),
        boot_clock=boot_clock,
        is_enabled=reaper_admin.schedule.is_enabled,
    )
    runner = Runner(
        reaper_admin.schedule,
        reaper,
        SqlLeaseStore(kurz.database, kurz.clock),
        SqlRunStore(kurz.database, kurz.clock),
    )
    try:
        yield Reaping(reaper, runner, reaper_admin)
    finally:
        await runner.stop()


@asynccontextmanager
async def open_periodic_tasks(
    kurz: Kurz, boot_clock: BootClock | None = None
) -> AsyncIterator[Sequence[Runner]]:
    """Other periodic tasks that one process of the installation does."""
    runners = make_periodic_tasks(kurz, boot_clock)
    for runner in runners:
        runner.start()
    try:
        yield runners
    finally:
        for runner in runners:
            runner.request_stop()
        for runner in runners:
            await runner.stop()


def make_periodic_tasks(kurz: Kurz, boot_clock: BootClock | None = None) -> list[Runner]:
    database, kept = kurz.database, kurz.settings.code_quarantine
    clock = kurz.engine.job_clock(kurz.clock)
    schedules = periodic_task_schedules(kurz.settings)
    kept_days, days = kurz.settings.daily_breakdown_days, None
    if kept_days:
        days = DayFolder(database, kept_days, kurz.engine.max_held_seconds)
    tasks: dict[str, Task] = {
        HOUSEKEEPING: Housekeeping(SqlHousekeepingStore(database), clock),
        WORKSPACES: WorkspacePurger(SqlWorkspaceEnds(database, kept), clock),
        DOMAINS: DomainChecks(open_custom_domains(kurz), clock),
        MONTHS: MonthFolder(database, clock, days),
    }
    leases = SqlLeaseStore(database, clock)
    works: dict[str, Work] = {job: PeriodicTask(task, boot_clock) for job, task in tasks.items()}
    works[BANS] = BanWork(kurz.bans, leases)
    works[ACCOUNTS] = AccountWork(AccountEnder(SqlAccountEnds(database), clock), leases)
    return [
        Runner(
            schedules[job],
            work,
            leases,
            SqlRunStore(database, clock),
            tick_seconds=TICK_SECONDS if job in REQUESTED else PERIODIC_TASK_TICK_SECONDS,
        )
        for job, work in works.items()
    ]


def periodic_task_schedules(settings: Settings) -> dict[str, Schedule]:
    """Tasks by name. If nothing is reaped, no workspace is purged either."""
    return {
        job: Schedule(
            job=job,
            every=every,
            first_after=timedelta(minutes=5),
            at_least=timedelta(minutes=2 if job == ACCOUNTS else 10),
            at_most=timedelta(minutes=5 if job == ACCOUNTS else 30),
            is_enabled=job != WORKSPACES or settings.reaper_enabled == "on",
        )
        for job, every in PERIODIC_TASKS.items()
    }


def _store(kurz: Kurz) -> SqlReaperStore:
    return SqlReaperStore(kurz.database, kurz.clock, kurz.settings.code_quarantine)


def _check(
    name: str, value: timedelta, how: str, other: str, limit: timedelta, *, is_met: bool
) -> None:
    if not is_met:
        raise SettingRefused(
            f"KURZ_REAPER_{name} ({show_duration(value)}) must be {how} KURZ_REAPER_{other}"
            f" ({show_duration(limit)})."
        )
