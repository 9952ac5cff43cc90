"""Settings → engine → services. The one place that names an engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kurz.clock import Clock, SystemClock
from kurz.errors import SettingRefused
from kurz.links.codes import random
from kurz.links.codes.counter import CounterCodes, Scramble
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.minting import Mint
from kurz.links.model import ROOT_WORKSPACE_ID, Strategy
from kurz.links.service import LinkService
from kurz.links.tagging import Tagging
from kurz.links.transfers import LinkExporter, LinkImporter
from kurz.people.accounts import AccountService
from kurz.people.domains import Domains
from kurz.people.errors import EmailRefused, EmailTaken, PasswordRefused
from kurz.people.keys import KeyService
from kurz.people.own_hosts import OwnHosts
from kurz.people.passes import Passes
from kurz.people.passwords import Passwords
from kurz.people.teams import Teams
from kurz.settings import Settings
from kurz.storage.accounts import SqlAccountStore
from kurz.storage.bulk import SqlBulkStore
from kurz.storage.database import Database
from kurz.storage.installation import LeasedCounter, keep_key
from kurz.storage.keys import SqlKeyStore
from kurz.storage.links import SqlLinkStore
from kurz.storage.migrate import Migrations
from kurz.storage.passes import SqlPassStore
from kurz.storage.sqlite import SqliteDatabase
from kurz.storage.tags import SqlTagStore
from kurz.storage.workspaces import SqlWorkspaceStore
from kurz.transfer.codes import RowCodes
from kurz.transfer.exporting import Exporter
from kurz.transfer.importing import Importer

if TYPE_CHECKING:
    from kurz.api.dependencies import Context
    from kurz.people.limits import Limits
    from kurz.server.app import App

DATABASE_PATIENCE_SECONDS = 0.5  # for a limit that is kept in the database
PUBLIC_IDS = 2**53  # what a JavaScript number holds exactly


@dataclass(frozen=True)
class Kurz:
    """The parts of a running kurz."""

    settings: Settings
    clock: Clock
    database: Database
    store: SqlLinkStore
    workspaces: SqlWorkspaceStore
    domains: Domains
    domain_key: bytes
    links: LinkService
    tagging: Tagging
    account_store: SqlAccountStore
    accounts: AccountService
    passes: Passes
    keys: KeyService
    teams: Teams
    exporter: LinkExporter
    importer: LinkImporter


@asynccontextmanager
async def open_kurz(
    settings: Settings, clock: Clock | None = None, passwords: Passwords | None = None
) -> AsyncIterator[Kurz]:
    """The parts over a database whose schema fits (`prepare` makes it so)."""
    clock = clock or SystemClock()
    passwords = passwords or Passwords()
    database = open_database(settings)
    try:
        await database.read(Migrations().check)
        code_key = await keep_key(database, "code-key")
        id_key = await keep_key(database, "id-key")
        store = SqlLinkStore(database)
        workspaces = SqlWorkspaceStore(database)
        domains = Domains(workspaces)
        ids = Permutation(id_key, PUBLIC_IDS, purpose=b"id-v1")
        own_hosts = OwnHosts(settings.base_url, domains)
        bulk = SqlBulkStore(database)
        links = LinkService(
            store,
            _mint(settings, database, code_key),
            _drafting(settings),
            ids,
            own_hosts,
            clock,
        )
        account_store = SqlAccountStore(database, clock)
        pass_store = SqlPassStore(database)
        yield Kurz(
            settings,
            clock,
            database,
            store,
            workspaces,
            domains,
            # Not derived from the secret: with another key, every domain would have to be proved
            # again.
            await keep_key(database, "domain-key"),
            links,
            Tagging(SqlTagStore(database), clock),
            account_store,
            AccountService(
                account_store,
                pass_store,
                passwords,
                clock,
                is_open=settings.access == "public",
                first_is_admin=settings.is_local,
            ),
            Passes(pass_store, clock),
            KeyService(SqlKeyStore(database), clock),
            Teams(workspaces, account_store, clock),
            Exporter(bulk, clock),
            Importer(bulk, RowCodes(code_key, settings.code_length), own_hosts, clock),
        )
    finally:
        passwords.close()
        await database.close()


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
                f"The data folder {settings.data_dir} cannot be used: {error.strerror}."
            ) from None
    from kurz.storage.postgres import PostgresDatabase

    database = PostgresDatabase(settings.database_url, query_seconds=None)
    try:
        await migrations.upgrade_postgres(database, only_if_empty=not upgrades_postgres)
    finally:
        await database.close()
    return None


def open_database(settings: Settings) -> Database:
    if settings.database_url is not None:
        from kurz.storage.postgres import PostgresDatabase

        return PostgresDatabase(settings.database_url)
    if not settings.database_path.exists():
        raise SettingRefused(
            f"There is no kurz database in {settings.data_dir}. Start `kurz serve` there first, or"
            " point KURZ_DATA_DIR to the folder you mean."
        )
    return SqliteDatabase(settings.database_path)


@asynccontextmanager
async def open_app(kurz: Kurz) -> AsyncIterator["App"]:
    """The application over these parts, with what only a server needs."""
    from kurz.api.app import create_api
    from kurz.api.callers import is_member
    from kurz.redirect.app import RedirectApp
    from kurz.server.app import App
    from kurz.server.hosts import Hosts
    from kurz.server.proxies import TrustedProxies

    settings = kurz.settings
    root_workspace_id = await _root_workspace_id(kurz)
    async with _limits(kurz) as limits, _search(kurz):
        context = _context(kurz, limits, root_workspace_id)
        yield App(
            api=create_api(context),
            redirect=RedirectApp(
                kurz.store,
                kurz.workspaces,
                kurz.clock,
                limits,
                base_url=settings.base_url,
                is_public=settings.access == "public",
                is_member=partial(is_member, identity=context.identity),
            ),
            hosts=Hosts(settings.base_url, kurz.domains, root_workspace_id or ROOT_WORKSPACE_ID),
            proxies=TrustedProxies(settings.trusted_proxies),
        )


async def make_first_admin(kurz: Kurz) -> str | None:
    """The administrator whom the settings name, if there is none yet. Where there is none after
    that, and registering makes none, the token of a set-up link."""
    settings = kurz.settings
    if settings.admin_email is not None and not await kurz.account_store.has_admin():
        if settings.admin_password is None:
            raise SettingRefused("KURZ_ADMIN_EMAIL needs KURZ_ADMIN_PASSWORD_FILE beside it.")
        try:
            await kurz.accounts.create_admin(settings.admin_email, settings.admin_password)
        except EmailTaken:  # anybody may have registered it: that proves nothing
            raise SettingRefused(
                "KURZ_ADMIN_EMAIL has an account already, and it is no administrator's. If it is"
                " the right person's: kurz admin promote " + settings.admin_email
            ) from None
        except (EmailRefused, PasswordRefused) as error:
            raise SettingRefused(
                f"KURZ_ADMIN_EMAIL or KURZ_ADMIN_PASSWORD cannot be used. {error.detail}"
            ) from None
    if not await kurz.accounts.needs_set_up():
        return None
    token, _ = await kurz.passes.make_setup()
    return token


def _context(kurz: Kurz, limits: "Limits", root_workspace_id: int | None) -> "Context":
    from kurz.api.dependencies import Context
    from kurz.api.idempotency import Receipts
    from kurz.links.totals import RecentTotals
    from kurz.outbound.dns import DnsTxtLookup
    from kurz.people.custom_domains import CustomDomains
    from kurz.people.identity import Identity
    from kurz.people.keyring import Keyring
    from kurz.people.tokens import Tokens
    from kurz.secret import keep_secret
    from kurz.storage.domains import SqlDomainStore
    from kurz.storage.receipts import SqlReceiptStore
    from kurz.storage.totals import SqlTotalsStore

    settings, database, clock = kurz.settings, kurz.database, kurz.clock
    keyring = Keyring(keep_secret(settings))
    tokens = Tokens(keyring.key("tokens"), clock)
    return Context(
        links=kurz.links,
        tagging=kurz.tagging,
        totals=RecentTotals(SqlTotalsStore(database, clock)),
        exporter=kurz.exporter,
        importer=kurz.importer,
        accounts=kurz.accounts,
        tokens=tokens,
        identity=Identity(tokens, kurz.account_store, kurz.keys, clock),
        keys=kurz.keys,
        passes=kurz.passes,
        teams=kurz.teams,
        workspaces=kurz.workspaces,
        custom_domains=CustomDomains(
            SqlDomainStore(database),
            DnsTxtLookup(settings.dns_servers),
            kurz.domains,
            clock,
            key=kurz.domain_key,
            base_url=settings.base_url,
        ),
        domains=kurz.domains,
        limits=limits,
        receipts=Receipts(SqlReceiptStore(database), keyring.key("receipts"), clock),
        clock=clock,
        check_store=database.check,
        base_url=settings.base_url,
        is_private=settings.access == "private",
        links_per_month=settings.links_per_month,
        root_strategy=Strategy(settings.code_strategy),
        redirect_status=settings.redirect_status,
        root_workspace_id=root_workspace_id,
    )


async def _root_workspace_id(kurz: Kurz) -> int | None:
    slug = kurz.settings.root_workspace
    if slug is None:
        return None
    workspace = await kurz.workspaces.find_by_slug(slug)
    if workspace is None:
        raise SettingRefused(
            f"KURZ_ROOT_WORKSPACE names no workspace: {slug}. Make it first:"
            f" kurz admin workspace create {slug} --owner …"
        )
    return workspace.id


@asynccontextmanager
async def _search(kurz: Kurz) -> AsyncIterator[None]:
    """On SQLite the text of links is indexed behind their writes."""
    if not kurz.settings.is_embedded:
        yield
        return
    from kurz.storage.indexer import SearchIndexer

    indexer = SearchIndexer(kurz.database)
    indexer.start()
    try:
        yield
    finally:
        await indexer.stop()


@asynccontextmanager
async def _limits(kurz: Kurz) -> AsyncIterator["Limits"]:
    """In Redis, if there is one. On PostgreSQL several instances may serve, so without Redis they
    share the limits of sign-ins and creates there; others are not worth a write. Else in memory."""
    from kurz.people.limits import (
        WORTH_A_WRITE,
        ChosenLimits,
        FallbackLimits,
        Limits,
        MemoryLimits,
        NullLimits,
    )

    settings = kurz.settings
    if settings.rate_limits == "off":
        yield NullLimits()
        return
    local = MemoryLimits()
    if settings.redis_url is not None:
        from kurz.cache.limits import RedisLimits

        redis = RedisLimits(settings.redis_url)
        try:
            yield Limits(FallbackLimits(redis, local))
        finally:
            await redis.close()
        return
    if not settings.is_embedded:
        from kurz.storage.limits import SqlLimits

        shared_store = SqlLimits(kurz.database, kurz.clock)
        shared = FallbackLimits(shared_store, local, patience_seconds=DATABASE_PATIENCE_SECONDS)
        yield Limits(ChosenLimits(shared, local, WORTH_A_WRITE))
        return
    yield Limits(local)


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
