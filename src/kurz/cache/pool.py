"""The connections to one server."""

import asyncio
from typing import Any

from redis.asyncio import ConnectionPool
from redis.asyncio.connection import AbstractConnection


class Pool(ConnectionPool):
    """Waits for a free connection. Unlike redis-py's `BlockingConnectionPool`, it always gets a
    connection back: that one waits for a lock, and when the command is cancelled there, the
    connection counts as in use from then on."""

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        super().__init__(max_connections=max_connections, **options)
        self._free = asyncio.Semaphore(max_connections)
        self._is_closed = False

    async def get_connection(self, *_: Any, **__: Any) -> AbstractConnection:
        await self._free.acquire()
        connection: AbstractConnection = self.get_available_connection()  # type: ignore[no-untyped-call]
        try:
            await self.ensure_connection(connection)
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: AbstractConnection) -> None:
        """Never waits, so it cannot be cancelled."""
        self._in_use_connections.remove(connection)
        self._available_connections.append(connection)
        self._free.release()
        if self._is_closed or connection.should_reconnect():  # type: ignore[no-untyped-call]
            await connection.disconnect(nowait=True)

    async def renew(self) -> None:
        """Closes every connection; those in use when they are returned, so that running commands
        get their answer. redis-py's own `disconnect` fails those, and hands out connections that it
        is still closing."""
        for connection in tuple(self._available_connections):
            await connection.disconnect(nowait=True)
        for connection in self._in_use_connections:
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]

    async def aclose(self) -> None:
        """For good: what running commands open again is closed when it is returned."""
        self._is_closed = True
        for connection in (*self._available_connections, *self._in_use_connections):
            await connection.disconnect(nowait=True)
