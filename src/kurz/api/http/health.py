"""Decides what is fine, a warning or an error: for the health of an instance, and for `kurz
doctor`. The first problem of a component is its reason; each reason has a sentence on the
dashboard."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from kurz.api.schemas.system import (
    BackupRead,
    DatabaseRead,
    HealthComponent,
    HealthRead,
    HealthStatus,
    InstanceRead,
    JournalRead,
    ListsRead,
    SystemRead,
)
from kurz.scheduling import RunOutcome

MIN_FREE_BYTES = 1024**3
LAST_FREE_BYTES = 128 * 1024**2
CLICKS_LATE_SECONDS = 10  # 1 or 2 are normal
CLICKS_STUCK_SECONDS = 120
MISSED_BACKUPS = 2  # intervals without a good one
MANY_WAITING = 8  # calls that wait for a connection: the size of a worker's pool

Verdict = tuple[HealthStatus, str]
HEALTHY: Verdict = (HealthStatus.OK, "ok")
OWN_SECRET: Verdict = (HealthStatus.WARNING, "own")
UNREADABLE: Verdict = (HealthStatus.ERROR, "unreadable")
EMPTY: Verdict = (HealthStatus.WARNING, "empty")


def assess(system: SystemRead) -> HealthRead:
    """Only for components that exist."""
    components = [
        HealthComponent(name=name, status=status, reason=reason)
        for name, (status, reason) in _verdicts(system)
    ]
    return HealthRead(components=components)


def _verdicts(system: SystemRead) -> Iterator[tuple[str, Verdict]]:
    yield "database", _database(system.database)
    if system.redis is not None:
        is_well = system.redis.is_up and not system.redis.workers_disconnected
        yield "redis", HEALTHY if is_well else (HealthStatus.ERROR, "out")
    yield "processes", _processes(system.instance)
    yield "clicks", _clicks(system.journal)
    yield "feed", (HealthStatus.ERROR, "stale") if system.feed.workers_stale else HEALTHY
    yield "jobs", _jobs(system)
    if system.backup is not None:
        yield "backups", _backups(system.backup, system.measured_at)
    if system.instances is not None and len(system.instances) > 1:
        versions = {instance.version for instance in system.instances}
        yield "instances", HEALTHY if len(versions) == 1 else (HealthStatus.WARNING, "mixed")
    if system.disk is not None:
        yield "disk", judge_disk(system.disk.free_bytes)
    if system.lists.files:
        yield "lists", _lists(system.lists)
    yield "address", judge_address(system.settings.base_url)
    if system.forwarding is not None:
        yield "proxy", (HealthStatus.WARNING, system.forwarding)
    yield "limits", HEALTHY if system.settings.are_limits_on else (HealthStatus.WARNING, "off")
    if not system.settings.is_secret_shared:
        yield "secret", OWN_SECRET


def _database(database: DatabaseRead) -> Verdict:
    if database.problem is not None:
        return (
            (HealthStatus.ERROR, "out")
            if database.version is None
            else (HealthStatus.WARNING, "schema")
        )
    if database.workers_failing:
        return HealthStatus.ERROR, "failing"
    if database.waiting >= MANY_WAITING:
        return HealthStatus.WARNING, "busy"
    return judge_log(has_write_ahead_log=database.has_write_ahead_log)


def _processes(instance: InstanceRead) -> Verdict:
    if not instance.jobs:
        return HealthStatus.ERROR, "no-jobs"
    return HEALTHY if instance.workers >= instance.workers_wanted else (HealthStatus.WARNING, "few")


def _clicks(journal: JournalRead) -> Verdict:
    if journal.workers_failing:
        return HealthStatus.ERROR, "failing"
    if journal.oldest_seconds > CLICKS_STUCK_SECONDS:
        return HealthStatus.ERROR, "stuck"
    if journal.dropped_since_start:
        return HealthStatus.WARNING, "dropped"
    if journal.damaged_bytes or journal.errors:
        return HealthStatus.WARNING, "damaged"
    return (
        (HealthStatus.WARNING, "late") if journal.oldest_seconds > CLICKS_LATE_SECONDS else HEALTHY
    )


def _jobs(system: SystemRead) -> Verdict:
    if system.jobs is None:
        return HealthStatus.ERROR, "unknown"
    outcomes = {job.last_run.outcome for job in system.jobs if job.is_enabled and job.last_run}
    if RunOutcome.FAILED in outcomes:
        return HealthStatus.WARNING, "failed"
    return (HealthStatus.WARNING, "skipped") if RunOutcome.SKIPPED in outcomes else HEALTHY


def _backups(backup: BackupRead, now: datetime) -> Verdict:
    every = timedelta(seconds=backup.interval_seconds)
    has_failed, is_damaged = backup.failure is not None, backup.damaged_links > 0
    return judge_backup(
        backup.last_good_at, every, now, has_failed=has_failed, is_damaged=is_damaged
    )


def judge_disk(free_bytes: int, last_bytes: int = LAST_FREE_BYTES) -> Verdict:
    """Of the data folder."""
    if free_bytes < last_bytes:
        return HealthStatus.ERROR, "full"
    return HEALTHY if free_bytes >= MIN_FREE_BYTES else (HealthStatus.WARNING, "small")


def judge_backup(
    last_good_at: datetime | None,
    every: timedelta,
    now: datetime,
    *,
    has_failed: bool,
    is_damaged: bool,
) -> Verdict:
    """Of scheduled backups. `has_failed`: the last attempt did. `is_damaged`: in the last good one,
    links differ from their checksums."""
    if last_good_at is None:
        return HealthStatus.WARNING, "none"
    if is_damaged:
        return HealthStatus.ERROR, "damaged"
    if now - last_good_at > MISSED_BACKUPS * every:
        return HealthStatus.WARNING, "old"
    return (HealthStatus.WARNING, "failed") if has_failed else HEALTHY


def judge_log(*, has_write_ahead_log: bool) -> Verdict:
    return HEALTHY if has_write_ahead_log else (HealthStatus.WARNING, "no-log")


def judge_address(base_url: str | None) -> Verdict:
    return HEALTHY if base_url else (HealthStatus.WARNING, "unset")


def judge_list(problem: str | None, rules: int) -> Verdict:
    if problem is not None:
        return UNREADABLE
    return HEALTHY if rules else EMPTY


def _lists(lists: ListsRead) -> Verdict:
    found = {judge_list(item.problem, item.rules) for item in lists.files}
    if UNREADABLE in found:
        return UNREADABLE
    if lists.workers_unsure:
        return HealthStatus.WARNING, "unsure"
    return EMPTY if EMPTY in found else HEALTHY
