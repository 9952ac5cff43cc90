"""How the read path asks PostgreSQL: a replica first, if there are any, then the primary."""

import asyncio

from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Route
from kurz.storage.routes.lookups import LookUps
from kurz.storage.routes.replicas import Replicas


class PostgresRouteStore:
    """If no replica knows a code, the primary is asked: only it can say that there is no such
    link."""

    def __init__(self, look_ups: LookUps, replicas: Replicas | None = None) -> None:
        self._look_ups = look_ups
        self._replicas = replicas

    def peek(self, workspace_id: int, short_code: str) -> Route | None:  # noqa: ARG002
        raise NotNow

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        left_seconds = self._look_ups.seconds
        if self._replicas is not None:
            now_seconds = asyncio.get_running_loop().time
            started = now_seconds()
            route = await self._replicas.find(workspace_id, short_code)
            if route is not None:
                return route
            left_seconds -= now_seconds() - started
        return (await self._look_ups.find(workspace_id, short_code, left_seconds)).route

    def counts(self) -> dict[str, int]:
        """With the names of the database's counts: these connections come on top of those of the
        pool."""
        return {
            "database_connections": self._look_ups.connections,
            "database_look_ups": self._look_ups.queries,
            "database_timeouts": self._look_ups.timeouts,
        }

    def close(self) -> None:
        self._look_ups.close()
