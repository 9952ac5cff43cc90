"""`kurz doctor`: what is configured, reachable and missing."""

import platform
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Literal

import typer

import kurz
from kurz.cli import output
from kurz.cli.session import AsJson, DataDir
from kurz.errors import KurzError
from kurz.redis_address import Kind
from kurz.scheduling import Outcome, Run
from kurz.setting_values import show_duration
from kurz.settings import Loaded, Settings, fields, load, variable, warnings_about

FEW_CONNECTIONS = (
    2000  # a browser keeps one for seconds, so these are a few hundred visits a second
)
REDIS_SECONDS = 2.0  # many times what kurz itself would wait
_REDIS_KINDS = {
    Kind.SERVER: "a single server",
    Kind.SENTINEL: "the master named by Sentinel",
    Kind.CLUSTER: "a cluster",
}

Verdict = Literal["ok", "warning", "error"]
_MARKS: dict[Verdict, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "warning": ("!", "yellow"),
    "error": ("✗", "red"),
}


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    about: str
    says: str


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check what is configured, reachable and missing."""
    loaded = load({"data_dir": data_dir})
    findings = examine(loaded)
    if as_json:
        output.print_json(
            {"findings": [asdict(item) for item in findings], "settings": shown(loaded)}
        )
    else:
        _print(findings, loaded)
    if any(item.verdict == "error" for item in findings):
        raise typer.Exit(1)


def examine(loaded: Loaded) -> list[Finding]:
    settings = loaded.settings
    return [
        Finding("ok", "program", f"kurz {kurz.__version__} on Python {platform.python_version()}"),
        _files(settings),
        *(_embedded() if settings.is_embedded else []),
        *_data_folder(settings),
        *_database(settings),
        *_replicas(settings),
        _base_url(settings),
        *_secret(settings),
        *_redis(settings),
        *_countries(settings),
        *_lists(settings),
        *_archive(settings),
        *_checks(settings),
        *(Finding("warning", "settings", sentence) for sentence in warnings_about(loaded)),
    ]


def shown(loaded: Loaded) -> dict[str, dict[str, Any]]:
    """Every setting with its value and source; secrets are only said to be set."""
    return {
        item.name: {
            "value": "(set)"
            if item.metadata["is_secret"] and getattr(loaded.settings, item.name)
            else _plain(getattr(loaded.settings, item.name)),
            "source": loaded.sources[item.name],
        }
        for item in fields()
    }


def _files(settings: Settings) -> Finding:
    """How many files a server may open that is started as this command was."""
    from kurz.server.capacity import connection_cap, file_limit

    limit = file_limit(is_hard=True)
    cap = connection_cap(settings.max_connections, limit)
    many = "an unlimited number" if limit == sys.maxsize else f"{limit:,}"
    if cap >= min(settings.max_connections, FEW_CONNECTIONS):
        return Finding(
            "ok", "files", f"{many} open files allowed, enough for {cap:,} connections per worker"
        )
    return Finding(
        "warning",
        "files",
        f"only {many} open files allowed, enough for {cap:,} connections per worker. Raise the"
        " hard limit: LimitNOFILE in a systemd unit, ulimit -n in a shell.",
    )


def _embedded() -> list[Finding]:
    from kurz.storage.sqlite import can_use_wal, default_driver

    version = default_driver.sqlite_version
    return [
        Finding("ok", "SQLite", f"{version}, with write-ahead log")
        if can_use_wal(default_driver.sqlite_version_info)
        else Finding(
            "warning",
            "SQLite",
            f"{version} can corrupt a write-ahead log, so kurz runs without one, which is"
            " slower. Install the package pysqlite3 to get 3.51.3 or newer.",
        )
    ]


def _data_folder(settings: Settings) -> list[Finding]:
    """Whether it has room, and how many clicks could not be recorded in it."""
    from kurz.api.health import MIN_FREE_BYTES
    from kurz.clicks.dropped import DroppedClicks

    folder = settings.data_dir.resolve()
    if not folder.exists():
        return []
    free, floor = shutil.disk_usage(folder).free, settings.min_free_megabytes
    verdict: Verdict = "ok" if free >= MIN_FREE_BYTES else "warning"
    says = f"{folder}, {free / 1024**3:.1f} GiB free"
    if free < floor * 1024**2:
        verdict = "error"
        says += (
            f". Clicks are not recorded below {floor} MiB (KURZ_MIN_FREE_MEGABYTES). Free up space."
        )
    findings = [Finding(verdict, "data folder", says)]
    lost = DroppedClicks(settings.dropped_clicks_path).read()
    if lost:
        many = "1 click" if lost == 1 else f"{lost:,} clicks"
        says = f"{many} could not be recorded so far because the disk was full or failing"
        findings.append(Finding("warning", "lost clicks", says))
    return findings


def _database(settings: Settings) -> list[Finding]:
    """Whether it answers, and whether somebody looks after it."""
    import asyncio

    from kurz.bootstrap import open_database
    from kurz.links.reaping import JOB
    from kurz.safety.checks import JOB as CHECKS
    from kurz.storage.accounts import has_admin
    from kurz.storage.job_runs import last_runs
    from kurz.storage.migrate import Migrations
    from kurz.storage.timekeeper import ask_clock

    async def check() -> tuple[bool, list[Finding]]:
        database = open_database(settings)
        try:
            await database.read(Migrations().check)
            instant_ns = None if settings.is_embedded else await ask_clock(database)
            clock = [] if instant_ns is None else [_clock(time.time_ns() - instant_ns)]
            runs = await database.read(last_runs, JOB, 1)
            checks = await database.read(last_runs, CHECKS, 1)
            more = [*clock, *_skipped("reaper", runs), *_skipped("checks", checks)]
            return await database.read(has_admin), more
        finally:
            await database.close()

    try:
        is_administered, more = asyncio.run(check())
    except KurzError as error:
        return [Finding("error", "database", error.detail)]
    engine = "SQLite" if settings.is_embedded else "PostgreSQL"
    findings = [
        Finding("ok", "database", f"{engine} is reachable, schema {Migrations().head}"),
        *more,
    ]
    if not is_administered:
        hint = "there is none yet. Run: kurz admin setup-link, or kurz admin create ada@example.com"
        findings.append(Finding("warning", "administrator", hint))
    return findings


def _clock(ahead_ns: int) -> Finding:
    from kurz.clock import TOLERATED_NS

    if abs(ahead_ns) <= TOLERATED_NS:
        return Finding("ok", "clock", "this machine and the database agree")
    where = "ahead of" if ahead_ns > 0 else "behind"
    return Finding(
        "warning",
        "clock",
        f"this machine is {abs(ahead_ns) / 1e9:.1f} s {where} the database. kurz uses the"
        " database's time. Synchronize both with NTP.",
    )


def _skipped(job: str, runs: Sequence[Run]) -> list[Finding]:
    """Whether the last run of a job was skipped, and why."""
    return [
        Finding("warning", job, f"the last run was skipped. {run.reason}")
        for run in runs[:1]
        if run.outcome is Outcome.SKIPPED
    ]


def _replicas(settings: Settings) -> list[Finding]:
    """Whether each answers, and is one of this very database."""
    if settings.is_embedded or not settings.database_replica_urls:
        return []
    import asyncio

    from kurz.bootstrap import open_database
    from kurz.storage.installation import find_key
    from kurz.storage.postgres import PostgresDatabase
    from kurz.storage.replicas import is_following

    async def examine_each() -> list[Finding]:
        primary = open_database(settings)
        opened = [PostgresDatabase(url, is_replica=True) for url in settings.database_replica_urls]
        try:
            key = await primary.read(find_key, "id-key")
            return [await examine_one(replica, key) for replica in opened]
        finally:
            for database in (primary, *opened):
                await database.close()

    async def examine_one(replica: PostgresDatabase, key: bytes | None) -> Finding:
        try:
            follows = await replica.read(is_following)
            is_ours = follows and await replica.read(find_key, "id-key") == key
        except KurzError as error:
            return Finding("warning", "replica", f"{error.detail} kurz uses the primary instead.")
        if not is_ours:
            says = "it is not a replica of the database in KURZ_DATABASE_URL"
            return Finding("error", "replica", says)
        return Finding("ok", "replica", "it is reachable and replicating")

    try:
        return asyncio.run(examine_each())
    except KurzError:  # of the primary: that is another finding
        return []


def _secret(settings: Settings) -> list[Finding]:
    if settings.is_embedded or settings.secret is not None:
        return []
    return [
        Finding(
            "warning",
            "secret",
            "KURZ_SECRET is not set. Each instance on this database generates its own secret,"
            " rejects the tokens of the others, and counts rate limits separately. Set the"
            " same KURZ_SECRET on all instances.",
        )
    ]


def _redis(settings: Settings) -> list[Finding]:
    """Whether it can do what it is there for, and what is lost if not."""
    if settings.redis_url is None:
        return []
    import asyncio

    from kurz.cache.connect import open_redis
    from kurz.cache.limits import RedisLimits
    from kurz.people.limits import LimitsUnavailable, hashing
    from kurz.rates import Rate

    async def check() -> Kind:
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
        return [Finding("error", "Redis", says)]
    return [Finding("ok", "Redis", f"{_REDIS_KINDS[kind]} is reachable")]


def _countries(settings: Settings) -> list[Finding]:
    from kurz.outbound.geo import check_countries

    try:
        check_countries(settings.geoip_db)
    except KurzError as error:
        return [Finding("error", "countries", error.detail)]
    return []


def _lists(settings: Settings) -> list[Finding]:
    """Whether all lists can be read, and those who serve have what they say."""
    from kurz.guarding import open_shelf
    from kurz.safety.lists_file import FILE_NAME

    shelf = open_shelf(settings)
    if shelf.sources.is_empty:
        return []
    found = shelf.lists
    if found is None:
        return [Finding("error", "lists", "the lists could not be compiled")]
    findings = [
        Finding(
            "error",
            "lists",
            f"{state.path} cannot be read ({state.problem}). Visitors of new links see a"
            " warning until it can.",
        )
        if state.problem is not None
        else Finding("warning", "lists", f"{state.path} has no rules")
        for state in found.sources
        if state.problem is not None or not state.rules
    ]
    compiled = settings.screening_dir / FILE_NAME
    if not shelf.is_kept and compiled.exists():
        says = (
            f"{compiled} is out of date. kurz serve notices changed files within seconds, and"
            " changed settings on SIGHUP."
        )
        findings.append(Finding("warning", "lists", says))
    return findings or [Finding("ok", "lists", f"{found.hosts:,} hosts and URLs")]


def _archive(settings: Settings) -> list[Finding]:
    if settings.archive is None:
        return []
    import asyncio

    from kurz.archiving import open_files

    async def check() -> None:
        files = open_files(settings)
        if files is not None:
            await files.check()

    try:
        asyncio.run(check())
    except KurzError as error:
        return [Finding("error", "archive", error.detail)]
    return [Finding("ok", "archive", f"{settings.archive} is usable")]


def _checks(settings: Settings) -> list[Finding]:
    if settings.destination_checks == "on":
        return []
    return [Finding("ok", "checks", "off: destinations are not checked")]


def _base_url(settings: Settings) -> Finding:
    if settings.base_url is None:
        return Finding(
            "warning",
            "base URL",
            "KURZ_BASE_URL is not set. Short URLs use the host of each request, and requests"
            " for any host are answered.",
        )
    pages = f", the dashboard at {settings.dashboard_url}" if settings.dashboard_url else ""
    return Finding("ok", "base URL", settings.base_url + pages)


def _print(findings: list[Finding], loaded: Loaded) -> None:
    width = max(len(item.about) for item in findings)
    for item in findings:
        mark, colour = _MARKS[item.verdict]
        typer.echo(f"{typer.style(mark, fg=colour)} {item.about:<{width}}  {item.says}")
    typer.echo("\nSettings that differ from their defaults:")
    differing = {name: item for name, item in shown(loaded).items() if item["source"] != "default"}
    for name, given in differing.items():
        typer.echo(f"  {variable(name):<28} {given['value']}  (from {given['source']})")
    if not differing:
        typer.echo("  none")


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, timedelta):
        return show_duration(value)
    return value if isinstance(value, (int, str, type(None))) else str(value)
