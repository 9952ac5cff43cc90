"""What `kurz doctor` finds."""

import asyncio
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import kurz
from kurz.api.http.health import (
    OWN_SECRET,
    Verdict,
    judge_address,
    judge_disk,
    judge_list,
    judge_log,
)
from kurz.api.schemas.system import HealthStatus
from kurz.clicks.dropped import DroppedClicks
from kurz.clock import TOLERATED_NS
from kurz.errors import KurzError
from kurz.jobs.backups import JOB as BACKUPS
from kurz.links.ending.ports import JOB
from kurz.outbound.geo import check_countries
from kurz.redis_url import RedisKind
from kurz.safety.checks import JOB as CHECKS
from kurz.safety.lists_file import FILE_NAME
from kurz.scheduling import JobTotals, Run, RunOutcome
from kurz.server.capacity import connection_cap, file_limit
from kurz.settings.load import LoadedSettings, warnings_about
from kurz.settings.model import Settings
from kurz.storage.engine.database import Database
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.space import FileSpace, measure_file
from kurz.storage.followers.timekeeper import ask_clock
from kurz.storage.jobs.runs import find_totals, last_runs
from kurz.storage.people.accounts import has_admin
from kurz.wiring.archive import open_files
from kurz.wiring.backup_storage import open_storage
from kurz.wiring.engine import Engine
from kurz.wiring.scheduled_backups import check_backups
from kurz.wiring.screen import open_list_provider

# A browser keeps a connection for seconds, so these are a few hundred visits a second.
FEW_CONNECTIONS = 2000
MUCH_FREE_BYTES, MUCH_FREE_SHARE = 100 * 1024**2, 0.25  # of a database's file
REDIS_SECONDS = 2.0  # many times what kurz itself would wait
_REDIS_KINDS = {
    RedisKind.SERVER: "a single server",
    RedisKind.SENTINEL: "the master named by Sentinel",
    RedisKind.CLUSTER: "a cluster",
}


@dataclass(frozen=True)
class DoctorFinding:
    verdict: HealthStatus
    about: str
    says: str


_ok = partial(DoctorFinding, HealthStatus.OK)
_warning = partial(DoctorFinding, HealthStatus.WARNING)
_error = partial(DoctorFinding, HealthStatus.ERROR)


def examine(loaded: LoadedSettings) -> list[DoctorFinding]:
    settings, engine = loaded.settings, Engine(loaded.settings)
    return [
        _ok("program", f"kurz {kurz.__version__} on Python {platform.python_version()}"),
        _files(settings),
        *_write_ahead_log(engine),
        *_data_folder(settings),
        *_database(engine),
        *_replicas(engine),
        _base_url(settings),
        *_secret(engine),
        *_redis(settings),
        *_countries(settings),
        *_lists(settings),
        *_archive(settings),
        *_backup_storage(engine),
        *_checks(settings),
        *(_warning("settings", sentence) for sentence in warnings_about(loaded)),
    ]


def _files(settings: Settings) -> DoctorFinding:
    """How many files a server may open if it is started like this command."""
    limit = file_limit(is_hard=True)
    cap = connection_cap(settings.max_connections, limit)
    many = "an unlimited number" if limit == sys.maxsize else f"{limit:,}"
    if cap >= min(settings.max_connections, FEW_CONNECTIONS):
        return _ok("files", f"{many} open files allowed, enough for {cap:,} connections per worker")
    return _warning(
        "files",
        f"only {many} open files allowed, enough for {cap:,} connections per worker. Raise the"
        " hard limit: LimitNOFILE in a systemd unit, ulimit -n in a shell.",
    )


def _write_ahead_log(engine: Engine) -> list[DoctorFinding]:
    version = engine.version
    if version is None:
        return []
    verdict = judge_log(has_write_ahead_log=engine.has_write_ahead_log)
    no_log = (
        f"{version} can corrupt a write-ahead log, so kurz runs without one, which is slower."
        " Install the package pysqlite3 to get 3.51.3 or newer."
    )
    return [_judged(engine.name, verdict, ok=f"{version}, with write-ahead log", no_log=no_log)]


