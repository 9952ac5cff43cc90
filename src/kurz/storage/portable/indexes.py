"""Indexes are built when all rows are there: that takes a fraction of the time that it takes to
add rows to them. Those of primary keys and unique columns stay, and those that need too much memory
to be built."""

from collections.abc import Sequence

import sqlalchemy as sa

_SQLITE = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
_POSTGRES = (
    "SELECT tables.relname, names.relname, pg_get_indexdef(indexrelid) FROM pg_index"
    " JOIN pg_class names ON names.oid = indexrelid JOIN pg_class tables ON tables.oid = indrelid"
    " WHERE tables.relnamespace = current_schema()::regnamespace"
    " AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)"
)


def drop_indexes(connection: sa.Connection, tables: Sequence[str]) -> list[str]:
    """Returns the statements that build them again."""
    is_sqlite = connection.dialect.name == "sqlite"
    found = connection.exec_driver_sql(_SQLITE if is_sqlite else _POSTGRES).all()
    statements = []
    for table, name, statement in found:
        if table in tables:
            connection.exec_driver_sql(f"DROP INDEX {name}")
            # An index of a partitioned table is one of all its partitions.
            statements.append(statement.replace(" ON ONLY ", " ON ", 1))
    return statements
