"""The space that a database takes, and giving back what it does not use."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
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
    free_bytes: int  # in pages that are used again before the file grows
    is_incremental: bool  # free pages can be released a few at a time


def measure_file(connection: sa.Connection) -> FileSpace:
    def ask(name: str) -> int:
        found: int = connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
        return found

    page = ask("page_size")
    is_incremental = ask("auto_vacuum") == sqlite.INCREMENTAL
    return FileSpace(ask("page_count") * page, ask("freelist_count") * page, is_incremental)


def release_pages(connection: sa.Connection, limit: int) -> bool:
    """Removes some free pages from the end of SQLite's file, after moving used ones there to free
    ones. False: none are left."""
    connection.exec_driver_sql(f"PRAGMA incremental_vacuum({limit})").all()
    return bool(connection.exec_driver_sql("PRAGMA freelist_count").scalar_one())


def shorten_file(connection: sa.Connection) -> None:
    """Applies the log to SQLite's file, as far as nobody still reads an older state. Only then does
    the file become shorter."""
    connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").all()


def rewrite_file(path: Path) -> None:
    """Rewrites SQLite's file without free pages, so that later ones can be released a few at a
    time. Nobody else can write meanwhile. Raises `StoreUnavailable`."""
    try:
        with _temporary_files_in(path.parent), sqlite.create_engine(path).connect() as connection:
            connection.exec_driver_sql(f"PRAGMA auto_vacuum={sqlite.INCREMENTAL}")
            connection.exec_driver_sql("VACUUM")
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").all()
    except Exception as error:
        outage = sqlite.translate(error)
        if outage is None:
            raise
        raise outage from error


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """SQLite's copy would not fit into a system's small folder for temporary files."""
    import os

    before = os.environ.get("SQLITE_TMPDIR")
    os.environ["SQLITE_TMPDIR"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["SQLITE_TMPDIR"]
        else:
            os.environ["SQLITE_TMPDIR"] = before


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
