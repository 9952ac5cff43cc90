"""The connections to one server."""

from redis.asyncio import BlockingConnectionPool
from redis.asyncio.connection import AbstractConnection


class Pool(BlockingConnectionPool):
    async def release(self, connection: AbstractConnection) -> None:
        """redis-py waits until a connection that must be renewed is closed, and fails if that takes
        long. Here it is closed in the background."""
        if connection.should_reconnect():  # type: ignore[no-untyped-call]
            await connection.disconnect(nowait=True)
        await super().release(connection)

    async def renew(self) -> None:
        """Closes every connection; those in use when they are returned, so that running commands
        get their answer. redis-py's own `disconnect` fails those, and hands out connections that it
        is still closing."""
        for connection in tuple(self._available_connections):
            await connection.disconnect(nowait=True)
        for connection in self._in_use_connections:
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
