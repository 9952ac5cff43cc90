"""Settings → engine → services."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

from kurz.clicks.stats import Stats
from kurz.clock import Clock, SteadyClock
from kurz.errors import SettingRefused
from kurz.links.availability import Availability
from kurz.links.code_generator import CodeGenerator
from kurz.links.codes import random
from kurz.links.codes.counter import CounterCodes, Scramble
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.ending.retention import PRESETS, EndedKind, Retention, purged_at, without_archive
from kurz.links.ending.trash import Trash
from kurz.links.model import Link, Strategy
from kurz.links.service import LinkService
from kurz.links.tagging import Tagging
from kurz.people.accounts import AccountService, normalise_email
from kurz.people.domains import Domains
from kurz.people.errors import EmailRefused, EmailTaken, PasswordRefused
from kurz.people.keys import KeyService
from kurz.people.one_time_tokens import OneTimeTokens
from kurz.people.own_hosts import OwnHosts
from kurz.people.passwords import Passwords
from kurz.people.passwords import check as check_password
from kurz.people.teams import Teams
from kurz.safety.abuse_reporting import AbuseReports
from kurz.safety.banning import Bans
from kurz.safety.hosts import BannedHosts
from kurz.safety.screening import ListScreen
from kurz.services import Services
from kurz.settings.model import Settings
from kurz.settings.values import NEVER
from kurz.storage.clicks.salts import SqlSaltStore
from kurz.storage.clicks.stats import SqlStatsStore
from kurz.storage.ending.purging import SqlTrashStore
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.migrate import Migrations
from kurz.storage.followers.timekeeper import TimeKeeper
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.links.installation import LeasedCounter, load_or_create_key
from kurz.storage.links.store import SqlLinkStore
from kurz.storage.links.tags import SqlTagStore
from kurz.storage.people.accounts import SqlAccountStore
from kurz.storage.people.keys import SqlKeyStore
from kurz.storage.people.one_time_tokens import SqlOneTimeTokenStore
from kurz.storage.people.workspaces import SqlWorkspaceStore
from kurz.storage.safety.abuse_reports import SqlAbuseStore
from kurz.storage.safety.audit import SqlAuditStore
from kurz.storage.safety.ban_list import SqlBanStore
from kurz.storage.safety.bans import SqlLinkBanStore
from kurz.transfer.codes import RowCodes
from kurz.transfer.exporting import Exporter
from kurz.transfer.importing import Importer
from kurz.wiring.engine import Engine
from kurz.wiring.screen import open_screen, refresh_screen
from kurz.wiring.shared import Shared, open_shared

if TYPE_CHECKING:
    from kurz.people.custom_domains import CustomDomains
    from kurz.storage.routes.replicas import Replicas

START_TOGETHER = timedelta(minutes=1)  # the set-up link of each such instance works
PUBLIC_IDS = 2**53  # what a JavaScript number holds exactly


@dataclass(frozen=True, kw_only=True)
class Kurz(Services):
    """The services of a running kurz, and what they are built on."""

    settings: Settings
    engine: Engine
    database: Database
    shared: Shared
    replicas: "Replicas | None"
    store: SqlLinkStore
    workspaces: SqlWorkspaceStore
    account_store: SqlAccountStore
    domain_key: bytes
    id_key: bytes  # of the installation: made once, and in every backup of the database
    screen: ListScreen
    banned_hosts: BannedHosts


@asynccontextmanager
async def open_kurz(
    settings: Settings,
    clock: Clock | None = None,
    passwords: Passwords | None = None,
    *,
    server_clock: SteadyClock | None = None,
    is_background: bool = False,
) -> AsyncIterator[Kurz]:
    """The parts over a database with the right schema (`prepare` ensures that). Without a clock,
    they get one that is kept correct: the server's, which its other processes share, or a new one.
    `is_background`: nobody waits for this process, so it uses less memory and CPU time."""
    passwords = passwords or Passwords()
    engine = Engine(settings)
    database = engine.open_database(is_background=is_background)
    async with AsyncExitStack() as closing:
        closing.callback(passwords.close)
        closing.push_async_callback(database.close)
        with deadline(LIST_SECONDS):  # it must connect first
            await database.read(Migrations().check)
        if clock is None:
            source = engine.time_source(database)
            clock = await closing.enter_async_context(_open_clock(source, server_clock))
        id_key = await load_or_create_key(database, "id-key")
        shared = await closing.enter_async_context(
            open_shared(engine, database, id_key, clock, is_background=is_background)
        )
        replicas = engine.open_replicas(database, shared.recent_writes)
        if replicas is not None:
            closing.push_async_callback(replicas.close)
        yield await _assemble(engine, database, clock, shared, replicas, passwords, id_key)


async def _assemble(
    engine: Engine,
    database: Database,
    clock: Clock,
    shared: Shared,
    replicas: "Replicas | None",
    passwords: Passwords,
    id_key: bytes,
) -> Kurz:
    """The services, over what is open."""
    settings = engine.settings
    code_key = await load_or_create_key(database, "code-key")
    # Not derived from the secret: with another key, every domain would have to be proved again.
    domain_key = await load_or_create_key(database, "domain-key")
    banned_hosts = await _banned_hosts(database)
    store = SqlLinkStore(database, replicas, engine.quota_turns())
    workspaces = SqlWorkspaceStore(database)
    domains = Domains(workspaces)
    own_hosts = OwnHosts(settings.base_url, domains, settings.dashboard_url)
    screen = open_screen(settings, banned_hosts)
    generator = _code_generator(settings, database, code_key)
    links = _link_service(settings, store, generator, id_key, own_hosts, clock, screen)
    account_store, token_store = SqlAccountStore(database, clock), SqlOneTimeTokenStore(database)
    is_open = settings.access == "public"
    accounts = AccountService(account_store, token_store, passwords, clock, is_open=is_open)
    audit, leases = SqlAuditStore(database, clock), SqlLeaseStore(database, clock)
    link_bans, bulk = SqlLinkBanStore(database), SqlBulkStore(database)
    bans = Bans(links, accounts, link_bans, banned_hosts, screen, audit, leases, clock)
    refresh = partial(refresh_screen, screen, banned_hosts)
    codes, salts = RowCodes(code_key, settings.code_length), SqlSaltStore(database)
    return Kurz(
        settings=settings,
        engine=engine,
        clock=clock,
        database=database,
        shared=shared,
        replicas=replicas,
        store=store,
        workspaces=workspaces,
        domains=domains,
        domain_key=domain_key,
        id_key=id_key,
        screen=screen,
        links=links,
        availability=Availability(store, clock),
        trash=Trash(links, SqlTrashStore(database, settings.code_quarantine), clock),
        tagging=Tagging(SqlTagStore(database), clock),
        stats=Stats(SqlStatsStore(database)),
        account_store=account_store,
        accounts=accounts,
        one_time_tokens=OneTimeTokens(token_store, clock),
        keys=KeyService(SqlKeyStore(database), clock),
        teams=Teams(workspaces, account_store, clock),
        exporter=Exporter(bulk, store, clock),
        importer=Importer(bulk, codes, own_hosts, clock, screen, refresh),
        audit=audit,
        banned_hosts=banned_hosts,
        bans=bans,
        abuse=AbuseReports(SqlAbuseStore(database), store, salts, bans, audit, clock),
    )


@asynccontextmanager
async def _open_clock(
    source: Database | None, server_clock: SteadyClock | None
) -> AsyncIterator[Clock]:
    clock = server_clock or SteadyClock()
    keeper = TimeKeeper(clock, source)
    await keeper.start(is_new=server_clock is None)
    try:
        yield clock
    finally:
        await keeper.stop()


def open_custom_domains(kurz: Kurz) -> "CustomDomains":
    """Imported late: most commands do not ask name servers."""
    from kurz.outbound.dns import DnsTxtLookup
    from kurz.people.custom_domains import CustomDomains
    from kurz.storage.people.domains import SqlDomainStore

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
    """The preset, with the rules that are set individually."""
    chosen = {
        EndedKind.TEMPORARY: settings.retention_temporary,
        EndedKind.PERMANENT: settings.retention_permanent,
        EndedKind.SWEPT: settings.retention_swept,
        EndedKind.DELETED: settings.retention_deleted,
    }
    return {
        ended: rule
        if (after := chosen[ended]) is None
        else replace(rule, after=None if after == NEVER else after)
        for ended, rule in PRESETS[settings.retention].items()
    }


def _purged_at(settings: Settings) -> Callable[[Link], datetime | None]:
    retention = retention_of(settings)
    has_archive = settings.archive is not None
    return partial(purged_at, retention=retention if has_archive else without_archive(retention))


async def make_first_admin(kurz: Kurz) -> str | None:
    """Creates the administrator that the settings name, if there is none yet. Returns the token of
    a new set-up link if there is still none."""
    settings = kurz.settings
    if settings.admin_email is not None and not await kurz.account_store.has_admin():
        email, password = check_first_admin(settings.admin_email, settings.admin_password)
        try:
            await kurz.accounts.create_admin(email, password)
        except EmailTaken as error:
            # Another instance that starts at the same time may have created it; otherwise a
            # stranger may have registered it.
            if not await kurz.account_store.has_admin():
                raise SettingRefused(f"KURZ_ADMIN_EMAIL cannot be used. {error.detail}") from None
    if not await kurz.accounts.needs_set_up():
        return None
    token, _ = await kurz.one_time_tokens.make_setup(spared=START_TOGETHER)
    return token


def check_first_admin(email: str, password: str | None) -> tuple[str, str]:
    """What the administrator is created with. Raises `SettingRefused`."""
    if password is None:
        raise SettingRefused(
            "KURZ_ADMIN_EMAIL requires KURZ_ADMIN_PASSWORD_FILE or KURZ_ADMIN_PASSWORD."
        )
    try:
        check_password(password, normalise_email(email))
    except (EmailRefused, PasswordRefused) as error:
        raise SettingRefused(
            f"KURZ_ADMIN_EMAIL or KURZ_ADMIN_PASSWORD cannot be used. {error.detail}"
        ) from None
    return email, password


async def find_root_workspace_id(settings: Settings, workspaces: SqlWorkspaceStore) -> int | None:
    """None: the root belongs to everybody. Raises `SettingRefused`."""
    slug = settings.root_workspace
    if slug is None:
        return None
    workspace = await workspaces.find_by_slug(slug)
    if workspace is None:
        raise no_root_workspace(slug)
    return workspace.id


def no_root_workspace(slug: str) -> SettingRefused:
    return SettingRefused(
        f"KURZ_ROOT_WORKSPACE: there is no workspace “{slug}”. Create it first: kurz admin"
        f" workspace create {slug} --owner …"
    )


async def _banned_hosts(database: Database) -> BannedHosts:
    found = BannedHosts(SqlBanStore(database))
    await found.refresh()
    return found


def _link_service(
    settings: Settings,
    store: SqlLinkStore,
    generator: CodeGenerator,
    id_key: bytes,
    own_hosts: OwnHosts,
    clock: Clock,
    screen: ListScreen,
) -> LinkService:
    return LinkService(
        store,
        generator,
        _drafting(settings),
        Permutation(id_key, PUBLIC_IDS, purpose=b"id-v1"),
        own_hosts,
        clock,
        screen,
        _purged_at(settings),
    )


def _code_generator(settings: Settings, database: Database, key: bytes) -> CodeGenerator:
    counted = CounterCodes(key, settings.code_length, cast("Scramble", settings.counter_scramble))
    return CodeGenerator(
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
