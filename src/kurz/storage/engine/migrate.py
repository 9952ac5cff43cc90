"""Upgrades the schema of a database, safely even if several instances start at once, and on
PostgreSQL while others use it."""

import asyncio
import os
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

from kurz.errors import ProgramOutdated, SchemaOutdated, StoreBusy
from kurz.files import open_new
from kurz.storage.engine import sqlite
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.schema_state import REVISIONS, SchemaState, find_state, revision

if TYPE_CHECKING:  # its driver is not needed on SQLite
    from kurz.storage.engine.postgres import PostgresDatabase

_LOCK = 0x6B75727B  # the advisory lock of instances that migrate; 0.2.0 has another one
_LOCK_PAUSE_SECONDS = 0.5
# Queries of others queue behind a migration that waits for a table. So it soon gives up, and tries
# again later.
_TABLE_MILLISECONDS = 100
_TABLE_PAUSE_SECONDS = 1.0
_TABLE_TRIES = 300
# Between two statements a migration may load modules or compute what it writes next.
_SESSION = (
    "SET idle_in_transaction_session_timeout = '60s'",
    f"SET lock_timeout = '{_TABLE_MILLISECONDS}ms'",
)
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True)
class Migrations:
    """A history of the schema: Alembic's scripts and the newest revision in them."""

    scripts: Path = Path(__file__).parents[1] / "migrations"
    head: str = "0026"

    def check(self, connection: sa.Connection) -> None:
        """Raises `SchemaOutdated` unless this program can use the schema."""
        found = find_state(connection)
        if found is not None and found.suits(self.head):
            return
        self.refuse_newer(found)
        raise SchemaOutdated(
            f"The database has {'schema ' + found.newest if found else 'no schema'}, but this"
            f" version of kurz needs {self.head}. Run `kurz migrate`."
        )

    def upgrade_sqlite(self, path: Path, backups: Path, now: datetime) -> Path | None:
        """Creates or upgrades the embedded database. An existing one is first copied to a file in
        `backups`, whose path is returned. A second instance waits for the first and finds the work
        done."""
        try:
            return self._upgrade_sqlite(path, backups, now)
        except Exception as error:
            outage = sqlite.translate(error)
            if outage is None:
                raise
            raise outage from error

    async def upgrade_postgres(self, database: "PostgresDatabase", *, only_if_empty: bool) -> bool:
        """Creates or upgrades the schema, one instance at a time; True if there was anything to do.
        `only_if_empty` leaves an existing schema unchanged. On an existing schema, each migration
        is a transaction: after a failure, the next run continues with the one that failed."""
        with deadline(LIST_SECONDS):  # it must connect first
            found = await database.read(find_state)
        if not self._has_work(found, only_if_empty=only_if_empty):
            return False
        return await database.run_alone(self._upgrade_postgres, only_if_empty)

    def create(self, connection: sa.Connection, schema: str) -> bool:
        """Creates this schema in the caller's transaction. False, and nothing is changed: the
        database is not empty. Raises `SchemaOutdated` for a schema that this program does not
        know. On PostgreSQL, instances that start meanwhile wait for the end of the connection."""
        if not schema.isdigit() or not any(self.scripts.glob(f"versions/{schema}_*.py")):
            raise SchemaOutdated(
                f"The schema {schema} is unknown: this version of kurz knows those up to"
                f" {self.head}."
            )
        if connection.dialect.name != "sqlite":
            _wait_for_lock(connection)
        if sa.inspect(connection).get_table_names():
            return False
        self._upgrade(connection, schema)
        return True

    def upgrade_loaded(self, connection: sa.Connection) -> None:
        """Upgrades a database that nobody else uses, in the caller's transaction."""
        self._upgrade(connection)

    def _has_work(self, found: SchemaState | None, *, only_if_empty: bool) -> bool:
        if found is None:
            return True
        self.refuse_newer(found)
        return found.newest < self.head and not only_if_empty

    def _upgrade_postgres(self, connection: sa.Connection, only_if_empty: bool) -> bool:  # noqa: FBT001
        _wait_for_lock(connection)
        found = find_state(connection)
        if not self._has_work(found, only_if_empty=only_if_empty):
            return False
        for statement in _SESSION:
            connection.exec_driver_sql(statement)
        if found is None:
            self._upgrade(connection)
            connection.commit()
            return True
        return self._upgrade_in_use(connection)

    def _upgrade_in_use(self, connection: sa.Connection) -> bool:
        """A transaction for each migration."""
        for _ in range(_TABLE_TRIES):
            connection.commit()
            try:
                self._upgrade(connection, is_in_use=True)
            except sa.exc.DBAPIError as error:
                connection.rollback()
                if getattr(error.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                    raise
                await_only(asyncio.sleep(_TABLE_PAUSE_SECONDS))
            else:
                return True
        raise StoreBusy(
            "The schema was not upgraded completely, because other sessions keep a table locked."
            " Run `kurz migrate` again when they have finished."
        )

    def _upgrade_sqlite(self, path: Path, backups: Path, now: datetime) -> Path | None:
        path.touch(mode=0o600)  # it holds the keys; SQLite gives its other files the same mode
        is_new = not path.stat().st_size
        with sqlite.create_engine(path, is_new=is_new).connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            found = find_state(connection)
            if not self._has_work(found, only_if_empty=False):
                return None
            backup = None
            if found is not None:
                name = f"{path.stem}-{found.newest}-{now:%Y%m%dT%H%M%SZ}.db"
                backup = _back_up(path, backups / name)
            self._upgrade(connection)
            connection.exec_driver_sql("COMMIT")
            return backup

    def refuse_newer(self, found: SchemaState | None) -> None:
        """Raises `ProgramOutdated` if only newer programs can use the database."""
        if found is not None and found.oldest > self.head:
            raise ProgramOutdated(
                f"The database has schema {found.newest}, but this version of kurz only knows"
                f" {self.head}. Use a newer version of kurz."
            )

    def _upgrade(
        self, connection: sa.Connection, target: str = "head", *, is_in_use: bool = False
    ) -> None:
        from alembic import command  # late: commands that do not migrate start faster without it
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(self.scripts).replace("%", "%%"))
        config.attributes |= {"connection": connection, "is_in_use": is_in_use}
        found = revision(connection)
        if found is not None and not sa.inspect(connection).has_table(REVISIONS):
            command.stamp(config, found)  # until now, Alembic used another table
        if is_in_use:
            connection.commit()  # Alembic begins a transaction for each migration
        command.upgrade(config, target)


def _wait_for_lock(connection: sa.Connection) -> None:
    """Without a transaction that waits: building an index would wait for its end."""
    query = sa.text(f"SELECT pg_try_advisory_lock({_LOCK})")
    while not connection.execute(query).scalar_one():
        connection.commit()
        await_only(asyncio.sleep(_LOCK_PAUSE_SECONDS))
    connection.commit()


def tell_version(connection: sa.Connection) -> tuple[str, str | None]:
    """The engine's, and the schema's revision."""
    version = connection.dialect.server_version_info or ()
    return ".".join(map(str, version)), revision(connection)


def _back_up(path: Path, target: Path) -> Path:
    """Copies the database with SQLite's backup; the file gets its name only when it is complete."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    open_new(unfinished).close()
    driver: Any = sqlite.default_driver
    with closing(driver.connect(path)) as source, closing(driver.connect(unfinished)) as copy:
        source.backup(copy)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.rename(target)
    return target
