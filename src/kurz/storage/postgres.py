"""The engine for more than one machine: PostgreSQL through a pool of asyncpg connections."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Concatenate

import asyncpg
import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from kurz.errors import SettingRefused, StoreUnavailable
from kurz.links.model import Change
from kurz.storage.changes import take_changes
from kurz.storage.database import P, T, ping, tell_nobody

POOL_SIZE = 10
CONNECT_SECONDS = 2.0
QUERY_SECONDS = 5.0
POOL_WAIT_SECONDS = 2.0
IDLE_SECONDS = 0.1

_UNREACHABLE = "The database cannot be reached at the moment."
_REFUSED = "PostgreSQL refuses this role, password or database. Check KURZ_DATABASE_URL."
# Classes of SQLSTATE that say "not now": connection, transaction rolled back, out of resources
# (a full disk is one), operator intervention, system error; and two single states.
_UNAVAILABLE_CLASSES = frozenset({"08", "40", "53", "57", "58"})
_UNAVAILABLE_STATES = frozenset({"25006", "55P03"})  # read-only server · lock not available


def translate(error: BaseException) -> StoreUnavailable | None:
    """The outage behind a driver's error; None when the error is no outage but a mistake."""
    outage = StoreUnavailable(_UNREACHABLE)
    if isinstance(error, (OSError, TimeoutError, sa.exc.TimeoutError)):
        return outage
    if isinstance(error, sa.exc.DBAPIError):
        if error.connection_invalidated:
            return outage
        return None if error.orig is None else translate(error.orig.__cause__ or error.orig)
    if isinstance(error, asyncpg.InterfaceError):
        return outage
    state = getattr(error, "sqlstate", None) or ""
    if state[:2] == "28" or state == "3D000":  # authorisation · no such database
        return StoreUnavailable(_REFUSED)
    if state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES:
        return outage
    return None


class PostgresDatabase:
    """`url` is an address as libpq has them, with all that asyncpg understands in it (sslmode)."""

    def __init__(self, url: str, *, query_seconds: float | None = QUERY_SECONDS) -> None:
        async def connect() -> asyncpg.Connection:
            try:
                return await asyncpg.connect(
                    url, timeout=CONNECT_SECONDS, command_timeout=query_seconds
                )
            except ValueError:  # its words may show a part of the address
                raise SettingRefused("KURZ_DATABASE_URL is no PostgreSQL address.") from None

        self.on_commit: Callable[[Sequence[Change]], None] = tell_nobody
        self._query_seconds = query_seconds
        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=connect,
            hide_parameters=True,  # in errors, which are logged
            pool_size=POOL_SIZE,
            max_overflow=0,
            pool_timeout=POOL_WAIT_SECONDS,
        )

        sa.event.listen(self._engine.sync_engine, "checkin", _note_use)
        sa.event.listen(self._engine.sync_engine, "checkout", self._test_idle)

    def _test_idle(
        self, connection: DBAPIConnection, record: ConnectionPoolEntry, _: object
    ) -> None:
        """Asks a connection that has been idle whether it is alive: its server may have been
        restarted. Busy ones are not asked, which would cost every query a round trip."""
        now = time.monotonic()
        if now - record.info.get("used_at", now) < IDLE_SECONDS:
            return
        try:
            self._engine.sync_engine.dialect.do_ping(connection)
        except Exception as error:
            raise sa.exc.InvalidatePoolError from error

    async def read(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self.write(query, *args, **kwargs)

    async def write(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        async with self.transaction() as connection:
            result, changes = await connection.run_sync(_run, query, args, kwargs)
        if changes:
            self.on_commit(changes)
        return result

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        try:
            # One limit for all of it: waiting for a connection, making one, and the query.
            async with asyncio.timeout(self._query_seconds), self._engine.begin() as connection:
                yield connection
        except Exception as error:
            outage = translate(error)
            if outage is None:
                raise
            raise outage from error

    async def check(self) -> None:
        await self.read(ping)

    def counts(self) -> dict[str, int]:
        return {}

    async def close(self) -> None:
        await self._engine.dispose()


def _run(
    connection: sa.Connection,
    query: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[T, list[Change]]:
    take_changes(connection)  # of a transaction that failed on this connection
    return query(connection, *args, **kwargs), take_changes(connection)


def _note_use(_: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
    record.info["used_at"] = time.monotonic()
