"""The health of an instance: its own numbers, and the state of each component. A component that
does not answer is reported too."""

import asyncio
import platform
import shutil
import socket
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from kurz import __version__, metrics
from kurz.api.http.health import assess
from kurz.api.routes.cleanup import job_read
from kurz.api.schemas.cleanup import JobRead
from kurz.api.schemas.system import (
    BackupRead,
    DatabaseRead,
    DiskRead,
    FeedRead,
    HealthRead,
    InstanceRead,
    JournalRead,
    ListRead,
    ListsRead,
    MemoryRead,
    RedisRead,
    RunningInstanceRead,
    SystemRead,
    SystemSettingsRead,
)
from kurz.errors import KurzError, SchemaOutdated, StoreUnavailable
from kurz.jobs.backups import BYTES, DAMAGED, failure_of
from kurz.jobs.backups import JOB as BACKUPS
from kurz.jobs.backups import LOOKED_AT as BACKUPS_LOOKED_AT
from kurz.links.ending.reaper_admin import ReaperAdmin
from kurz.metrics import InstanceNumbers
from kurz.safety.lists_file import Source, SourceState
from kurz.scheduling import RunOutcome
from kurz.server.forwarding import SOME
from kurz.server.proxy_note import ProxyNote
from kurz.settings.model import Settings
from kurz.storage.engine.migrate import Migrations, tell_version
from kurz.storage.jobs.instances import running_instances
from kurz.storage.jobs.runs import find_totals, last_runs
from kurz.wiring.checks import are_on
from kurz.wiring.checks import schedule_of as schedule_of_checks
from kurz.wiring.core import Kurz
from kurz.wiring.reaper import periodic_task_schedules
from kurz.wiring.rescreen import SCHEDULE as SCREENING
from kurz.wiring.scheduled_backups import schedule_of as schedule_of_backups

_UNTOLD = (StoreUnavailable, sa.exc.DatabaseError)  # another schema may lack the tables


class Watch:
    """`started_at` is the start of the instance, in seconds."""

    def __init__(self, kurz: Kurz, reaper_admin: ReaperAdmin, started_at: float) -> None:
        self._kurz = kurz
        self._reaper_admin = reaper_admin
        self._started_at = started_at

    async def tell(self, numbers: InstanceNumbers) -> SystemRead:
        kurz, settings = self._kurz, self._kurz.settings
        database = await self._database(numbers)
        answers = database.version is not None
        system = SystemRead(
            measured_at=kurz.clock.now(),
            health=HealthRead(components=[]),
            instance=self._instance(numbers),
            database=database,
            redis=await self._redis(numbers),
            memory=_memory(numbers),
            journal=_journal(numbers),
            feed=FeedRead(
                workers_stale=numbers.sum_of_live_processes("feed_stale"),
                age_seconds=numbers.feed_age_seconds,
                wake_ups=numbers.total("feed_wake_ups"),
                lost_connections=numbers.total("feed_lost_connections"),
            ),
            jobs=await self._jobs() if answers else None,
            backup=await self._backup() if answers else None,
            instances=await self._instances() if answers else None,
            forwarding=await asyncio.to_thread(_forwarding, settings),
            disk=await asyncio.to_thread(_disk, settings.data_dir),
            lists=await asyncio.to_thread(_lists, kurz, numbers),
            settings=_settings(kurz),
        )
        return system.model_copy(update={"health": assess(system)})

    def _instance(self, numbers: InstanceNumbers) -> InstanceRead:
        return InstanceRead(
            version=__version__,
            python=platform.python_version(),
            host=socket.gethostname(),
            started_at=datetime.fromtimestamp(self._started_at, UTC),
            workers=numbers.workers,
            workers_wanted=self._kurz.settings.workers,
            jobs=numbers.jobs,
            connections=numbers.sum_of_live_processes("connections"),
            connections_cap=numbers.sum_of_live_processes("connections_cap"),
            connections_closed_early=numbers.total("connections_closed_early"),
            connections_refused=numbers.total("connections_refused"),
            requests_refused=sum(
                numbers.total(f"{work}_refused") for work in ("creates", "transfers", "requests")
            ),
            redirects=numbers.total("outcome_redirect"),
            api_errors=numbers.total("api_5xx"),
        )

    async def _database(self, numbers: InstanceNumbers) -> DatabaseRead:
        kurz = self._kurz
        version = schema = problem = None
        try:
            await kurz.database.check()
            version, schema, problem = await kurz.database.read(_tell_schema)
        except KurzError as error:
            problem = error.detail
        return DatabaseRead(
            engine=kurz.engine.name,
            version=version,
            schema_version=schema,
            problem=problem,
            has_write_ahead_log=kurz.engine.has_write_ahead_log,
            replicas=len(kurz.settings.database_replica_urls),
            connections=numbers.sum_of_live_processes("database_connections"),
            in_use=numbers.sum_of_live_processes("database_in_use"),
            waiting=numbers.sum_of_live_processes("database_waiting"),
            timeouts=numbers.total("database_timeouts"),
            workers_failing=numbers.sum_of_live_processes("database_failing"),
        )

    async def _redis(self, numbers: InstanceNumbers) -> RedisRead | None:
        redis = self._kurz.shared.redis
        if redis is None:
            return None
        return RedisRead(
            is_up=await redis.answers(),
            kind=redis.kind,
            workers_disconnected=numbers.sum_of_live_processes("cache_out"),
            hits=numbers.total("cache_hits"),
            misses=numbers.total("cache_misses"),
            errors=numbers.total("cache_errors"),
        )

    async def _jobs(self) -> list[JobRead] | None:
        settings = self._kurz.settings
        schedules = [
            self._reaper_admin.schedule,
            *periodic_task_schedules(settings).values(),
            SCREENING,
            schedule_of_checks(settings),
        ]
        if self._has_backups:
            schedules.append(schedule_of_backups(settings))
        try:
            return [job_read(await self._reaper_admin.look_at(schedule)) for schedule in schedules]
        except _UNTOLD:
            return None

    @property
    def _has_backups(self) -> bool:
        settings = self._kurz.settings
        return settings.backup is not None and settings.read_only != "on"

    async def _backup(self) -> BackupRead | None:
        settings, database = self._kurz.settings, self._kurz.database
        if not self._has_backups:
            return None
        try:
            totals = await database.read(find_totals, BACKUPS)
            runs = await database.read(last_runs, BACKUPS, BACKUPS_LOOKED_AT)
        except _UNTOLD:
            return None
        good = next((run for run in runs if run.outcome is RunOutcome.DONE), None)
        return BackupRead(
            target=str(settings.backup),
            interval_seconds=round(settings.backup_interval.total_seconds()),
            last_good_at=totals.last_ended_at,
            last_bytes=None if good is None else good.counts.get(BYTES),
            damaged_links=0 if good is None else good.counts.get(DAMAGED, 0),
            failure=failure_of(runs),
        )

    async def _instances(self) -> list[RunningInstanceRead] | None:
        kurz = self._kurz
        try:
            found = await kurz.database.read(running_instances, kurz.clock)
        except _UNTOLD:
            return None
        return [
            RunningInstanceRead(
                id=it.id, version=it.version, schema_version=it.schema, seen_at=it.seen_at
            )
            for it in found
        ]


