"""The embedded engine: SQLite, written by one thread and read by a few."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from kurz.errors import StoreUnavailable
from kurz.freshness.routes import Change
from kurz.storage.engine.database import A, P, Query, SharedQuery, T, ping, tell_nobody
from kurz.storage.engine.group_writer import GroupWriter
from kurz.storage.engine.result_turns import ResultTurns
from kurz.storage.engine.turnstile import Turnstile

try:
    import pysqlite3 as _driver
except ImportError:  # no wheel for this platform
    import sqlite3 as _driver

default_driver: ModuleType = _driver

READERS = 2  # threads: more would only queue for the interpreter
CACHE_KIB = (
    32 * 1024
)  # a connection's page cache: with SQLite's default of 2 MiB, indexes are read repeatedly
DIRECT_CACHE_KIB = 4 * 1024  # enough for the upper pages of an index; links have their own cache
FAILED_SECONDS = 60.0  # how long a failed write is reported if no other follows
INCREMENTAL = 2  # of `auto_vacuum`: free pages can be released a few at a time
BUSY_TIMEOUT_SECONDS = 2.0  # how long a write may wait for another process before it is a 503

_LOCKED = "Another program has locked the database. Try again."
_UNREADABLE = "The database file cannot be read or written."
_DAMAGED = "The database file is damaged, or is not a SQLite database."
_NOT_UTF8 = "Could not decode to UTF-8"  # what the driver says of a text
# Primary result codes that say "not now" rather than "wrong": the caller may try again.
_OUTAGES = {
    5: _LOCKED,  # BUSY
    6: _LOCKED,  # LOCKED
    7: "The machine is out of memory.",  # NOMEM
    8: _UNREADABLE,  # READONLY
    10: _UNREADABLE,  # IOERR
    11: _DAMAGED,  # CORRUPT
    13: "The disk of the database is full. Free up space.",  # FULL
    14: _UNREADABLE,  # CANTOPEN
    15: _LOCKED,  # PROTOCOL
    26: _DAMAGED,  # NOTADB
}


def can_use_wal(version: tuple[int, ...]) -> bool:
    """False for SQLite versions whose WAL file several writers can corrupt (fixed in 3.51.3 and
    3.53.0; 3.52.0 was withdrawn)."""
    return version >= (3, 53, 0) or (3, 51, 3) <= version < (3, 52, 0)


def create_engine(
    path: Path,
    driver: ModuleType = default_driver,
    busy_seconds: float = BUSY_TIMEOUT_SECONDS,
    *,
    cache_kib: int = CACHE_KIB,
    is_synced: bool = True,
    is_new: bool = False,
) -> sa.Engine:
    """An engine whose connections leave transactions to us: BEGIN and COMMIT are sent as text.
    `is_new`: the file is empty. Without `is_synced` a commit does not wait for the disk: power loss
    may undo the last commits, but damages nothing. This holds for a WAL only."""
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        module=driver,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,  # in errors, which are logged
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
    )
    journal_mode = "WAL" if can_use_wal(driver.sqlite_version_info) else "DELETE"
    synchronous = "FULL" if is_synced or journal_mode != "WAL" else "NORMAL"

    @sa.event.listens_for(engine, "connect")
    def configure(connection: sa.engine.interfaces.DBAPIConnection, _: object) -> None:
        cursor = connection.cursor()
        if is_new:  # before anything is written
            cursor.execute(f"PRAGMA auto_vacuum={INCREMENTAL}")
        cursor.execute(f"PRAGMA journal_mode={journal_mode}")
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        cursor.execute(f"PRAGMA cache_size=-{cache_kib}")
        cursor.close()

    return engine


def translate(error: BaseException) -> StoreUnavailable | None:
    """The outage behind a driver's error; None if the error is a bug, not an outage."""
    sentence = _OUTAGES.get(_code_of(error))
    if sentence is None and _is_garbled(error):
        sentence = _DAMAGED
    return None if sentence is None else StoreUnavailable(sentence)


def is_damage(error: BaseException) -> bool:
    """Whether the file is damaged, or at least what was read of it."""
    return _OUTAGES.get(_code_of(error)) == _DAMAGED or _is_garbled(error)


def _is_garbled(error: BaseException) -> bool:
    """Whether a stored text, or the name of a table in SQLite's own error, is not UTF-8."""
    origin = _origin(error)
    return isinstance(origin, UnicodeDecodeError) or str(origin).startswith(_NOT_UTF8)


def _code_of(error: BaseException) -> int:
    return getattr(_origin(error), "sqlite_errorcode", 0) & 0xFF


def _origin(error: BaseException) -> BaseException:
    return (error.orig or error) if isinstance(error, sa.exc.DBAPIError) else error


