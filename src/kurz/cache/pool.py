"""The connections to one server."""

from redis.asyncio import BlockingConnectionPool


class Pool(BlockingConnectionPool):
    async def renew(self) -> None:
        """Closes every connection; those in use when they are returned, so that running commands
        get their answer. redis-py's own `disconnect` fails those, and hands out connections that it
        is still closing."""
        for connection in tuple(self._available_connections):
            await connection.disconnect(nowait=True)
        for connection in self._in_use_connections:
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