def _data_folder(settings: Settings) -> list[DoctorFinding]:
    """Whether it has room, and how many clicks could not be recorded in it."""
    folder = settings.data_dir.resolve()
    if not folder.exists():
        return []
    free, floor = shutil.disk_usage(folder).free, settings.min_free_megabytes
    verdict, says = judge_disk(free, floor * 1024**2), f"{folder}, {free / 1024**3:.1f} GiB free"
    full = f". Clicks are not recorded below {floor} MiB (KURZ_MIN_FREE_MEGABYTES). Free up space."
    findings = [_judged("data folder", verdict, ok=says, small=says, full=says + full)]
    lost = DroppedClicks(settings.dropped_clicks_path).read()
    if lost:
        many = "1 click" if lost == 1 else f"{lost:,} clicks"
        says = f"{many} could not be recorded so far because the disk was full or failing"
        findings.append(_warning("lost clicks", says))
    return findings


def _database(engine: Engine) -> list[DoctorFinding]:
    """Whether it answers, and whether a jobs process maintains it."""

    async def check() -> tuple[bool, list[DoctorFinding]]:
        database = engine.open_database()
        try:
            await database.read(Migrations().check)
            source = engine.time_source(database)
            instant_ns = None if source is None else await ask_clock(source)
            clock = [] if instant_ns is None else [_clock(time.time_ns() - instant_ns)]
            runs = await database.read(last_runs, JOB, 1)
            checks = await database.read(last_runs, CHECKS, 1)
            space = [] if engine.folder is None else _space(await database.read(measure_file))
            totals = await database.read(find_totals, BACKUPS)
            backups = [] if engine.file is None else _backups(engine.settings, totals)
            skipped = [*_skipped("reaper", runs), *_skipped("checks", checks)]
            more = [*clock, *space, *backups, *skipped]
            return await database.read(has_admin), more
        finally:
            await database.close()

    try:
        is_administered, more = asyncio.run(check())
    except KurzError as error:
        return [_error("database", error.detail)]
    findings = [
        _ok("database", f"{engine.name} is reachable, schema {Migrations().head}"),
        *more,
    ]
    if not is_administered:
        hint = "there is none yet. Run: kurz admin setup-link, or kurz admin create ada@example.com"
        findings.append(_warning("administrator", hint))
    return findings


def _clock(ahead_ns: int) -> DoctorFinding:
    if abs(ahead_ns) <= TOLERATED_NS:
        return _ok("clock", "this machine and the database agree")
    where = "ahead of" if ahead_ns > 0 else "behind"
    return _warning(
        "clock",
        f"this machine is {abs(ahead_ns) / 1e9:.1f} s {where} the database. kurz uses the"
        " database's time. Synchronize both with NTP.",
    )


def _space(found: FileSpace) -> list[DoctorFinding]:
    """Whether much of the database's file is free."""
    free, total = found.free_bytes, found.total_bytes
    if free < MUCH_FREE_BYTES or free < MUCH_FREE_SHARE * total:
        return []
    says = f"{free >> 20:,} of {total >> 20:,} MiB are unused. Run: kurz admin compact"
    return [_warning("space", says)]


def _backups(settings: Settings, totals: JobTotals) -> list[DoctorFinding]:
    """Whether the last scheduled backup is recent."""
    if settings.backup is None:
        return []
    last = totals.last_ended_at
    if last is None:
        says = f"none in {settings.backup} yet. kurz serve makes the first after one minute."
        return [_warning("backup", says)]
    hours = (datetime.now(UTC) - last).total_seconds() / 3600
    if hours > 2 * settings.backup_interval.total_seconds() / 3600:
        says = f"the last one in {settings.backup} is {hours:,.0f} hours old. See the log of kurz."
        return [_warning("backup", says)]
    return [_ok("backup", f"the last one in {settings.backup} is {hours:,.1f} hours old")]


def _skipped(job: str, runs: Sequence[Run]) -> list[DoctorFinding]:
    """Whether the last run of a job was skipped, and why."""
    return [
        _warning(job, f"the last run was skipped. {run.reason}")
        for run in runs[:1]
        if run.outcome is RunOutcome.SKIPPED
    ]


def _replicas(engine: Engine) -> list[DoctorFinding]:
    """Whether each answers, and is a replica of this database."""
    if not engine.has_tiers or not engine.settings.database_replica_urls:
        return []
    from kurz.storage.links.installation import find_key
    from kurz.storage.routes.replicas import is_following

    async def examine_each() -> list[DoctorFinding]:
        primary = engine.open_database()
        opened = engine.open_replica_databases()
        try:
            key = await primary.read(find_key, "id-key")
            return [await examine_one(replica, key) for replica in opened]
        finally:
            for database in (primary, *opened):
                await database.close()

    async def examine_one(replica: Database, key: bytes | None) -> DoctorFinding:
        try:
            follows = await replica.read(is_following)
            is_ours = follows and await replica.read(find_key, "id-key") == key
        except KurzError as error:
            return _warning("replica", f"{error.detail} kurz uses the primary instead.")
        if not is_ours:
            return _error("replica", "it is not a replica of the database in KURZ_DATABASE_URL")
        return _ok("replica", "it is reachable and replicating")

    try:
        return asyncio.run(examine_each())
    except KurzError:  # of the primary: that is another finding
        return []


