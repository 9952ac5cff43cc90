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
from kurz.links.model import Strategy
from kurz.links.service import LinkService
from kurz.people.domains import Domains
from kurz.people.own_hosts import OwnHosts
from kurz.settings import Settings
from kurz.storage.database import Database
from kurz.storage.installation import LeasedCounter, keep_key
from kurz.storage.links import SqlLinkStore
from kurz.storage.migrate import Migrations
from kurz.storage.sqlite import SqliteDatabase
from kurz.storage.workspaces import SqlWorkspaceStore

if TYPE_CHECKING:
    from kurz.server.app import App

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
    links: LinkService


@asynccontextmanager
async def open_kurz(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Kurz]:
    """The parts over a database whose schema fits (`prepare` makes it so)."""
    clock = clock or SystemClock()
    database = open_database(settings)
    try:
        await database.read(Migrations().check)
        code_key = await keep_key(database, "code-key")
        id_key = await keep_key(database, "id-key")
        store = SqlLinkStore(database)
        workspaces = SqlWorkspaceStore(database)
        domains = Domains(workspaces)
        ids = Permutation(id_key, PUBLIC_IDS, purpose=b"id-v1")
        links = LinkService(
            store,
            _mint(settings, database, code_key),
            _drafting(settings),
            ids,
            OwnHosts(settings.base_url, domains),
            clock,
        )
        yield Kurz(settings, clock, database, store, workspaces, domains, links)
    finally:
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


def create_app(kurz: Kurz) -> "App":
    from kurz.api.app import create_api
    from kurz.api.dependencies import Context
    from kurz.redirect.app import RedirectApp
    from kurz.server.app import App
    from kurz.server.hosts import Hosts
    from kurz.server.proxies import TrustedProxies

    settings = kurz.settings
    is_private = settings.access == "private"

    return App(
        api=create_api(Context(kurz.links, kurz.database.check, settings.base_url, is_private)),
        redirect=RedirectApp(
            kurz.store,
            kurz.workspaces,
            kurz.clock,
            base_url=settings.base_url,
            is_public=not is_private,
        ),
        hosts=Hosts(settings.base_url, kurz.domains),
        proxies=TrustedProxies(settings.trusted_proxies),
    )


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
