"""The query of the read path: what a redirect needs to know of a link."""

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from kurz.links.model import Route
from kurz.links.ports import NotNow
from kurz.storage.database import Database
from kurz.storage.schema import links
from kurz.storage.sqlite import SqliteDatabase

_QUERY = sa.select(
    links.c.id,
    links.c.version,
    links.c.status,
    sa.func.coalesce(links.c.location, links.c.original_url).label("location"),
    links.c.redirect_status,
    links.c.forward_query,
    links.c.max_clicks,
    links.c.clicks_used,
    links.c.created_at,
    links.c.starts_at,
    links.c.expires_at,
).where(
    links.c.workspace_id == sa.bindparam("workspace_id"),
    links.c.short_code == sa.bindparam("short_code"),
)
_SQLITE_TEXT = str(_QUERY.compile(dialect=sqlite.dialect()))


def find_route(connection: sa.Connection, workspace_id: int, short_code: str) -> Route | None:
    arguments = {"workspace_id": workspace_id, "short_code": short_code}
    row = connection.execute(_QUERY, arguments).first()
    return None if row is None else Route(*row)


class SqlRouteStore:
    """The `RouteStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def peek(self, workspace_id: int, short_code: str) -> Route | None:  # noqa: ARG002
        raise NotNow

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        return await self._database.read(find_route, workspace_id, short_code)

    def close(self) -> None:
        """Nothing of its own is open."""


class SqliteRouteStore(SqlRouteStore):
    """Reads on the thread of the event loop: a point read takes 5 µs, handing it to another thread
    and back ten times as much. What is busy or broken is left to `find`."""

    def __init__(self, database: SqliteDatabase) -> None:
        super().__init__(database)
        self._direct = database.direct_reader()

    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        rows = self._direct.rows(_SQLITE_TEXT, (workspace_id, short_code))
        if rows is None:
            raise NotNow
        return Route(*rows[0]) if rows else None

    def close(self) -> None:
        self._direct.close()
