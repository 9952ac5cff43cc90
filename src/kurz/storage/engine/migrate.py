"""Upgrades the schema of a database, safely even if several instances start at once."""

import os
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from kurz.errors import SchemaOutdated
from kurz.files import open_new
from kurz.storage.engine import sqlite
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import MIGRATION_SECONDS, deadline

_LOCK = 0x6B75727A  # "kurz": the advisory lock of instances that migrate
# Between two statements a migration may load modules or compute what it writes next.
_PAUSE = "SET LOCAL idle_in_transaction_session_timeout = '60s'"


@dataclass(frozen=True)
class Migrations:
    """A history of the schema: Alembic's scripts and the newest revision in them."""

    scripts: Path = Path(__file__).parents[1] / "migrations"
    head: str = "0023"

    def check(self, connection: sa.Connection) -> None:
        """Raises `SchemaOutdated` unless the schema is this program's."""
        found = revision(connection)
        if found == self.head:
            return
        self._refuse_newer(found)
        raise SchemaOutdated(
            f"The database has {'schema ' + found if found else 'no schema'}, but this version"
            f" of kurz needs {self.head}. Run `kurz migrate`."
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

    async def upgrade_postgres(self, database: Database, *, only_if_empty: bool) -> bool:
        """Creates or upgrades the schema, one instance at a time; True if there was anything to do.
        `only_if_empty` leaves an existing schema unchanged."""

        def upgrade(connection: sa.Connection) -> bool:
            connection.execute(sa.text(_PAUSE))
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            found = revision(connection)
            if found == self.head or (found is not None and only_if_empty):
                return False
            self._refuse_newer(found)
            self._upgrade(connection)
            return True

        with deadline(MIGRATION_SECONDS):
            return await database.write(upgrade)

    def _upgrade_sqlite(self, path: Path, backups: Path, now: datetime) -> Path | None:
        path.touch(mode=0o600)  # it holds the keys; SQLite gives its other files the same mode
        is_new = not path.stat().st_size
        with sqlite.create_engine(path, is_new=is_new).connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            found = revision(connection)
            if found == self.head:
                return None
            self._refuse_newer(found)
            name = f"{path.stem}-{found}-{now:%Y%m%dT%H%M%SZ}.db"
            backup = _back_up(path, backups / name) if found else None
            self._upgrade(connection)
            connection.exec_driver_sql("COMMIT")
            return backup

    def _refuse_newer(self, found: str | None) -> None:
        if found is not None and found > self.head:
            raise SchemaOutdated(
                f"The database has schema {found}, but this version of kurz only knows"
                f" {self.head}. Use a newer version of kurz."
            )

    def _upgrade(self, connection: sa.Connection) -> None:
        from alembic import command  # late: commands that do not migrate start faster without it
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(self.scripts).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def revision(connection: sa.Connection) -> str | None:
    """The schema's revision; None for a database without one."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


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
