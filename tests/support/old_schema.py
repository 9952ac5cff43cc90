"""A database of the first schema, with rows."""

from typing import Any

import sqlalchemy as sa

from kurz.settings.model import Settings
from kurz.storage.engine.migrate import Migrations
from support.migrations import read, upgrade

AT = 1_760_000_000_000_000  # microseconds
PERSON = 2**62 + 1  # ids of accounts are random
Rows = dict[str, list[dict[str, Any]]]


def old_link(code: str, **fields: Any) -> dict[str, Any]:
    url = f"https://example.com/{code}"
    usual = {"workspace_id": 0, "short_code": code, "version": 1, "strategy": "random"}
    usual |= {"original_url": url, "canonical_url": url, "link_type": "PERMANENT"}
    usual |= {"status": "ACTIVE", "created_at": AT, "updated_at": AT, "redirect_status": 302}
    return usual | {"forward_query": False, "clicks_used": 0, "redirect_count": 0} | fields


FULL = {
    "strategy": "deterministic",
    "canonical_hash": bytes(range(32)),
    "location": "https://example.com/%C3%A9",
    "starts_at": AT + 1,
    "expires_at": AT + 2,
    "deleted_at": AT + 3,
    "title": "Ein ‘Titel’ — 短",
    "notes": "two\nlines",
    "forward_query": True,
    "max_clicks": 9,
    "clicks_used": 9,
    "redirect_count": 12,
    "avg_redirect_ms": 1.5,
    "redirect_ms_m2": 0.25,
    "last_checked_at": AT + 4,
    "claim_hash": b"\x00\xff",
}
OLD_LINKS = [
    old_link("shared", workspace_id=1, tags='["one", "two"]'),
    old_link("shared", workspace_id=2, tags='["one"]', owner_id=PERSON, **FULL),
    old_link("untagged", workspace_id=1, owner_id=7),
    old_link("mine", owner_id=PERSON, tags='["grün & \\"fett\\"", "短", "twice", "twice"]'),
    old_link("deleted", owner_id=7, status="DELETED", deleted_at=AT, tags='["one"]'),
    old_link("no-tags", owner_id=7, tags="[]"),
    old_link("shared", tags='["nobody’s"]'),
    old_link("plain"),
]
OLD_ROWS: Rows = {
    "workspaces": [
        {"name": "Eins", "slug": "eins", "root_url": "https://example.com/", "created_at": AT},
        {"name": "Zwei", "slug": "zwei", "root_url": None, "created_at": AT + 1},
    ],
    "workspace_slugs": [
        {"slug": "eins", "workspace_id": 1},
        {"slug": "eins-before", "workspace_id": 1},
        {"slug": "zwei", "workspace_id": 2},
    ],
    "domains": [
        {"host": "go.example", "workspace_id": 1, "created_at": AT, "verified_at": AT + 5},
        {"host": "to.example", "workspace_id": 2, "created_at": AT, "verified_at": None},
    ],
    "links": OLD_LINKS,
    "changes": [
        {"link_id": number, "workspace_id": link["workspace_id"], "version": 1, "changed_at": AT}
        | {"short_code": link["short_code"]}
        for number, link in enumerate(OLD_LINKS, start=1)
    ],
    "counters": [{"name": "codes", "next_value": 2**40}],
    "installation": [{"name": "key", "value": b"\x00\x01\xfe"}],
    "leases": [{"name": "reaper", "holder": "me", "taken_at": AT, "until": AT + 6}],
}


def rows_of(connection: sa.Connection, columns: dict[str, list[str]]) -> Rows:
    """All rows, of the given columns of the given tables."""
    found: Rows = {}
    for name, wanted in columns.items():
        query = sa.select(sa.table(name, *(sa.column(column) for column in wanted)))
        rows = [dict(row) for row in connection.execute(query).mappings()]
        found[name] = sorted(rows, key=repr)
    return found


async def fill_old(settings: Settings, first: Migrations) -> dict[str, list[str]]:
    """Makes a database of the first schema and fills it; gives its tables and their columns."""
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, first)

    def insert(connection: sa.Connection) -> dict[str, list[str]]:
        old = sa.MetaData()
        old.reflect(connection)
        for name in ("alembic_version", "schema_revision"):
            old.remove(old.tables[name])
        for name, rows in OLD_ROWS.items():
            for row in rows:
                connection.execute(old.tables[name].insert().values(row))
        return {name: list(table.columns.keys()) for name, table in old.tables.items()}

    columns = await read(settings, insert)
    assert columns.keys() == OLD_ROWS.keys()
    return columns
