"""All rows of a database: read, written back and compared."""

from typing import Any

import sqlalchemy as sa

from kurz.storage.schema import base

# What a server does for itself, and how far the search index and the count of links are.
OWN_TABLES = {"installation", "counters", "leases", "limits", "search_position", "count_position"}
TABLES = [table for table in base.metadata.sorted_tables if table.name not in OWN_TABLES]
Rows = dict[str, list[dict[str, Any]]]


def read_tables(connection: sa.Connection) -> Rows:
    return {
        table.name: [dict(row) for row in connection.execute(sa.select(table)).mappings()]
        for table in TABLES
    }


def write_tables(connection: sa.Connection, saved: Rows) -> None:
    for table in TABLES:
        connection.execute(sa.delete(table))
        if rows := saved[table.name]:
            connection.execute(sa.insert(table), rows)


def comparable(rows: Rows) -> dict[str, list[str]]:
    """Without the one thing that a refused request may leave: when a key was last tried."""
    return {
        name: sorted(repr({k: v for k, v in row.items() if k != "last_used_at"}) for row in found)
        for name, found in rows.items()
    }