def _secret(engine: Engine) -> list[DoctorFinding]:
    if engine.is_secret_shared:
        return []
    own = (
        "KURZ_SECRET is not set. Each instance on this database generates its own secret,"
        " rejects the tokens of the others, and counts rate limits separately. Set the"
        " same KURZ_SECRET on all instances."
    )
    return [_judged("secret", OWN_SECRET, own=own)]


def _redis(settings: Settings) -> list[DoctorFinding]:
    """Whether it can do its work, and what is lost if not."""
    if settings.redis_url is None:
        return []
    from kurz.cache.connect import open_redis
    from kurz.cache.limits import RedisLimits
    from kurz.people.limits import LimitsUnavailable, hashing
    from kurz.rates import Rate

    async def check() -> RedisKind:
        client = open_redis(settings.redis_url or "", timeout_seconds=REDIS_SECONDS)
        try:
            await RedisLimits(client, hashing(b"doctor")).hit("doctor", Rate(1000, 1))
            return client.kind
        finally:
            await client.close()

    try:
        kind = asyncio.run(check())
    except LimitsUnavailable as error:
        says = (
            f"it cannot be used ({error}). Each process counts rate limits on its own, links"
            " are looked up in the database, and changes arrive up to a second later."
        )
        return [_error("Redis", says)]
    return [_ok("Redis", f"{_REDIS_KINDS[kind]} is reachable")]


def _countries(settings: Settings) -> list[DoctorFinding]:
    try:
        check_countries(settings.geoip_db)
    except KurzError as error:
        return [_error("countries", error.detail)]
    return []


def _lists(settings: Settings) -> list[DoctorFinding]:
    """Whether all lists can be read, and the server uses their current content."""
    provider = open_list_provider(settings)
    if provider.sources.is_empty:
        return []
    found = provider.lists
    if found is None:
        return [_error("lists", "the lists could not be compiled")]
    judged = [
        _judged(
            "lists",
            judge_list(state.problem, state.rules),
            ok="",
            unreadable=f"{state.path} cannot be read ({state.problem}). Visitors of new links see a"
            " warning until it can.",
            empty=f"{state.path} has no rules",
        )
        for state in found.sources
    ]
    findings = [finding for finding in judged if finding.says]
    compiled = settings.screening_dir / FILE_NAME
    if not provider.is_stored and compiled.exists():
        says = (
            f"{compiled} is out of date. kurz serve notices changed files within seconds, and"
            " changed settings on SIGHUP."
        )
        findings.append(_warning("lists", says))
    return findings or [_ok("lists", f"{found.hosts:,} hosts and URLs")]


def _archive(settings: Settings) -> list[DoctorFinding]:
    if settings.archive is None:
        return []

    async def check() -> None:
        files = open_files(settings)
        if files is not None:
            await files.check()

    try:
        asyncio.run(check())
    except KurzError as error:
        return [_error("archive", error.detail)]
    return [_ok("archive", f"{settings.archive} is usable")]


def _backup_storage(engine: Engine) -> list[DoctorFinding]:
    if engine.file is None:
        return []
    try:
        check_backups(engine.settings)
        storage = open_storage(engine.settings)
        if storage is not None:
            storage.check()
    except KurzError as error:
        return [_error("backup", error.detail)]
    return []


def _checks(settings: Settings) -> list[DoctorFinding]:
    if settings.destination_checks == "on":
        return []
    return [_ok("checks", "off: destinations are not checked")]


def _base_url(settings: Settings) -> DoctorFinding:
    pages = f", the dashboard at {settings.dashboard_url}" if settings.dashboard_url else ""
    return _judged(
        "base URL",
        judge_address(settings.base_url),
        ok=f"{settings.base_url}{pages}",
        unset="KURZ_BASE_URL is not set. Short URLs use the host of each request, and requests"
        " for any host are answered.",
    )


def _judged(about: str, verdict: Verdict, **sentences: str) -> DoctorFinding:
    """What the health of a running server shows too. The sentences are by reason."""
    status, reason = verdict
    return DoctorFinding(status, about, sentences[reason.replace("-", "_")])
