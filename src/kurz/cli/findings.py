"""What `kurz doctor` finds."""

import asyncio
import platform
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import kurz
from kurz.api.http.health import judge_address, judge_list, judge_log
from kurz.cli import finding, folder_findings, network_findings
from kurz.cli.clock_warning import clock_warning
from kurz.cli.finding import DoctorFinding
from kurz.clock import TOLERATED_NS, from_micros
from kurz.errors import KurzError, StoreUnavailable
from kurz.jobs.backups import JOB as BACKUPS
from kurz.links.ending.ports import JOB
from kurz.outbound.geo import check_countries
from kurz.safety.checks import JOB as CHECKS
from kurz.safety.lists_file import FILE_NAME
from kurz.scheduling import JobTotals, Run, RunOutcome
from kurz.server.capacity import connection_cap, few_files, file_limit
from kurz.settings.load import LoadedSettings, warnings_about
from kurz.settings.model import Settings
from kurz.storage.engine.database import Database
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.space import FileSpace, measure_file
from kurz.storage.followers.timekeeper import ask_clock
from kurz.storage.jobs.last_written import last_written
from kurz.storage.jobs.runs import find_totals, last_runs
from kurz.storage.people.accounts import has_admin
from kurz.wiring.archive import open_files
from kurz.wiring.backup_storage import open_storage
from kurz.wiring.engine import Engine
from kurz.wiring.scheduled_backups import check_backups
from kurz.wiring.screen import open_list_provider

MUCH_FREE_BYTES, MUCH_FREE_SHARE = 100 * 1024**2, 0.25  # of a database's file


def examine(loaded: LoadedSettings) -> list[DoctorFinding]:
    settings, engine = loaded.settings, Engine(loaded.settings)
    return [
        finding.ok("program", f"kurz {kurz.__version__} on Python {platform.python_version()}"),
        _files(settings),
        *_write_ahead_log(engine),
        *folder_findings.data_folder(settings),
        *_database(engine),
        *_replicas(engine),
        network_findings.address(engine),
        *network_findings.proxy(settings),
        _base_url(settings),
        *folder_findings.secret(engine),
        *network_findings.redis(settings),
        *_countries(settings),
        *_lists(settings),
        *_archive(settings),
        *_backup_storage(engine),
        *_checks(settings),
        *(finding.warning("settings", sentence) for sentence in warnings_about(loaded)),
    ]


def _files(settings: Settings) -> DoctorFinding:
    """How many files a server may open if it is started like this command."""
    limit = file_limit(is_hard=True)
    problem = few_files(settings.max_connections, limit)
    if problem is not None:
        return finding.warning("files", problem)
    cap = connection_cap(settings.max_connections, limit)
    many = "unlimited" if limit == sys.maxsize else f"{limit:,}"
    says = f"{many} open files allowed, enough for {cap:,} connections per worker"
    return finding.ok("files", says)


def _write_ahead_log(engine: Engine) -> list[DoctorFinding]:
    version = engine.version
    if version is None:
        return []
    verdict = judge_log(has_write_ahead_log=engine.has_write_ahead_log)
    no_log = (
        f"{version} can corrupt a write-ahead log, so kurz runs without one, which is slower."
        " Install the package pysqlite3 to get 3.51.3 or newer."
    )
    says = f"{version}, with write-ahead log"
    return [finding.judged(engine.name, verdict, ok=says, no_log=no_log)]


def _database(engine: Engine) -> list[DoctorFinding]:
    """Whether it answers, and whether a jobs process maintains it."""

    async def check() -> tuple[bool, list[DoctorFinding]]:
        database = engine.open_database()
        try:
            await database.read(Migrations().check)
            runs = await database.read(last_runs, JOB, 1)
            checks = await database.read(last_runs, CHECKS, 1)
            space = [] if engine.folder is None else _space(await database.read(measure_file))
            totals = await database.read(find_totals, BACKUPS)
            backups = [] if engine.file is None else _backups(engine.settings, totals)
            clock = await _clock_findings(engine, database)
            skipped = [*_skipped("reaper", runs), *_skipped("checks", checks)]
            more = [*clock, *space, *backups, *skipped]
            return await database.read(has_admin), more
        finally:
            await database.close()

    try:
        is_administered, more = asyncio.run(check())
    except StoreUnavailable as error:
        return [finding.error("database", asyncio.run(engine.explain(error)).detail)]
    except KurzError as error:
        return [finding.error("database", error.detail)]
    findings = [
        finding.ok("database", f"{engine.name} is reachable, schema {Migrations().head}"),
        *more,
    ]
    if not is_administered:
        hint = "there is none yet. Run: kurz admin setup-link, or kurz admin create ada@example.com"
        findings.append(finding.warning("administrator", hint))
    return findings


