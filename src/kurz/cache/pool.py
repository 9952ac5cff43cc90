"""The connections to one server."""

from redis.asyncio import BlockingConnectionPool


class Pool(BlockingConnectionPool):
    async def renew(self) -> None:
        """Closes every connection, and those in use when they are given back: what is under way
        gets its answer. redis-py's own `disconnect` fails it all, and gives connections away that
        it is still closing."""
        for connection in tuple(self._available_connections):
            await connection.disconnect(nowait=True)
        for connection in self._in_use_connections:
            connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
