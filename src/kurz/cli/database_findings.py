"""What `kurz doctor` finds about the database and its replicas, and in the database."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from kurz.api.http.health import judge_backup
from kurz.cli import finding
from kurz.cli.clock_warning import clock_warning
from kurz.cli.finding import DoctorFinding
from kurz.clock import TOLERATED_NS, from_micros
from kurz.errors import KurzError, SettingRefused, StoreUnavailable
from kurz.jobs.backups import DAMAGED, LOOKED_AT, failure_of
from kurz.jobs.backups import JOB as BACKUPS
from kurz.jobs.clicks.journals import OWNER, JournalFolder
from kurz.links.ending.ports import JOB
from kurz.safety.checks import JOB as CHECKS
from kurz.scheduling import JobTotals, Run, RunOutcome
from kurz.settings.model import Settings
from kurz.storage.engine.database import Database
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.privileges import check_creating, check_writing
from kurz.storage.engine.schema_state import find_state
from kurz.storage.engine.space import FileSpace, measure_file
from kurz.storage.followers.timekeeper import ask_clock
from kurz.storage.jobs.last_written import last_written
from kurz.storage.jobs.runs import find_totals, last_runs
from kurz.storage.links.installation import find_key
from kurz.storage.people.accounts import has_admin
from kurz.storage.people.workspaces import SqlWorkspaceStore
from kurz.wiring.core import check_first_admin, find_root_workspace_id, no_root_workspace
from kurz.wiring.engine import Engine
from kurz.wiring.shared import namespace_of

MUCH_FREE_BYTES, MUCH_FREE_SHARE = 100 * 1024**2, 0.25  # of a database's file


def database(engine: Engine) -> list[DoctorFinding]:
    """Whether it answers and accepts writes, and what it says about the jobs."""
    try:
        if engine.is_there or engine.settings.database_replica_urls:
            return asyncio.run(_examine(engine))
        return [finding.warning("database", _missing(engine)), *_first_start(engine.settings)]
    except StoreUnavailable as error:
        return [finding.error("database", asyncio.run(engine.explain(error)).detail)]
    except KurzError as error:
        return [finding.error("database", error.detail)]


def _missing(engine: Engine) -> str:
    return (
        f"there is none in {engine.folder} yet. kurz serve creates it. If you expected one, set"
        " KURZ_DATA_DIR to its folder."
    )


async def _examine(engine: Engine) -> list[DoctorFinding]:
    opened = engine.open_database()
    try:
        if engine.settings.read_only != "on":
            await opened.check()
        unready = await _unready(engine, opened)
        if unready is not None:
            is_empty = await opened.read(find_state) is None
            return [unready, *(_first_start(engine.settings) if is_empty else [])]
        head = Migrations().head
        return [
            finding.ok("database", f"{engine.name} is reachable, schema {head}"),
            *await _content(engine, opened),
            *_journals(engine.settings, await opened.read(find_key, "id-key")),
            *await _root_workspace(engine.settings, opened),
            *([] if await opened.read(has_admin) else _nobody(engine.settings)),
        ]
    finally:
        await opened.close()


async def _unready(engine: Engine, opened: Database) -> DoctorFinding | None:
    """What `kurz serve` does before it starts, or that it refuses to."""
    state = await opened.read(find_state)
    if state is None:
        await opened.read(check_creating)
        says = f"{engine.name} is reachable, and empty. kurz serve creates the tables."
        return finding.warning("database", says)
    if engine.file is not None and state.newest < Migrations().head:
        says = (
            f"it has schema {state.newest}. kurz serve makes a copy in"
            f" {engine.settings.backup_dir}, then upgrades it to {Migrations().head}."
        )
        return finding.warning("database", says)
    await opened.read(Migrations().check)
    if engine.settings.read_only != "on":
        await opened.read(check_writing)
    return None


async def _content(engine: Engine, opened: Database) -> list[DoctorFinding]:
    found = await _clock_findings(engine, opened)
    if engine.folder is not None:
        found += _space(await opened.read(measure_file))
    if engine.settings.backup is not None and engine.settings.read_only != "on":
        totals = await opened.read(find_totals, BACKUPS)
        found += _backups(engine.settings, totals, await opened.read(last_runs, BACKUPS, LOOKED_AT))
    for job in (JOB, CHECKS):
        found += _skipped(job, await opened.read(last_runs, job, 1))
    return found


def _journals(settings: Settings, key: bytes | None) -> list[DoctorFinding]:
    """Whether those in the data folder are those of the installation with this key. Without one,
    the database is new, and journals that are there already are those of another."""
    folder = settings.journal_dir
    more = "They are not counted. Nor are new clicks. Move this folder away, then restart kurz."
    with suppress(OSError):  # of the data folder, which is another finding
        if not (folder / OWNER).exists():
            return []
        if key is None:
            says = f"The journals in {folder} belong to another database than this new one. {more}"
            return [finding.error("journals", says)]
        try:
            JournalFolder(folder, namespace_of(key), is_own=False).check()
        except SettingRefused as refusal:
            says = refusal.detail.replace("They are not counted.", more)
            return [finding.error("journals", says)]
    return []


def _first_start(settings: Settings) -> list[DoctorFinding]:
    """What the start with an empty database refuses."""
    slug = settings.root_workspace
    missing = [] if slug is None else [finding.error("settings", no_root_workspace(slug).detail)]
    administrator = [] if settings.admin_email is None else _nobody(settings)
    return [*_journals(settings, None), *missing, *administrator]


async def _root_workspace(settings: Settings, opened: Database) -> list[DoctorFinding]:
    try:
        await find_root_workspace_id(settings, SqlWorkspaceStore(opened))
    except SettingRefused as refusal:
        return [finding.error("settings", refusal.detail)]
    return []


def _nobody(settings: Settings) -> list[DoctorFinding]:
    """There is no administrator."""
    if settings.admin_email is None:
        hint = "there is none yet. Run: kurz admin setup-link, or kurz admin create ada@example.com"
        return [finding.warning("administrator", hint)]
    try:
        check_first_admin(settings.admin_email, settings.admin_password)
    except SettingRefused as refusal:
        return [finding.error("administrator", refusal.detail)]
    says = f"there is none yet. kurz serve creates {settings.admin_email}."
    return [finding.ok("administrator", says)]


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


def _backups(settings: Settings, totals: JobTotals, runs: Sequence[Run]) -> list[DoctorFinding]:
    """Whether the last scheduled backup is recent, and its links are as they were stored; and
    whether a newer one has failed."""
    good = next((run for run in runs if run.outcome is RunOutcome.DONE), None)
    last, now = totals.last_ended_at, datetime.now(UTC)
    failure = failure_of(runs)
    verdict = judge_backup(
        last,
        settings.backup_interval,
        now,
        has_failed=failure is not None,
        is_damaged=good is not None and good.counts.get(DAMAGED, 0) > 0,
    )
    failed = "" if failure is None else f" The last attempt failed: {failure}"
    place = settings.backup
    hours = 0.0 if last is None else (now - last).total_seconds() / 3600
    return [
        finding.judged(
            "backup",
            verdict,
            ok=f"the last backup in {place} is {hours:,.1f} hours old",
            none=f"no backup in {place} yet. kurz serve makes one after a minute.{failed}",
            old=f"the last backup in {place} is {hours:,.0f} hours old. Check the log.{failed}",
            failed=f"the last backup in {place} is {hours:,.1f} hours old.{failed}",
            damaged=f"the last backup in {place} has damaged links, so older ones are kept."
            " Run: kurz doctor --deep",
        )
    ]


def _skipped(job: str, runs: Sequence[Run]) -> list[DoctorFinding]:
    """Whether the last run of a job was skipped, and why."""
    return [
        finding.warning(job, f"the last run was skipped. {run.reason}")
        for run in runs[:1]
        if run.outcome is RunOutcome.SKIPPED
    ]


def replicas(engine: Engine) -> list[DoctorFinding]:
    """Whether each answers, and is a replica of this database. kurz also runs without them."""
    urls = engine.settings.database_replica_urls
    if not engine.has_tiers or not urls:
        return []

    async def examine_each() -> list[DoctorFinding]:
        primary = engine.open_database()
        opened = engine.open_replica_databases()
        try:
            try:
                key = await primary.read(find_key, "id-key")
            except KurzError:  # which is another finding; the replicas matter all the more
                key = None
            pairs = zip(urls, opened, strict=True)
            return [await _examine_replica(url, replica, key) for url, replica in pairs]
        finally:
            for database in (primary, *opened):
                await database.close()

    return asyncio.run(examine_each())


async def _examine_replica(url: str, replica: Database, key: bytes | None) -> DoctorFinding:
    from kurz.storage.engine.diagnosis import REPLICAS, where_all, why_unusable
    from kurz.storage.routes.replicas import is_following

    instead = "kurz uses the primary instead."
    place = where_all(url)
    try:
        follows = await replica.read(is_following)
        is_ours = key is None or not follows or await replica.read(find_key, "id-key") == key
    except KurzError as error:
        reason = await why_unusable(url, REPLICAS) or f"{place}: {error.detail}"
        return finding.warning("replica", f"{reason} {instead}")
    if not follows:
        says = f"{place} is not a standby. It may have been promoted. {instead}"
        return finding.warning("replica", says)
    if not is_ours:
        says = f"{place} is a standby of another database than the one in KURZ_DATABASE_URL."
        return finding.error("replica", f"{says} Remove it from {REPLICAS}.")
    return finding.ok("replica", f"{place} is reachable and replicating")
