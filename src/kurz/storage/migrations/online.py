"""What migrations do while kurz is running: indexes are built without blocking writes.

On PostgreSQL, an index is built outside a transaction. So a migration that builds one does nothing
else, and can run again after it was interrupted.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import context, op

_IS_VALID = sa.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
_PARTITIONS = sa.text(
    "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = to_regclass(:name)"
    " ORDER BY 1"
)
# Nobody waits for the build, but it waits for open transactions.
_WAIT_FOR_OTHERS = sa.text("SET lock_timeout = 0")


def build_index(name: str, table: str, columns: Sequence[str], *, where: str | None = None) -> None:
    """Builds an index of columns or expressions. A broken one, left by an interrupted build, is
    dropped and built again."""
    if not context.config.attributes.get("is_in_use", False):
        condition = None if where is None else sa.text(where)
        expressions = [sa.text(it) for it in columns]
        op.create_index(
            name, table, expressions, sqlite_where=condition, postgresql_where=condition
        )
        return
    definition = f"({', '.join(columns)})" + ("" if where is None else f" WHERE {where}")
    with op.get_context().autocommit_block():
        timeout = op.get_bind().execute(sa.text("SHOW lock_timeout")).scalar_one()
        op.execute(_WAIT_FOR_OTHERS)
        try:
            if _is_partitioned(table):
                _build_by_partition(name, table, definition)
            else:
                _build(name, table, definition)
        finally:
            op.execute(f"SET lock_timeout = '{timeout}'")


def _is_partitioned(table: str) -> bool:
    query = sa.text("SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(:name)")
    return bool(op.get_bind().execute(query, {"name": table}).scalar())


def _build(name: str, table: str, definition: str) -> None:
    if op.get_bind().execute(_IS_VALID, {"name": name}).scalar() is False:
        op.execute(f"DROP INDEX CONCURRENTLY {name}")
    op.execute(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table} {definition}")


def _build_by_partition(name: str, table: str, definition: str) -> None:
    """The index of the whole table is valid when that of each partition is attached. Partitions
    that are created meanwhile have it already."""
    op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON ONLY {table} {definition}")
    connection = op.get_bind()
    for partition in connection.execute(_PARTITIONS, {"name": table}).scalars().all():
        part = f"{name}_{partition.removeprefix(table).strip('_')}"
        if _has_index_of(name, partition):
            continue
        _build(part, partition, definition)
        op.execute(f"ALTER INDEX {name} ATTACH PARTITION {part}")


def _has_index_of(name: str, partition: str) -> bool:
    """Whether the partition has an index that is attached to this one."""
    query = sa.text(
        "SELECT count(*) FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid"
        " WHERE inhparent = to_regclass(:name) AND indrelid = to_regclass(:partition)"
    )
    values = {"name": name, "partition": partition}
    return bool(op.get_bind().execute(query, values).scalar())
