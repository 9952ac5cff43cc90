"""Copies a SQLite database that is in use, and removes what a backup does not keep."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from kurz.storage.engine import sqlite
from kurz.storage.engine.changes import last_change
from kurz.storage.links.active import count_changes, count_existing
from kurz.storage.links.search import BATCH, index_changes, is_backlogged
from kurz.storage.schema.clicks import visitor_salts
from kurz.storage.schema.jobs import instances, leases, running_imports, running_streams
from kurz.storage.schema.links import changes
from kurz.storage.schema.people import limits

COPY_CACHE_KIB = 8 * 1024
# Written pages go to the disk all the time, not at once at the end: a server's writes wait for the
# disk behind them.
SYNC_SECONDS = 0.05
STEPS = 10_000  # of SQLite's virtual machine, between two looks at whether to stop
COUNTED_AT_ONCE = 1000
# Visitors' salts must not outlive their day. The rest means nothing in another place.
NOT_KEPT = (
    visitor_salts,
    limits,
    leases,
    running_imports,
    running_streams,
    instances,
    changes,
)


class Stopped(Exception):
    """The copy was given up, because it was to stop."""


def copy_database(
    source: Path, target: Path, is_stopping: Callable[[], bool], tell: Callable[[int], None]
) -> None:
    """Copies one state of the database. Writers continue, because the write-ahead log keeps that
    state for the copy. Deleted rows are not in it. `tell` gets the number of bytes that are
    written. Raises `StoreUnavailable` and `Stopped`."""
    with _translating(is_stopping), _followed(target, tell):
        engine = sqlite.create_engine(source, cache_kib=COPY_CACHE_KIB)
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.set_progress_handler(is_stopping, STEPS)
            driver.execute("VACUUM INTO ?", (str(target),))
            # The log has grown meanwhile. Otherwise, the next writer would have to apply it all.
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


def trim_copy(path: Path, is_stopping: Callable[[], bool]) -> None:
    """Removes what a backup does not keep. What follows the change log is first brought up to date
    with it."""
    with _translating(is_stopping), open_copy(path) as connection:
        for step in _steps():
            connection.exec_driver_sql("BEGIN")
            while step(connection):
                connection.exec_driver_sql("COMMIT")
                if is_stopping():
                    raise Stopped
                connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("COMMIT")


@contextmanager
def open_copy(path: Path, *, is_new: bool = False) -> Iterator[sa.Connection]:
    """A database that nobody else uses, and that is thrown away if anything fails: nothing waits
    for the disk. What is deleted is overwritten. Afterwards there is one file, and it is on the
    disk. `is_new`: the file is empty."""
    engine = sqlite.create_engine(path, cache_kib=COPY_CACHE_KIB, is_new=is_new)
    with engine.connect() as connection:
        for name in ("journal_mode=DELETE", "synchronous=OFF", "secure_delete=ON"):
            connection.exec_driver_sql(f"PRAGMA {name}")
        yield connection
    sync_file(path)


def unchanged_uri(path: Path) -> str:
    """For SQLite, which then neither locks the file nor looks for its log."""
    return f"file:{quote(str(path.absolute()))}?immutable=1"


@contextmanager
def open_unchanged(path: Path) -> Iterator[sa.Connection]:
    """A copy that nobody writes to. Neither the file nor its folder is changed."""
    driver: Any = sqlite.default_driver
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: driver.connect(unchanged_uri(path), uri=True),  # a URL would be unquoted
        module=driver,
        poolclass=sa.NullPool,
        isolation_level="AUTOCOMMIT",
    )
    with engine.connect() as connection:
        yield connection


def sync_file(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _steps() -> list[Callable[[sa.Connection], object]]:
    """Each is repeated while it returns something true."""
    return [
        lambda connection: count_existing(connection, COUNTED_AT_ONCE),
        lambda connection: count_changes(connection, last_change(connection), COUNTED_AT_ONCE),
        lambda connection: is_backlogged(connection) and index_changes(connection, BATCH),
        *(lambda connection, it=table: _empty(connection, it) for table in NOT_KEPT),
    ]


def _empty(connection: sa.Connection, table: sa.Table) -> None:
    if sa.inspect(connection).has_table(table.name):  # older schemas lack some
        connection.execute(sa.delete(table))


@contextmanager
def _translating(is_stopping: Callable[[], bool]) -> Iterator[None]:
    try:
        yield
    except Stopped:
        raise
    except Exception as error:
        if is_stopping():
            raise Stopped from error
        outage = sqlite.translate(error)
        if outage is None:
            raise
        raise outage from error


@contextmanager
def _followed(path: Path, tell: Callable[[int], None]) -> Iterator[None]:
    """Writes the file to the disk while it grows, and says how large it is."""
    is_over = threading.Event()

    def follow() -> None:
        while not is_over.wait(SYNC_SECONDS):
            with suppress(OSError):  # not there yet, or the disk is full: the writer will see
                sync_file(path)
                tell(path.stat().st_size)

    thread = threading.Thread(target=follow, name="sync-copy", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