class SqliteDatabase:
    """`busy_seconds`, `cache_kib` and `is_synced` as for `create_engine`."""

    def __init__(
        self,
        path: Path,
        driver: ModuleType = default_driver,
        *,
        busy_seconds: float = BUSY_TIMEOUT_SECONDS,
        cache_kib: int = CACHE_KIB,
        is_synced: bool = True,
    ) -> None:
        self._engine = create_engine(
            path, driver, busy_seconds, cache_kib=cache_kib, is_synced=is_synced
        )
        self._path = path
        self._driver = driver
        self._file = _identity(path)
        self.on_commit: Callable[[Sequence[Change]], None] = tell_nobody
        self._turnstile = Turnstile(path.parent)
        self._writer = GroupWriter(
            self._engine,
            translate,
            self._check_file,
            self._tell,
            busy_seconds,
            self._turnstile,
        )
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="kurz-read")
        self._result_turns = ResultTurns()
        self._local = threading.local()
        self._open_readers: list[sa.Connection] = []
        self._failed_write: tuple[float, str] | None = None

    async def check(self) -> None:
        self._check_file()
        await self.read(ping)

    def counts(self) -> dict[str, int]:
        """The number of writes and of transactions; each transaction syncs the disk once."""
        return {"database_writes": self._writer.writes, "database_commits": self._writer.commits}

    async def look_up(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(query, args, kwargs)

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        result = await self._run(query, args, kwargs)
        await self._result_turns.wait()
        return result

    async def _run(
        self, query: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> T:
        def run() -> T:
            try:
                connection = self._reader()
                driver: Any = connection.connection.driver_connection
                driver.execute("BEGIN")  # the whole query sees one snapshot
                try:
                    return query(connection, *args, **kwargs)
                finally:
                    if driver.in_transaction:  # an I/O error has ended it already
                        driver.execute("ROLLBACK")
            except Exception as error:
                outage = translate(error)
                if outage is None:
                    raise
                self._drop_reader()
                raise outage from error

        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._noted(self._writer.run(query, *args, **kwargs))

    async def write_together(self, query: SharedQuery[A, T], item: A) -> T:
        return await self._noted(self._writer.run_together(query, item))

    async def _noted(self, writing: Awaitable[T]) -> T:
        try:
            result = await writing
        except StoreUnavailable as error:
            self._failed_write = time.monotonic(), error.detail
            raise
        self._failed_write = None
        return result

    @property
    def write_problem(self) -> str | None:
        """Why the last write failed, if that was within a minute: perhaps none was tried since."""
        if self._failed_write is None:
            return None
        failed_at, detail = self._failed_write
        return detail if time.monotonic() - failed_at < FAILED_SECONDS else None

    def _tell(self, changes: Sequence[Change]) -> None:
        self.on_commit(changes)  # read here because it may be replaced later

    def direct_reader(self) -> "DirectReader":
        # With its own engine: opening a connection can also wait for a lock.
        return DirectReader(create_engine(self._path, self._driver, busy_seconds=0.0))

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        await self._writer.close()
        self._turnstile.close()
        await loop.run_in_executor(None, self._readers.shutdown)
        for connection in self._open_readers:
            connection.close()

    def _check_file(self) -> None:
        """Writes to a file that was removed are lost when kurz stops."""
        found = _identity(self._path)
        self._file = self._file or found  # a new database has no file before its first connection
        if found != self._file:
            raise StoreUnavailable("The database file was removed or replaced. Restart kurz.")

    def _reader(self) -> sa.Connection:
        connection: sa.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._engine.connect()
            connection.exec_driver_sql("PRAGMA query_only=ON")
            self._open_readers.append(connection)
        return connection

    def _drop_reader(self) -> None:
        """Drops this thread's connection after an outage; the next read opens another."""
        connection: sa.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            self._local.connection = None
            self._open_readers.remove(connection)
            connection.invalidate()
            connection.close()


class DirectReader:
    """Reads on the calling thread, without waiting, if the engine's connections do not wait."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None
        self._execute: Callable[..., Any] | None = None

    def rows(self, text: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]] | None:
        """None: not now. The next call tries again, on a new connection."""
        try:
            execute = self._execute or self._connect()
            # fetchall ends the statement: an open read would block checkpoints of the WAL.
            found: list[tuple[Any, ...]] = execute(text, values).fetchall()
        except Exception as error:
            self.close()
            if translate(error) is None:
                raise
            return None
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
        self._connection = self._execute = None

    def _connect(self) -> Callable[..., Any]:
        self._connection = self._engine.connect()
        driver: Any = self._connection.connection.driver_connection
        driver.execute("PRAGMA query_only=ON")
        driver.execute(f"PRAGMA cache_size=-{DIRECT_CACHE_KIB}")
        self._execute = driver.execute
        return self._execute


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
