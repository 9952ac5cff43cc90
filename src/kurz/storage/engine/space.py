"""The space that a database takes, and giving back what it does not use."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from kurz.storage.engine import sqlite
from kurz.storage.schema import clicks, jobs, links, people, safety  # noqa: F401  the tables
from kurz.storage.schema.base import metadata
from kurz.storage.schema.clicks import click_events

if TYPE_CHECKING:  # its driver is not needed on SQLite
    import asyncpg

# Pages of SQLite's file that a transaction releases: some 10 ms, other writers wait for it.
PAGES_AT_ONCE = 100


class FileSpace(NamedTuple):
    """Of SQLite's file. Its log, which is emptied all the time, is not part of it."""

    total_bytes: int
    page_bytes: int
    free_pages: int  # which are used again before the file grows
    is_incremental: bool  # free pages can be released a few at a time

    @property
    def free_bytes(self) -> int:
        return self.free_pages * self.page_bytes


def measure_file(connection: sa.Connection) -> FileSpace:
    def ask(name: str) -> int:
        found: int = connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        return found

    page = ask("page_size")
    is_incremental = ask("auto_vacuum") == sqlite.INCREMENTAL
    return FileSpace(ask("page_count") * page, page, ask("freelist_count"), is_incremental)


def release_pages(connection: sa.Connection, limit: int) -> None:
    """Takes some free pages off SQLite's file; used ones at its end are moved to free ones."""
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA incremental_vacuum({limit})").fetchall()  # a row for each page


def copies_in_memory(connection: sa.Connection) -> bool:
    """Whether SQLite was compiled to keep temporary copies in memory, whatever is set."""
    options = connection.exec_driver_sql("PRAGMA compile_options").scalars().all()
    return "TEMP_STORE=3" in options


def shorten_file(path: Path) -> int:
    """Applies the log to SQLite's file, as far as nobody still reads an older state. Only then does
    the file become shorter. Returns its size. Raises `StoreUnavailable`."""
    _execute(path, "PRAGMA wal_checkpoint(PASSIVE)")
    return path.stat().st_size


def rewrite_file(path: Path) -> None:
    """Rewrites SQLite's file without free pages, so that later ones can be released a few at a
    time. Nobody else can write meanwhile. Raises `StoreUnavailable`."""
    folder = str(path.parent).replace("'", "''")
    _execute(
        path,
        f"PRAGMA temp_store_directory='{folder}'",  # /tmp may be too small for a copy
        f"PRAGMA auto_vacuum={sqlite.INCREMENTAL}",
        "VACUUM",
        "PRAGMA wal_checkpoint(TRUNCATE)",
    )


def _execute(path: Path, *statements: str) -> None:
    """On a connection of its own, because they cannot run in a transaction."""
    try:
        with sqlite.create_engine(path).connect() as connection:
            driver: Any = connection.connection.driver_connection
            for text in statements:
                driver.execute(text).fetchall()
    except Exception as error:
        outage = sqlite.translate(error)
        if outage is None:
            raise
        raise outage from error


class TableSpace(NamedTuple):
    """Of a table of PostgreSQL, with its indexes."""

    name: str
    total_bytes: int
    dead_rows: int  # as far as PostgreSQL knows


def measure_tables(connection: sa.Connection) -> list[TableSpace]:
    """The largest first. Individual clicks are not among them: their days are dropped as a
    whole."""
    names = [name for name in metadata.tables if name != click_events.name]
    rows = connection.exec_driver_sql(_TABLES, (names,))
    return [TableSpace(*row) for row in rows]


_TABLES = (
    "SELECT relname, pg_total_relation_size(relid), n_dead_tup FROM pg_stat_user_tables"
    " WHERE schemaname = ANY(current_schemas(false)) AND relname = ANY($1::text[])"
    " ORDER BY 2 DESC, 1"
)


async def vacuum(
    connect: "Callable[[], Awaitable[asyncpg.Connection[Any]]]", tables: list[str]
) -> None:
    """Makes the space of dead rows available again, beside all reads and writes. Where the end of a
    table is empty, its file becomes shorter. It cannot run in a transaction. Raises
    `StoreUnavailable`."""
    from kurz.storage.engine.errors import translate

    try:
        connection = await connect()
        try:
            for table in tables:
                await connection.execute(f"VACUUM {table}")
        finally:
            connection.terminate()
    except Exception as error:
        outage = translate(error)
        if outage is None:
            raise
        raise outage from error