def _forwarding(settings: Settings) -> Literal["nobody", "some"] | None:
    noticed = ProxyNote(settings.proxy_note_path).read()
    return None if noticed is None else "some" if noticed == SOME else "nobody"


def _tell_schema(connection: sa.Connection) -> tuple[str, str | None, str | None]:
    """The versions of the engine and the schema, and why this program cannot use that schema, if
    so."""
    version, schema = tell_version(connection)
    try:
        Migrations().check(connection)
    except SchemaOutdated as error:
        return version, schema, error.detail
    return version, schema, None


def _memory(numbers: InstanceNumbers) -> MemoryRead:
    visits = sum(numbers.total(f"outcome_{outcome}") for outcome in metrics.OUTCOMES)
    lookups = numbers.total("lookups")
    return MemoryRead(
        links=numbers.sum_of_live_processes("hot_links"),
        bytes=numbers.sum_of_live_processes("hot_bytes"),
        visits=visits,
        lookups=lookups,
        hit_rate=max(visits - lookups, 0) / visits if visits else None,
    )


def _journal(numbers: InstanceNumbers) -> JournalRead:
    dropped = numbers.total("journal_dropped")
    return JournalRead(
        backlog_bytes=numbers.total("clicks_backlog_bytes"),
        backlog_segments=numbers.total("clicks_backlog_segments"),
        oldest_seconds=numbers.clicks_age_seconds,
        recorded=numbers.total("journal_records"),
        counted=numbers.total("clicks_loaded"),
        dropped=dropped,
        dropped_since_start=dropped - numbers.total(metrics.DROPPED_BEFORE),
        workers_failing=numbers.sum_of_live_processes("journal_failing"),
        errors=numbers.total("journal_sync_errors") + numbers.total("clicks_load_errors"),
        damaged_bytes=numbers.total("clicks_damaged_bytes"),
    )


def _disk(folder: Path) -> DiskRead | None:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return DiskRead(folder=str(folder.resolve()), total_bytes=usage.total, free_bytes=usage.free)


def _lists(kurz: Kurz, numbers: InstanceNumbers) -> ListsRead:
    """The lists of this worker. Reads from disk."""
    provider = kurz.screen.provider
    found, sources = provider.lists, provider.sources
    states = (
        [
            SourceState(it.role, str(it.path), problem="could not be compiled")
            for it in sources.lists
        ]
        if found is None
        else found.sources
    )
    return ListsRead(
        hosts=0 if found is None else found.hosts,
        refuses_shorteners=sources.has_shorteners,
        workers_unsure=numbers.sum_of_live_processes("lists_unsure"),
        files=[
            ListRead(**asdict(state), changed_at=_changed_at(source))
            for source, state in zip(sources.lists, states, strict=True)
        ],
    )


def _changed_at(source: Source) -> datetime | None:
    try:
        return datetime.fromtimestamp(source.path.stat().st_mtime, UTC)
    except OSError:
        return None


def _settings(kurz: Kurz) -> SystemSettingsRead:
    settings = kurz.settings
    return SystemSettingsRead(
        access=settings.access,
        base_url=settings.base_url,
        trusted_proxies=[*settings.trusted_proxies],
        are_limits_on=settings.rate_limits == "on",
        are_checks_on=are_on(settings),
        is_secret_shared=kurz.engine.is_secret_shared,
        retention=settings.retention,
        archive=settings.archive,
        abuse_contact=settings.abuse_contact,
    )
