"""Settings → engine → services. The one place that names an engine."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kurz.clicks.reports import Reports
from kurz.clock import Clock, SteadyClock, SystemClock
from kurz.errors import SettingRefused
from kurz.guarding import open_screen, refresh_screen
from kurz.links.availability import Availability
from kurz.links.codes import random
from kurz.links.codes.counter import CounterCodes, Scramble
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.floors import Floors
from kurz.links.minting import Mint
from kurz.links.model import Strategy
from kurz.links.retention import PRESETS, Ended, Retention, without_archive
from kurz.links.service import LinkService
from kurz.links.tagging import Tagging
from kurz.links.transfers import LinkExporter, LinkImporter
from kurz.links.trash import Trash
from kurz.people.accounts import AccountService
from kurz.people.domains import Domains
from kurz.people.errors import EmailRefused, EmailTaken, PasswordRefused
from kurz.people.keys import KeyService
from kurz.people.own_hosts import OwnHosts
from kurz.people.passes import Passes
from kurz.people.passwords import Passwords
from kurz.people.teams import Teams
from kurz.safety.banning import Bans
from kurz.safety.hosts import BannedHosts
from kurz.safety.reporting import AbuseReports
from kurz.safety.screening import ListScreen
from kurz.setting_values import NEVER
from kurz.settings import Settings
from kurz.sharing import Shared, open_shared
from kurz.storage.accounts import SqlAccountStore
from kurz.storage.audit import SqlAuditStore
from kurz.storage.ban_list import SqlBanStore
from kurz.storage.bans import SqlLinkBanStore
from kurz.storage.bulk import SqlBulkStore
from kurz.storage.click_reports import SqlReportStore
from kurz.storage.database import Database
from kurz.storage.installation import LeasedCounter, keep_key
from kurz.storage.keys import SqlKeyStore
from kurz.storage.leases import SqlLeaseStore
from kurz.storage.links import SqlLinkStore
from kurz.storage.migrate import Migrations
from kurz.storage.passes import SqlPassStore
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.purging import SqlTrashStore
from kurz.storage.reports import SqlAbuseStore
from kurz.storage.salts import SqlSaltStore
from kurz.storage.sqlite import SqliteDatabase
from kurz.storage.tags import SqlTagStore
from kurz.storage.timekeeper import TimeKeeper
from kurz.storage.turns import Turns
from kurz.storage.workspaces import SqlWorkspaceStore
from kurz.transfer.codes import RowCodes
from kurz.transfer.exporting import Exporter
from kurz.transfer.importing import Importer

if TYPE_CHECKING:
    from kurz.people.custom_domains import CustomDomains
    from kurz.storage.patience import Deadlines
    from kurz.storage.replicas import Replicas

# For each connection of a background process, which has two for writing and four for reading.
BACKGROUND_CACHE_KIB = 4 * 1024
LOOK_UP_CONNECTIONS = 2  # one of which is kept
START_TOGETHER = timedelta(minutes=1)  # the set-up link of each such instance works
PUBLIC_IDS = 2**53  # what a JavaScript number holds exactly


@dataclass(frozen=True)
class Kurz:
    """The parts of a running kurz."""

    settings: Settings
    clock: Clock
    database: Database
    shared: Shared
    replicas: "Replicas | None"
    store: SqlLinkStore
    workspaces: SqlWorkspaceStore
    domains: Domains
    domain_key: bytes
    screen: ListScreen
    links: LinkService
    availability: Availability
    trash: Trash
    tagging: Tagging
    reports: Reports
    account_store: SqlAccountStore
    accounts: AccountService
    passes: Passes
    keys: KeyService
    teams: Teams
    exporter: LinkExporter
    importer: LinkImporter
    audit: SqlAuditStore
    banned_hosts: BannedHosts
    bans: Bans
    abuse: AbuseReports


@asynccontextmanager
async def open_kurz(
    settings: Settings,
    clock: Clock | None = None,
    passwords: Passwords | None = None,
    *,
    server_clock: SteadyClock | None = None,
    is_background: bool = False,
) -> AsyncIterator[Kurz]:
    """The parts over a database whose schema fits (`prepare` makes it so). Without a clock, they
    have one that is kept right: the server's, which its other processes go by too, or a new one.
    `is_background`: nobody waits for this process, so it takes less memory."""
    passwords = passwords or Passwords()
    database = open_database(settings, is_background=is_background)
    async with AsyncExitStack() as closing:
        closing.callback(passwords.close)
        closing.push_async_callback(database.close)
        with patience(LIST_SECONDS):  # it has to connect first
            await database.read(Migrations().check)
        if clock is None:
            clock = await closing.enter_async_context(_open_clock(settings, database, server_clock))
        code_key = await keep_key(database, "code-key")
        id_key = await keep_key(database, "id-key")
        shared = await closing.enter_async_context(open_shared(settings, database, id_key, clock))
        replicas = open_replicas(settings, database, shared.floors)
        if replicas is not None:
            closing.push_async_callback(replicas.close)
        store = SqlLinkStore(database, replicas, None if settings.is_embedded else Turns())
        workspaces = SqlWorkspaceStore(database)
        domains = Domains(workspaces)
        ids = Permutation(id_key, PUBLIC_IDS, purpose=b"id-v1")
        own_hosts = OwnHosts(settings.base_url, domains, settings.dashboard_url)
        bulk = SqlBulkStore(database)
        retention = retention_of(settings)
        ban_store, audit = SqlBanStore(database), SqlAuditStore(database, clock)
        banned_hosts = BannedHosts(ban_store)
        await banned_hosts.refresh()
        screen = open_screen(settings, banned_hosts)
        links = LinkService(
            store,
            _mint(settings, database, code_key),
            _drafting(settings),
            ids,
            own_hosts,
            clock,
            retention if settings.archive is not None else without_archive(retention),
            screen,
        )
        account_store = SqlAccountStore(database, clock)
        pass_store = SqlPassStore(database)
        accounts = AccountService(
            account_store,
            pass_store,
            passwords,
            clock,
            is_open=settings.access == "public",
        )
        bans = Bans(
            links,
            accounts,
            SqlLinkBanStore(database),
            ban_store,
            banned_hosts,
            screen,
            audit,
            SqlLeaseStore(database, clock),
            clock,
        )
        yield Kurz(
            settings,
            clock,
            database,
            shared,
            replicas,
            store,
            workspaces,
            domains,
            # Not derived from the secret: with another key, every domain would have to be proved
            # again.
            await keep_key(database, "domain-key"),
            screen,
            links,
            Availability(store, clock),
            Trash(links, SqlTrashStore(database, settings.code_quarantine), clock),
            Tagging(SqlTagStore(database), clock),
            Reports(SqlReportStore(database)),
            account_store,
            accounts,
            Passes(pass_store, clock),
            KeyService(SqlKeyStore(database), clock),
            Teams(workspaces, account_store, clock),
            Exporter(bulk, clock),
            Importer(
                bulk,
                RowCodes(code_key, settings.code_length),
                own_hosts,
                clock,
                screen,
                partial(refresh_screen, screen, banned_hosts),
            ),
            audit,
            banned_hosts,
            bans,
            AbuseReports(
                SqlAbuseStore(database), store, SqlSaltStore(database), bans, audit, clock
            ),
        )


async def prepare(settings: Settings, *, upgrades_postgres: bool) -> Path | None:
    """Makes or upgrades the schema, and returns the backup made before. An existing schema on
    PostgreSQL is only upgraded by `kurz migrate`: other instances may still need the old one."""
    migrations = Migrations()
    if settings.database_url is None:
        now = SystemClock().now()
        try:
            settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            return migrations.upgrade_sqlite(settings.database_path, settings.backup_dir, now)
        except OSError as error:
            raise SettingRefused(
                f"The data folder {settings.data_dir} cannot be used: {error.strerror}. Check"
                " its permissions, or set KURZ_DATA_DIR to another folder."
            ) from None
    from kurz.storage.postgres import PostgresDatabase

    database = PostgresDatabase(settings.database_url)
    try:
        await migrations.upgrade_postgres(database, only_if_empty=not upgrades_postgres)
    finally:
        await database.close()
    return None


@asynccontextmanager
async def _open_clock(
    settings: Settings, database: Database, server_clock: SteadyClock | None
) -> AsyncIterator[Clock]:
    clock = server_clock or SteadyClock()
    keeper = TimeKeeper(clock, None if settings.is_embedded else database)
    await keeper.start(is_new=server_clock is None)
    try:
        yield clock
    finally:
        await keeper.stop()


def open_database(settings: Settings, *, is_background: bool = False) -> Database:
    if settings.database_url is not None:
        from kurz.storage.postgres import PostgresDatabase

        return PostgresDatabase(
            settings.database_url,
            deadlines=_deadlines(settings),
            # Without those that are for look-ups of redirects alone.
            pool_size=settings.database_connections - LOOK_UP_CONNECTIONS,
            kept_idle=settings.database_idle_connections - 1,
        )
    if settings.database_replica_urls:
        raise SettingRefused("KURZ_DATABASE_REPLICA_URLS requires KURZ_DATABASE_URL.")
    if not settings.database_path.exists():
        raise SettingRefused(
            f"There is no kurz database in {settings.data_dir}. Start `kurz serve` with this"
            " folder first, or set KURZ_DATA_DIR to the right folder."
        )
    if is_background:
        return SqliteDatabase(settings.database_path, cache_kib=BACKGROUND_CACHE_KIB)
    return SqliteDatabase(settings.database_path)


@asynccontextmanager
async def open_followers_database(kurz: Kurz) -> AsyncIterator[Database]:
    """For followers of the change log. What they write is derived from the links, and after a power
    loss they continue from their stored position. They therefore do not wait for the disk, which
    took most of their time on SQLite."""
    if not kurz.settings.is_embedded:
        yield kurz.database
        return
    database = SqliteDatabase(
        kurz.settings.database_path, cache_kib=BACKGROUND_CACHE_KIB, is_synced=False
    )
    try:
        yield database
    finally:
        await database.close()


def open_replicas(settings: Settings, database: Database, floors: Floors) -> "Replicas | None":
    if not settings.database_replica_urls:
        return None
    from kurz.storage.replicas import Replica, Replicas

    deadlines = _deadlines(settings)
    members = [Replica(url, deadlines) for url in settings.database_replica_urls]
    return Replicas(members, database, floors)


def _deadlines(settings: Settings) -> "Deadlines":
    from kurz.storage.patience import Deadlines

    return Deadlines(
        look_up_seconds=settings.database_look_up_milliseconds / 1000,
        write_seconds=settings.database_write_milliseconds / 1000,
    )


def open_custom_domains(kurz: Kurz) -> "CustomDomains":
    """Imported late: most commands do not ask name servers."""
    from kurz.outbound.dns import DnsTxtLookup
    from kurz.people.custom_domains import CustomDomains
    from kurz.storage.domains import SqlDomainStore

    return CustomDomains(
        SqlDomainStore(kurz.database),
        DnsTxtLookup(kurz.settings.dns_servers),
        kurz.domains,
        kurz.clock,
        key=kurz.domain_key,
        base_url=kurz.settings.base_url,
        dashboard_url=kurz.settings.dashboard_url,
    )


def retention_of(settings: Settings) -> Retention:
    """The preset, but for what is set by itself."""
    chosen = {
        Ended.TEMPORARY: settings.retention_temporary,
        Ended.PERMANENT: settings.retention_permanent,
        Ended.SWEPT: settings.retention_swept,
        Ended.DELETED: settings.retention_deleted,
    }
    return {
        ended: rule
        if (after := chosen[ended]) is None
        else replace(rule, after=None if after == NEVER else after)
        for ended, rule in PRESETS[settings.retention].items()
    }


async def make_first_admin(kurz: Kurz) -> str | None:
    """Creates the administrator whom the settings name, if there is none yet. If there is still
    none after that, the token of a new set-up link."""
    settings = kurz.settings
    if settings.admin_email is not None and not await kurz.account_store.has_admin():
        if settings.admin_password is None:
            raise SettingRefused(
                "KURZ_ADMIN_EMAIL requires KURZ_ADMIN_PASSWORD_FILE or KURZ_ADMIN_PASSWORD."
            )
        try:
            await kurz.accounts.create_admin(settings.admin_email, settings.admin_password)
        except EmailTaken as error:
            # By another instance that starts at the same time? Else anybody may have registered it.
            if not await kurz.account_store.has_admin():
                raise SettingRefused(f"KURZ_ADMIN_EMAIL cannot be used. {error.detail}") from None
        except (EmailRefused, PasswordRefused) as error:
            raise SettingRefused(
                f"KURZ_ADMIN_EMAIL or KURZ_ADMIN_PASSWORD cannot be used. {error.detail}"
            ) from None
    if not await kurz.accounts.needs_set_up():
        return None
    token, _ = await kurz.passes.make_setup(spared=START_TOGETHER)
    return token


def _mint(settings: Settings, database: Database, key: bytes) -> Mint:
    counted = CounterCodes(key, settings.code_length, cast("Scramble", settings.counter_scramble))
    return Mint(
        root_strategy=Strategy(settings.code_strategy),
        random_code=partial(random.generate, settings.code_length),
        counted_code=counted.code,
        counter=LeasedCounter(database),
    )


def _drafting(settings: Settings) -> Drafting:
    days = settings.default_expiry_days
    return Drafting(
        temporary_life=timedelta(hours=settings.temporary_link_hours),
        default_life=timedelta(days=days) if days else None,
        redirect_status=settings.redirect_status,
    )
