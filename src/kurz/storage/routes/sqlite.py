"""What a redirect needs to know of a link, and how the read path asks SQLite for it."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from kurz.freshness.ports import NotNow
from kurz.freshness.routes import Route
from kurz.storage.engine.sqlite import SqliteDatabase
from kurz.storage.schema.links import LOCATION, links

ROUTE: tuple[sa.ColumnElement[Any], ...] = (
    links.c.id,
    links.c.version,
    # The personal links of a deleted account count as deleted before they are in the trash. A link
    # that the reaper moved there answers as before, unless it was banned there.
    sa.literal_column(
        "CASE WHEN links.status = 'BANNED' THEN 'BANNED'"
        " WHEN links.space < 0 AND EXISTS ("
        "SELECT 1 FROM ending_accounts WHERE ending_accounts.account_id = -links.space"
        ") THEN 'DELETED'"
        " WHEN links.swept_at IS NULL THEN links.status ELSE 'EXPIRED' END"
    ).label("status"),
    LOCATION.label("location"),
    links.c.redirect_status,
    links.c.forward_query,
    links.c.max_clicks,
    links.c.clicks_used,
    links.c.created_at,
    links.c.starts_at,
    links.c.expires_at,
    links.c.held_at.is_not(None).label("is_held"),
    links.c.space,
)
_QUERY = sa.select(*ROUTE).where(
    links.c.workspace_id == sa.bindparam("workspace_id"),
    links.c.short_code == sa.bindparam("short_code"),
)
_SQLITE_TEXT = str(_QUERY.compile(dialect=sqlite.dialect()))


def find_route(connection: sa.Connection, workspace_id: int, short_code: str) -> Route | None:
    arguments = {"workspace_id": workspace_id, "short_code": short_code}
    row = connection.execute(_QUERY, arguments).first()
    return None if row is None else Route(*row)


class SqliteRouteStore:
    """Reads on the thread of the event loop: a point read takes 5 µs, and passing it to another
    thread ten times as much. If the database is busy or broken, `find` handles it."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._direct = database.direct_reader()

    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        rows = self._direct.rows(_SQLITE_TEXT, (workspace_id, short_code))
        if rows is None:
            raise NotNow
        return Route(*rows[0]) if rows else None

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        return await self._database.read(find_route, workspace_id, short_code)

    def counts(self) -> dict[str, int]:
        """It has no counters."""
        return {}

    def close(self) -> None:
        self._direct.close()
