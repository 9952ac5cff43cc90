"""Which engine runs, and everything that follows from it. No other module asks."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from kurz.clock import Clock, EarliestClock, SystemClock
from kurz.errors import SettingRefused, StoreBusy, StoreUnavailable
from kurz.feed.local import PipeWaker, is_anybody_listening
from kurz.feed.log import Waker
from kurz.freshness.recent_writes import RecentWrites
from kurz.settings.model import Settings
from kurz.storage.engine.changes import wake_listeners
from kurz.storage.engine.database import Database, P, Query, T
from kurz.storage.engine.deadlines import USUAL, Deadlines
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.sqlite import (
    BUSY_TIMEOUT_SECONDS,
    CACHE_KIB,
    SqliteDatabase,
    can_use_wal,
    default_driver,
)
from kurz.storage.links.quota_turns import MAX_SECONDS as TURN_SECONDS
from kurz.storage.links.quota_turns import QuotaTurns
from kurz.storage.routes.sqlite import SqliteRouteStore
from kurz.wiring.data_folder import unusable

if TYPE_CHECKING:  # their driver is not needed on SQLite
    import asyncpg

    from kurz.storage.engine.postgres import PostgresDatabase
    from kurz.storage.routes.postgres import PostgresRouteStore
    from kurz.storage.routes.replicas import Replicas

# For each connection of a background process: two for writing and four for reading.
BACKGROUND_CACHE_KIB = 4 * 1024
LOOKUP_CONNECTIONS = 2  # one of which is kept
# How long a slice of clicks on SQLite may block other writers, which should wait 50 ms at most.
MAX_HELD_SECONDS = 0.025


@dataclass(frozen=True)
class Engine:
    """SQLite in the data folder of the only instance; or PostgreSQL, which is remote: several
    instances can share it."""

    settings: Settings

    @property
    def _is_remote(self) -> bool:
        return not self.settings.is_embedded

    @property
    def name(self) -> str:
        return "PostgreSQL" if self._is_remote else "SQLite"

    @property
    def folder(self) -> Path | None:
        """Where the database is, if not on a server."""
        return None if self._is_remote else self.settings.data_dir.resolve()

    @property
    def file(self) -> Path | None:
        """The database, if it is a file."""
        return None if self._is_remote else self.settings.database_path

    @property
    def version(self) -> str | None:
        """Of the engine that runs inside kurz; None: ask the server."""
        return None if self._is_remote else default_driver.sqlite_version

    @property
    def is_shared(self) -> bool:
        """Whether other workers or instances may serve the same links."""
        return self._is_remote or self.settings.workers > 1

    @property
    def has_instances(self) -> bool:
        """Whether several instances may use the database."""
        return self._is_remote

    @property
    def has_tiers(self) -> bool:
        """Whether links are also read from Redis and replicas. SQLite answers faster than Redis."""
        return self._is_remote

    @property
    def is_secret_shared(self) -> bool:
        """False: every instance may have its own secret."""
        return not self._is_remote or self.settings.secret is not None

    @property
    def is_there(self) -> bool:
        """False: the data folder has no database yet."""
        try:
            return self._is_remote or self.settings.database_path.exists()
        except OSError as error:
            raise unusable(self.settings.data_dir, error) from None

    @property
    def has_write_ahead_log(self) -> bool:
        return self._is_remote or can_use_wal(default_driver.sqlite_version_info)

    @property
    def has_search_index(self) -> bool:
        """Whether a text index must be kept up to date after the writes."""
        return not self._is_remote

    @property
    def max_held_seconds(self) -> float | None:
        return None if self._is_remote else MAX_HELD_SECONDS

    def has_listeners(self) -> bool:
        """False: no process of a server runs."""
        return self._is_remote or is_anybody_listening(self.settings.feed_dir)

    def quota_turns(self) -> QuotaTurns | None:
        """For engines on which the rows of quotas are locked. If a write may take longer than by
        default, so may the writes ahead of it."""
        if not self._is_remote:
            return None
        write_seconds = self.deadlines().write_seconds
        return QuotaTurns(TURN_SECONDS * max(write_seconds / USUAL.write_seconds, 1.0))

    def time_source(self, database: Database) -> Database | None:
        """The database whose clock is followed; None: the machine's clock."""
        return database if self._is_remote else None

    def job_clock(self, clock: Clock) -> Clock:
        """PostgreSQL's clock is followed; without it, the machine's may have been set back."""
        return clock if self._is_remote else EarliestClock(clock)

    def write_problem(self, database: Database) -> str | None:
        return None if self._is_remote else cast("SqliteDatabase", database).write_problem

    def open_database(self, *, is_background: bool = False) -> Database:
        settings = self.settings
        if settings.database_url is not None:
            from kurz.storage.engine.postgres import PostgresDatabase

            return PostgresDatabase(
                settings.database_url,
                deadlines=self.deadlines(),
                # Without the connections reserved for lookups of redirects.
                pool_size=settings.database_connections - LOOKUP_CONNECTIONS,
                kept_idle=settings.database_idle_connections - 1,
            )
        if settings.database_replica_urls:
            raise SettingRefused("KURZ_DATABASE_REPLICA_URLS requires KURZ_DATABASE_URL.")
        if not self.is_there:
            raise SettingRefused(
                f"There is no kurz database in {settings.data_dir}. Start `kurz serve` with this"
                " folder first, or set KURZ_DATA_DIR to the right folder."
            )
        return self._open_sqlite(cache_kib=BACKGROUND_CACHE_KIB if is_background else CACHE_KIB)

    async def explain(self, error: StoreUnavailable) -> StoreUnavailable:
        """The error with the file, or with host, port and cause: for the operator, not for
        visitors. Tries to connect once more."""
        if isinstance(error, StoreBusy):
            return error
        if self.settings.database_url is None:
            return StoreUnavailable(f"{self.settings.database_path.absolute()}: {error.detail}")
        from kurz.storage.engine.diagnosis import why_unusable

        reason = await why_unusable(self.settings.database_url)
        return error if reason is None else StoreUnavailable(reason)

    async def run_alone(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """On a connection of its own to a database on a server, without a deadline."""
        database = cast("PostgresDatabase", self.open_database())
        try:
            return await database.run_alone(query, *args, **kwargs)
        finally:
            await database.close()

    def _open_sqlite(self, *, cache_kib: int, is_synced: bool = True) -> SqliteDatabase:
        return SqliteDatabase(
            self.settings.database_path,
            busy_seconds=max(BUSY_TIMEOUT_SECONDS, self.deadlines().write_seconds),
            cache_kib=cache_kib,
            is_synced=is_synced,
        )

    @asynccontextmanager
    async def open_followers_database(self, database: Database) -> AsyncIterator[Database]:
        """For followers of the change log. What they write is derived from the links, and after a
        power loss they continue from their stored position. They therefore do not wait for the
        disk, which took most of their time on SQLite."""
        if self._is_remote:
            yield database
            return
        unsynced = self._open_sqlite(cache_kib=BACKGROUND_CACHE_KIB, is_synced=False)
        try:
            yield unsynced
        finally:
            await unsynced.close()

    def open_replicas(self, database: Database, recent_writes: RecentWrites) -> "Replicas | None":
        urls = self.settings.database_replica_urls
        if not urls:
            return None
        from kurz.storage.routes.replicas import Replica, Replicas

        members = [Replica(url, self.deadlines()) for url in urls]
        return Replicas(members, database, recent_writes)

    def open_replica_databases(self) -> "list[PostgresDatabase]":
        from kurz.storage.engine.postgres import PostgresDatabase

        urls = self.settings.database_replica_urls
        return [PostgresDatabase(url, is_replica=True) for url in urls]

    def open_routes(
        self, database: Database, replicas: "Replicas | None"
    ) -> "SqliteRouteStore | PostgresRouteStore":
        """Links as the read path looks them up."""
        if not self._is_remote:
            return SqliteRouteStore(cast("SqliteDatabase", database))
        from kurz.storage.routes.lookups import Lookups
        from kurz.storage.routes.postgres import PostgresRouteStore

        postgres = cast("PostgresDatabase", database)
        lookups = Lookups(postgres.hosts, seconds=postgres.deadlines.lookup_seconds)
        return PostgresRouteStore(lookups, replicas)

    def waker(self, database: Database) -> Waker:
        """What wakes other processes after changes, if there is no Redis."""
        if self.settings.database_url is None:
            return PipeWaker(self.settings.feed_dir)
        from kurz.feed.postgres import APPLICATION, CHANNEL, PostgresWakeUps
        from kurz.feed.remote import RemoteWaker

        wake = partial(database.write, wake_listeners, CHANNEL)
        wake_ups = PostgresWakeUps(self.connector(APPLICATION), wake)
        return RemoteWaker(wake_ups.send, wake_ups.listen)

    def connector(self, application: str) -> "Callable[[], Awaitable[asyncpg.Connection]]":
        """Opens connections to PostgreSQL outside the pool: to the writable server, whatever the
        address asks for. `application` is their name in pg_stat_activity."""
        from kurz.storage.engine.hosts import PostgresHosts

        hosts = PostgresHosts(self.settings.database_url or "", wanted="primary")
        return partial(hosts.connect, {"application_name": application})

    def deadlines(self) -> Deadlines:
        return Deadlines(
            lookup_seconds=self.settings.database_lookup_milliseconds / 1000,
            write_seconds=self.settings.database_write_milliseconds / 1000,
        )


async def prepare(settings: Settings, *, upgrades_postgres: bool) -> Path | None:
    """Creates or upgrades the schema, and returns the backup made before. An existing schema on
    PostgreSQL is only upgraded by `kurz migrate`: other instances may still need the old one."""
    migrations = Migrations()
    if settings.database_url is None:
        now = SystemClock().now()
        try:
            settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            return migrations.upgrade_sqlite(settings.database_path, settings.backup_dir, now)
        except OSError as error:
            raise unusable(settings.data_dir, error) from None
    from kurz.storage.engine.postgres import PostgresDatabase

    database = PostgresDatabase(settings.database_url, deadlines=Engine(settings).deadlines())
    try:
        await migrations.upgrade_postgres(database, only_if_empty=not upgrades_postgres)
    finally:
        await database.close()
    return None
