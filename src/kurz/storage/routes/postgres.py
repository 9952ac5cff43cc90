"""How the read path asks PostgreSQL: a replica first, if there are any, then the primary."""

import asyncio

from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Route
from kurz.storage.routes.lookups import Lookups
from kurz.storage.routes.replicas import Replicas


class PostgresRouteStore:
    """If no replica knows a code, the primary is asked: only it can say that there is no such
    link."""

    def __init__(self, lookups: Lookups, replicas: Replicas | None = None) -> None:
        self._lookups = lookups
        self._replicas = replicas

    def peek(self, workspace_id: int, short_code: str) -> Route | None:  # noqa: ARG002
        raise NotNow

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        left_seconds = self._lookups.seconds
        if self._replicas is not None:
            now_seconds = asyncio.get_running_loop().time
            started = now_seconds()
            route = await self._replicas.find(workspace_id, short_code)
            if route is not None:
                return route
            left_seconds -= now_seconds() - started
        return (await self._lookups.find(workspace_id, short_code, left_seconds)).route

    def counts(self) -> dict[str, int]:
        """With the names of the database's counts: these connections come on top of those of the
        pool."""
        return {
            "database_connections": self._lookups.connections,
            "database_lookups": self._lookups.queries,
            "database_timeouts": self._lookups.timeouts,
        }

    def close(self) -> None:
        self._lookups.close()
