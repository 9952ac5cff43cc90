"""What is well with an instance, and what is not. The first thing that is wrong is the lamp's
reason; each reason has its sentence on the dashboard."""

from collections.abc import Iterator

from kurz.api.schemas.system import (
    DatabaseRead,
    DiskRead,
    InstanceRead,
    JournalRead,
    Lamp,
    Light,
    ListsRead,
    SystemRead,
)
from kurz.scheduling import Outcome

MIN_FREE_BYTES = 1024**3
LAST_FREE_BYTES = 128 * 1024**2
CLICKS_LATE_SECONDS = 10  # 1 or 2 are normal
CLICKS_STUCK_SECONDS = 120
MANY_WAITING = 8  # calls that wait for a connection: as many as a worker's pool has

Verdict = tuple[Light, str]
WELL: Verdict = (Light.GOOD, "ok")


def light(system: SystemRead) -> list[Lamp]:
    """Only of what there is."""
    return [
        Lamp(about=about, light=shown, reason=reason)
        for about, (shown, reason) in _verdicts(system)
    ]


def _verdicts(system: SystemRead) -> Iterator[tuple[str, Verdict]]:
    yield "database", _database(system.database)
    if system.redis is not None:
        is_well = system.redis.is_up and not system.redis.workers_without
        yield "redis", WELL if is_well else (Light.BAD, "out")
    yield "processes", _processes(system.instance)
    yield "clicks", _clicks(system.journal)
    yield "feed", (Light.BAD, "deaf") if system.feed.workers_deaf else WELL
    yield "jobs", _jobs(system)
    if system.disk is not None:
        yield "disk", _disk(system.disk)
    if system.lists.files:
        yield "lists", _lists(system.lists)
    yield "address", WELL if system.chosen.base_url else (Light.WARY, "unset")
    yield "limits", WELL if system.chosen.are_limits_on else (Light.WARY, "off")
    if not system.chosen.is_secret_shared:
        yield "secret", (Light.WARY, "own")


def _database(database: DatabaseRead) -> Verdict:
    if database.problem is not None:
        return (Light.BAD, "out") if database.version is None else (Light.WARY, "schema")
    if database.workers_failing:
        return Light.BAD, "failing"
    if database.waiting >= MANY_WAITING:
        return Light.WARY, "busy"
    return WELL if database.has_write_ahead_log else (Light.WARY, "no-log")


def _processes(instance: InstanceRead) -> Verdict:
    if not instance.jobs:
        return Light.BAD, "no-jobs"
    return WELL if instance.workers >= instance.workers_wanted else (Light.WARY, "few")


def _clicks(journal: JournalRead) -> Verdict:
    if journal.workers_failing:
        return Light.BAD, "failing"
    if journal.oldest_seconds > CLICKS_STUCK_SECONDS:
        return Light.BAD, "stuck"
    if journal.dropped_since_start:
        return Light.WARY, "dropped"
    if journal.damaged_bytes or journal.errors:
        return Light.WARY, "damaged"
    return (Light.WARY, "late") if journal.oldest_seconds > CLICKS_LATE_SECONDS else WELL


def _jobs(system: SystemRead) -> Verdict:
    if system.jobs is None:
        return Light.BAD, "unknown"
    outcomes = {job.last_run.outcome for job in system.jobs if job.is_enabled and job.last_run}
    if Outcome.FAILED in outcomes:
        return Light.WARY, "failed"
    return (Light.WARY, "skipped") if Outcome.SKIPPED in outcomes else WELL


def _disk(disk: DiskRead) -> Verdict:
    if disk.free_bytes < LAST_FREE_BYTES:
        return Light.BAD, "full"
    return WELL if disk.free_bytes >= MIN_FREE_BYTES else (Light.WARY, "small")


def _lists(lists: ListsRead) -> Verdict:
    if any(item.problem is not None for item in lists.files):
        return Light.BAD, "unreadable"
    if lists.workers_unsure:
        return Light.WARY, "unsure"
    return WELL if all(item.rules for item in lists.files) else (Light.WARY, "empty")
