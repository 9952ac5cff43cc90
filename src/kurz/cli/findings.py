"""What `kurz doctor` finds."""

import asyncio
import platform
import sys

import kurz
from kurz.api.http.health import judge_address, judge_list, judge_log
from kurz.cli import database_findings, finding, folder_findings, network_findings
from kurz.cli.finding import DoctorFinding
from kurz.errors import KurzError, SettingRefused
from kurz.outbound.geo import check_countries
from kurz.safety.lists_file import FILE_NAME
from kurz.server.capacity import connection_cap, few_files, file_limit
from kurz.settings.load import LoadedSettings, warnings_about
from kurz.settings.model import Settings
from kurz.wiring.archive import open_files
from kurz.wiring.backup_storage import open_storage
from kurz.wiring.engine import Engine
from kurz.wiring.reaper import schedule_of
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
        *database_findings.database(engine),
        *database_findings.replicas(engine),
        network_findings.address(engine),
        *network_findings.proxy(settings),
        _base_url(settings),
        *folder_findings.secret(engine),
        *network_findings.redis(settings),
        *_countries(settings),
        *_lists(settings),
        *_archive(settings),
        *_backup_storage(settings),
        *_checks(settings),
        *_reaper(settings),
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
            unreadable=f"{state.path} cannot be read ({state.problem}). Until it can be read,"
            " visitors of new links see a warning.",
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


def _reaper(settings: Settings) -> list[DoctorFinding]:
    """Whether its numbers contradict each other."""
    try:
        schedule_of(settings)
    except SettingRefused as refusal:
        return [finding.error("settings", refusal.detail)]
    return []


def _backup_storage(settings: Settings) -> list[DoctorFinding]:
    try:
        check_backups(settings)
        storage = open_storage(settings)
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