async def _clock_findings(engine: Engine, database: Database) -> list[DoctorFinding]:
    """Of this machine compared with the database, and of the clock in use with what was written."""
    now_ns, found = time.time_ns(), []
    source = engine.time_source(database)
    instant_ns = None if source is None else await ask_clock(source)
    if instant_ns is not None:
        found.append(_clock(now_ns - instant_ns))
    now = from_micros((instant_ns or now_ns) // 1000)
    behind = clock_warning(now, await database.read(last_written))
    return found if behind is None else [*found, finding.warning("clock", behind)]


def _clock(ahead_ns: int) -> DoctorFinding:
    if abs(ahead_ns) <= TOLERATED_NS:
        return finding.ok("clock", "this machine and the database agree")
    where = "ahead of" if ahead_ns > 0 else "behind"
    return finding.warning(
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
    return [finding.warning("space", says)]


def _backups(settings: Settings, totals: JobTotals) -> list[DoctorFinding]:
    """Whether the last scheduled backup is recent."""
    if settings.backup is None:
        return []
    last = totals.last_ended_at
    if last is None:
        says = f"none in {settings.backup} yet. kurz serve makes the first after one minute."
        return [finding.warning("backup", says)]
    hours = (datetime.now(UTC) - last).total_seconds() / 3600
    if hours > 2 * settings.backup_interval.total_seconds() / 3600:
        says = f"the last one in {settings.backup} is {hours:,.0f} hours old. See the log of kurz."
        return [finding.warning("backup", says)]
    return [finding.ok("backup", f"the last one in {settings.backup} is {hours:,.1f} hours old")]


def _skipped(job: str, runs: Sequence[Run]) -> list[DoctorFinding]:
    """Whether the last run of a job was skipped, and why."""
    return [
        finding.warning(job, f"the last run was skipped. {run.reason}")
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
            return finding.warning("replica", f"{error.detail} kurz uses the primary instead.")
        if not is_ours:
            return finding.error(
                "replica", "it is not a replica of the database in KURZ_DATABASE_URL"
            )
        return finding.ok("replica", "it is reachable and replicating")

    try:
        return asyncio.run(examine_each())
    except KurzError:  # of the primary: that is another finding
        return []


def _countries(settings: Settings) -> list[DoctorFinding]:
    try:
        check_countries(settings.geoip_db)
    except KurzError as error:
        return [finding.error("countries", error.detail)]
    return []


def _lists(settings: Settings) -> list[DoctorFinding]:
    """Whether all lists can be read, and the server uses their current content."""
    provider = open_list_provider(settings)
    if provider.sources.is_empty:
        return []
    found = provider.lists
    if found is None:
        return [finding.error("lists", "the lists could not be compiled")]
    judged = [
        finding.judged(
            "lists",
            judge_list(state.problem, state.rules),
            ok="",
            unreadable=f"{state.path} cannot be read ({state.problem}). Visitors of new links see a"
            " warning until it can.",
            empty=f"{state.path} has no rules",
        )
        for state in found.sources
    ]
    findings = [item for item in judged if item.says]
    compiled = settings.screening_dir / FILE_NAME
    if not provider.is_stored and compiled.exists():
        says = (
            f"{compiled} is out of date. kurz serve notices changed files within seconds, and"
            " changed settings on SIGHUP."
        )
        findings.append(finding.warning("lists", says))
    return findings or [finding.ok("lists", f"{found.hosts:,} hosts and URLs")]


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
        return [finding.error("archive", error.detail)]
    return [finding.ok("archive", f"{settings.archive} is usable")]


def _backup_storage(engine: Engine) -> list[DoctorFinding]:
    if engine.file is None:
        return []
    try:
        check_backups(engine.settings)
        storage = open_storage(engine.settings)
        if storage is not None:
            storage.check()
    except KurzError as error:
        return [finding.error("backup", error.detail)]
    return []


def _checks(settings: Settings) -> list[DoctorFinding]:
    if settings.destination_checks == "on":
        return []
    return [finding.ok("checks", "off: destinations are not checked")]


def _base_url(settings: Settings) -> DoctorFinding:
    pages = f", the dashboard at {settings.dashboard_url}" if settings.dashboard_url else ""
    return finding.judged(
        "base URL",
        judge_address(settings.base_url),
        ok=f"{settings.base_url}{pages}",
        unset="KURZ_BASE_URL is not set. Short URLs use the host of each request, and requests"
        " for any host are answered.",
    )
