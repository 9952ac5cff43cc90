"""Links in a store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from kurz.links.model import Filter, Link, LinkType, Scope, Strategy
from kurz.storage.schema import links as link_tables
from kurz.wiring.core import Kurz
from support.links import NOW, link

ODD_INSTANT = datetime(2031, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
ANY = Scope()
ALL = Filter()


async def insert(kurz: Kurz, code: str = "abc", **fields: Any) -> Link:
    new = link(code, **fields)
    link_id = await kurz.store.insert(new)
    assert link_id is not None
    return replace(new, id=link_id)


async def execute(kurz: Kurz, statement: str, **values: Any) -> None:
    await kurz.database.write(lambda connection: connection.execute(sa.text(statement), values))


async def rows(kurz: Kurz, table: sa.Table) -> list[sa.RowMapping]:
    def select(connection: sa.Connection) -> list[sa.RowMapping]:
        return list(connection.execute(sa.select(table).order_by(table.c[0])).mappings())

    return await kurz.database.read(select)


async def changes(kurz: Kurz) -> list[tuple[int, int, str, int]]:
    """(link, workspace, code, version) of every change, in order."""
    return [
        (row["link_id"], row["workspace_id"], row["short_code"], row["version"])
        for row in await rows(kurz, link_tables.changes)
    ]


FULL: dict[str, Any] = {
    "workspace_id": 7,
    "owner_id": 3,
    "strategy": Strategy.CUSTOM,
    "url": "https://example.com/ü",
    "canonical_url": "https://example.com/%C3%BC",
    "location": "https://example.com/%C3%BC#top",
    "link_type": LinkType.TEMPORARY,
    "starts_at": NOW + timedelta(microseconds=1),
    "expires_at": ODD_INSTANT,
    "redirect_status": 308,
    "title": "Ein Titel \U0001f600 'with' \"quotes\"",
    "tags": ("a", "ü,b", '"c"'),
    "notes": "two\nlines",
    "forward_query": True,
    "max_clicks": 2**53,
}
