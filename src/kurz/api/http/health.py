"""What is well with an instance, and what is not. The first thing that is wrong is the component's
reason; each reason has its sentence on the dashboard."""

from collections.abc import Iterator

from kurz.api.schemas.system import (
    DatabaseRead,
    DiskRead,
    HealthComponent,
    HealthRead,
    HealthStatus,
    InstanceRead,
    JournalRead,
    ListsRead,
    SystemRead,
)
from kurz.scheduling import Outcome

MIN_FREE_BYTES = 1024**3
LAST_FREE_BYTES = 128 * 1024**2
CLICKS_LATE_SECONDS = 10  # 1 or 2 are normal
CLICKS_STUCK_SECONDS = 120
MANY_WAITING = 8  # calls that wait for a connection: as many as a worker's pool has

Verdict = tuple[HealthStatus, str]
HEALTHY: Verdict = (HealthStatus.OK, "ok")


def assess(system: SystemRead) -> HealthRead:
    """Only of what there is."""
    components = [
        HealthComponent(name=name, status=status, reason=reason)
        for name, (status, reason) in _verdicts(system)
    ]
    return HealthRead(components=components)


def _verdicts(system: SystemRead) -> Iterator[tuple[str, Verdict]]:
    yield "database", _database(system.database)
    if system.redis is not None:
        is_well = system.redis.is_up and not system.redis.workers_without
        yield "redis", HEALTHY if is_well else (HealthStatus.ERROR, "out")
    yield "processes", _processes(system.instance)
    yield "clicks", _clicks(system.journal)
    yield "feed", (HealthStatus.ERROR, "stale") if system.feed.workers_stale else HEALTHY
    yield "jobs", _jobs(system)
    if system.disk is not None:
        yield "disk", _disk(system.disk)
    if system.lists.files:
        yield "lists", _lists(system.lists)
    yield "address", HEALTHY if system.chosen.base_url else (HealthStatus.WARNING, "unset")
    yield "limits", HEALTHY if system.chosen.are_limits_on else (HealthStatus.WARNING, "off")
    if not system.chosen.is_secret_shared:
        yield "secret", (HealthStatus.WARNING, "own")


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
    return HEALTHY if database.has_write_ahead_log else (HealthStatus.WARNING, "no-log")


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
    if Outcome.FAILED in outcomes:
        return HealthStatus.WARNING, "failed"
    return (HealthStatus.WARNING, "skipped") if Outcome.SKIPPED in outcomes else HEALTHY


def _disk(disk: DiskRead) -> Verdict:
    if disk.free_bytes < LAST_FREE_BYTES:
        return HealthStatus.ERROR, "full"
    return HEALTHY if disk.free_bytes >= MIN_FREE_BYTES else (HealthStatus.WARNING, "small")


def _lists(lists: ListsRead) -> Verdict:
    if any(item.problem is not None for item in lists.files):
        return HealthStatus.ERROR, "unreadable"
    if lists.workers_unsure:
        return HealthStatus.WARNING, "unsure"
    return HEALTHY if all(item.rules for item in lists.files) else (HealthStatus.WARNING, "empty")
