"""Databases of earlier and later schemas, and what is in them."""

import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from kurz.links.model import Draft
from kurz.settings.model import Settings
from kurz.storage.engine import sqlite
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.engine.schema_state import revision
from kurz.storage.schema import clicks, jobs, links, people, safety  # noqa: F401  the tables
from kurz.storage.schema.base import metadata
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support import nursery
from support.patience import PATIENT

T = TypeVar("T")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://example.com/kept"
HEAD = Migrations().head
NEXT = f"{int(HEAD) + 1:04}"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
SEARCH_INDEX = "ix_links_text"
URL_INDEX = "ix_links_url"


async def upgrade(settings: Settings, migrations: Migrations) -> Path | None:
    """Upgrades the way the engine does it; gives the backup, if one was made."""
    if settings.database_url is None:
        return migrations.upgrade_sqlite(settings.database_path, settings.backup_dir, NOW)
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
    try:
        await migrations.upgrade_postgres(database, only_if_empty=False)
    finally:
        await database.close()
    return None


async def read(settings: Settings, query: Callable[[sa.Connection], T]) -> T:
    """Runs a query on a connection of its own."""
    if settings.database_url is None:
        with sqlite.create_engine(settings.database_path).connect() as connection:
            return query(connection)
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
    try:
        return await database.write(query)
    finally:
        await database.close()


def snapshot(connection: sa.Connection) -> tuple[str | None, dict[str, object]]:
    """The schema as the database describes it, its revision, and all rows."""
    inspector = sa.inspect(connection)
    tables: dict[str, object] = {}
    for name in sorted(inspector.get_table_names()):
        columns = [(column["name"], str(column["type"])) for column in inspector.get_columns(name)]
        rows = connection.execute(sa.text(f'SELECT * FROM "{name}"')).all()  # noqa: S608
        tables[name] = (columns, sorted(map(repr, rows)))
    return revision(connection), tables


async def make_with_link(settings: Settings) -> None:
    """A database of today's schema with a link in it."""
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings) as parts:
        await parts.links.create(Draft(original_url=URL, custom_code="kept"))


def run_kurz(
    settings: Settings, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("KURZ_")}
    environment |= {"KURZ_DATA_DIR": str(settings.data_dir), "KURZ_PORT": "0"}
    if settings.database_url is not None:
        environment["KURZ_DATABASE_URL"] = settings.database_url
    done = nursery.run(arguments, {**inherited, **environment})
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def definitions(connection: sa.Connection) -> dict[str, dict[str, str]]:
    """By table and name: how the database itself defines its indexes."""
    query = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    if connection.dialect.name == "sqlite":  # the indexes of its constraints have no SQL
        query = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'index' AND sql > ''"
    found: dict[str, dict[str, str]] = {}
    for table, name, definition in connection.execute(sa.text(query)):
        found.setdefault(table, {})[name] = definition
    return found


def describe(connection: sa.Connection) -> dict[str, dict[str, Any]]:
    """All that tables are made of, but the order of their columns, which no query relies on."""
    inspector = sa.inspect(connection)
    indexes = definitions(connection)
    tables: dict[str, dict[str, Any]] = {
        name: {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in inspector.get_columns(name)
            },
            "key": (
                inspector.get_pk_constraint(name)["name"],
                inspector.get_pk_constraint(name)["constrained_columns"],
            ),
            "unique": sorted(
                (str(constraint["name"]), constraint["column_names"])
                for constraint in inspector.get_unique_constraints(name)
            ),
            "indexes": indexes.get(name, {}),
        }
        for name in inspector.get_table_names()
        if name not in ("alembic_version", "schema_revision")
    }
    if connection.dialect.name == "sqlite":
        for name, sql in connection.execute(sa.text("SELECT name, sql FROM sqlite_master")):
            if name in tables:
                tables[name]["kind"] = ("AUTOINCREMENT" in sql, "WITHOUT ROWID" in sql)
    return tables


def remake(connection: sa.Connection) -> None:
    """Makes all tables anew, from the metadata."""
    metadata.drop_all(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text("DROP TABLE link_search"))
    metadata.create_all(connection)


def snapshot_of_file(path: Path) -> tuple[str | None, dict[str, object]]:
    with sqlite.create_engine(path).connect() as connection:
        assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
        return snapshot(connection)


async def execute(settings: Settings, *statements: str) -> None:
    for statement in statements:
        await read(settings, lambda connection: connection.exec_driver_sql(statement))  # noqa: B023
