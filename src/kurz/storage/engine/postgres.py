"""The engine for more than one machine: PostgreSQL through a pool of asyncpg connections."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from kurz.errors import StoreUnavailable
from kurz.freshness.routes import Change
from kurz.storage.engine.changes import take_changes
from kurz.storage.engine.database import A, P, Query, SharedQuery, T, tell_nobody
from kurz.storage.engine.deadlines import CHECK_SECONDS, USUAL, Deadlines, current_or, end_deadline
from kurz.storage.engine.errors import READ_ONLY_STATE, busy, translate, unreachable
from kurz.storage.engine.hosts import CONNECT_SECONDS, PostgresHosts
from kurz.storage.engine.result_turns import ResultTurns
from kurz.storage.engine.shared_writes import SharedWrites

POOL_SIZE = 8  # with the two of the read path's lookups, ten per process as in ADMA
MAX_WAITING = 100  # more would wait too long
MAX_WAITING_TOGETHER = 512  # for a shared transaction; each takes up to 64
TESTED_AFTER_SECONDS = 0.1
TEST_SECONDS = 0.5
KEPT_IDLE = 1  # and one of the lookups': two, as in ADMA
IDLE_SECONDS = 60.0
SET_UP_SECONDS = 3.0  # for what SQLAlchemy asks on a new connection: a dozen round trips at first
CLEAN_UP_SECONDS = 1.0  # to cancel a call that was given up
# Longer than any of our transactions is idle between two statements. The server ends the
# transactions of a process that is cut off or stopped; otherwise they would keep their rows locked
# until TCP gives up.
ABANDONED_SECONDS = 5

# "on" on a standby, too.
_IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on'"


class PostgresDatabase:
    """Whatever happens to the network, a call ends at its `deadline`: what hangs is cleaned up in
    the background. Connections are also opened in the background, to the end, so that a later call
    finds one even if opening takes longer than any call may wait."""

    def __init__(
        self,
        url: str,
        *,
        is_replica: bool = False,
        deadlines: Deadlines = USUAL,
        pool_size: int = POOL_SIZE,
        kept_idle: int = KEPT_IDLE,
    ) -> None:
        self.deadlines = deadlines
        self._pool_size = pool_size
        self._kept_idle = kept_idle
        # A call with a longer deadline also has more time for connecting and between statements.
        longest = max(deadlines.lookup_seconds, deadlines.write_seconds)
        connect_seconds = max(CONNECT_SECONDS, longest)
        set_up_seconds = max(SET_UP_SECONDS, longest)
        abandoned_millis = round(1000 * max(ABANDONED_SECONDS, longest))
        self.hosts = PostgresHosts(url, is_replica=is_replica, connect_seconds=connect_seconds)
        self.on_commit: Callable[[Sequence[Change]], None] = tell_nobody
        self._is_replica = is_replica
        self._permits = asyncio.Semaphore(pool_size)
        self._idle: dict[ConnectionPoolEntry, float] = {}
        self._sweeping: asyncio.TimerHandle | None = None
        self._calls: set[asyncio.Task[Any]] = set()
        self._result_turns = ResultTurns()
        self._shared_writes = SharedWrites(self.write)
        self._open: dict[asyncpg.Connection, asyncio.TimerHandle] = {}
        self._waiting = self._in_use = self._timeouts = 0
        self._answered_at = -math.inf

        async def connect() -> asyncpg.Connection:
            connection = await self.hosts.connect()
            end = asyncio.get_running_loop().call_later(set_up_seconds, connection.terminate)
            self._open[connection] = end
            connection.add_termination_listener(self._note_end)
            # Not when connecting: PgBouncer refuses settings that it does not know.
            await connection.execute(
                f"SET idle_in_transaction_session_timeout = {abandoned_millis}"
            )
            return connection

        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=connect,
            hide_parameters=True,  # in errors, which are logged
            pool_size=pool_size,
            max_overflow=0,
            pool_use_lifo=True,  # so that unneeded connections become idle
        )
        for name, listener in (
            ("checkin", self._note_idle),
            ("checkout", self._test_idle),
            ("handle_error", self._leave_read_only),
        ):
            sa.event.listen(self._engine.sync_engine, name, listener)

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        seconds = current_or(self.deadlines.write_seconds)
        result = await self._run(seconds, query, args, kwargs)
        await self._result_turns.wait()
        return result

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(current_or(self.deadlines.write_seconds), query, args, kwargs)

    async def write_together(self, query: SharedQuery[A, T], item: A) -> T:
        seconds = self.deadlines.write_seconds
        if len(self._shared_writes) >= MAX_WAITING_TOGETHER:
            raise self._too_late(seconds)
        try:
            return await self._shared_writes.run(query, item, seconds)
        except TimeoutError:
            self._timeouts += 1
            raise self._too_late(seconds) from None

    async def look_up(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(self.deadlines.lookup_seconds, query, args, kwargs)

    async def run_alone(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Without a deadline, on a connection of its own that is closed afterwards. The query
        begins and ends its transactions itself."""
        engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self.hosts.connect,
            hide_parameters=True,
            poolclass=sa.NullPool,
        )
        try:
            async with engine.connect() as connection:
                return await connection.run_sync(query, *args, **kwargs)
        except Exception as error:
            outage = translate(error)
            if outage is None:
                raise
            raise outage from error
        finally:
            await engine.dispose()

    async def check(self) -> None:
        if await self._run(CHECK_SECONDS, _is_read_only, (), {}):
            raise StoreUnavailable("The database is read-only at the moment. Try again.")

    def counts(self) -> dict[str, int]:
        return {
            "database_connections": len(self._open),
            "database_in_use": self._in_use,
            "database_waiting": self._waiting,
            "database_timeouts": self._timeouts,
        }

    async def close(self) -> None:
        """Returns when every call has ended, including those that were given up."""
        await self._shared_writes.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._calls:
            await asyncio.wait(self._calls)
        self._drop_idle()
        await self._engine.dispose()

    async def _run(
        self,
        seconds: float,
        query: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> T:
        if self._waiting - (self._pool_size - self._in_use) >= MAX_WAITING:
            raise self._too_late(seconds)
        call = _Call()
        task = asyncio.create_task(self._perform(call, query, args, kwargs))
        self._waiting += 1
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)
        task.add_done_callback(lambda _: self._stop_waiting(call))
        try:
            await asyncio.wait((task,), timeout=seconds)
        finally:
            if not task.done():
                call.give_up(task)
        if task.done():
            return task.result()
        self._timeouts += 1
        raise self._too_late(seconds)

    def _too_late(self, seconds: float) -> StoreUnavailable:
        """Why a call with this deadline was given up: the database was silent for most of that
        time, or it answers others."""
        is_silent = time.monotonic() - self._answered_at > seconds / 2
        return unreachable() if is_silent else busy()

    async def _perform(
        self,
        call: "_Call",
        query: Callable[..., T],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> T:
        try:
            async with self._connected(call) as connection:
                result, changes = await connection.run_sync(_run, query, args, kwargs)
                await connection.commit()
                self._answered_at = time.monotonic()
        except Exception as error:
            outage = translate(error)
            if outage is None:
                self._answered_at = time.monotonic()
                raise
            raise outage from error
        if changes:
            end_deadline()
            self.on_commit(changes)
        return result

    @asynccontextmanager
    async def _connected(self, call: "_Call") -> AsyncIterator[AsyncConnection]:
        await self._permits.acquire()
        self._stop_waiting(call)
        self._in_use += 1
        try:
            call.is_connecting = True
            async with self._engine.connect() as connection:
                call.is_connecting = False
                raw = await connection.get_raw_connection()
                call.driver = raw.driver_connection
                self._end_set_up(raw.driver_connection)
                if call.is_given_up:
                    raise unreachable()
                yield connection
        finally:
            self._in_use -= 1
            self._permits.release()

    def _stop_waiting(self, call: "_Call") -> None:
        self._waiting -= call.is_waiting
        call.is_waiting = False

    def _end_set_up(self, driver: asyncpg.Connection) -> None:
        if driver in self._open:  # otherwise it has just been lost
            self._open[driver].cancel()

    def _note_idle(self, connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        if connection is None:  # it was dropped
            return
        self._idle[record] = time.monotonic()
        if self._sweeping is None:
            loop = asyncio.get_running_loop()
            self._sweeping = loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Closes connections that have been idle for long. Their places in the pool stay, and get
        new connections when needed."""
        self._sweeping = None
        since = time.monotonic() - IDLE_SECONDS
        newest = sorted(self._idle, key=self._idle.__getitem__, reverse=True)
        for record in newest[self._kept_idle :]:
            if self._idle[record] <= since:
                _hang_up(record)
                del self._idle[record]
        if len(self._idle) > self._kept_idle:
            wait_seconds = min(self._idle.values()) - since
            self._sweeping = asyncio.get_running_loop().call_later(wait_seconds, self._sweep)

    def _drop_idle(self) -> None:
        for record in self._idle:
            _hang_up(record)
        self._idle.clear()

    def _note_end(self, connection: asyncpg.Connection) -> None:
        self._open.pop(connection).cancel()

    def _test_idle(
        self, connection: DBAPIConnection, record: ConnectionPoolEntry, _: object
    ) -> None:
        """Checks that an idle connection is alive and its server is still writable: it may have
        been restarted or replaced. Busy ones are not checked, because that would cost every query a
        round trip."""
        driver: Any = record.driver_connection
        idle_at = self._idle.pop(record, None)
        if driver.is_closed():
            raise sa.exc.DisconnectionError
        if idle_at is None:
            return
        is_fresh = time.monotonic() - idle_at < TESTED_AFTER_SECONDS
        if is_fresh and not _was_read_only(driver):
            return
        try:
            is_read_only = connection.run_async(
                lambda it: it.fetchval(_IS_READ_ONLY, timeout=TEST_SECONDS)
            )
        except Exception as error:
            self._drop_idle()
            _hang_up(record)
            raise sa.exc.InvalidatePoolError from error
        if is_read_only and not self._is_replica:
            self._drop_idle()
            raise sa.exc.InvalidatePoolError

    def _leave_read_only(self, context: ExceptionContext) -> None:
        """A server that has become read-only is now a standby, or will be: all its connections are
        useless."""
        error = context.original_exception
        if getattr(error.__cause__ or error, "sqlstate", None) == READ_ONLY_STATE:
            self._drop_idle()
            context.is_disconnect = True


class _Call:
    """A call that somebody waits for. Giving up does not cancel it while it opens a connection."""

    def __init__(self) -> None:
        self.is_waiting = True
        self.is_connecting = False
        self.is_given_up = False
        self.driver: asyncpg.Connection | None = None

    def give_up(self, task: asyncio.Task[Any]) -> None:
        self.is_given_up = True
        task.add_done_callback(_retrieve)
        if self.is_connecting:
            return
        task.cancel()
        if self.driver is not None:
            loop = asyncio.get_running_loop()
            end = loop.call_later(CLEAN_UP_SECONDS, self.driver.terminate)
            task.add_done_callback(lambda _: end.cancel())


def _run(
    connection: sa.Connection,
    query: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[T, list[Change]]:
    take_changes(connection)  # of a transaction that failed on this connection
    return query(connection, *args, **kwargs), take_changes(connection)


def _is_read_only(connection: sa.Connection) -> bool:
    return bool(connection.execute(sa.text(_IS_READ_ONLY)).scalar_one())


def _was_read_only(driver: asyncpg.Connection) -> bool:
    """As its server said with its last answer. Another server may have its address by now, and a
    process that asks both in turn would take older data for newer."""
    settings = driver.get_settings()
    return getattr(settings, "default_transaction_read_only", "off") == "on"


def _hang_up(record: ConnectionPoolEntry) -> None:
    """Closes the connection at once, without waiting for the server."""
    driver: Any = record.driver_connection
    if driver is not None:
        driver.terminate()


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Retrieves the result, because nobody waits for it."""
    if not task.cancelled():
        task.exception()
