"""Whether the role of PostgreSQL may do what kurz needs. SQLite has no roles."""

import sqlalchemy as sa

from kurz.storage.engine.errors import forbidden
from kurz.storage.schema.base import metadata

_MAY_CREATE = "SELECT has_schema_privilege(current_schema(), 'CREATE')"
_MAY_WRITE = """
SELECT bool_and(has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
                AND has_table_privilege(c.oid, 'DELETE'))
FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(:names)
"""


def check_creating(connection: sa.Connection) -> None:
    """Raises `StoreUnavailable` if the role may not create the tables."""
    _require(connection, _MAY_CREATE)


def check_writing(connection: sa.Connection) -> None:
    """Raises `StoreUnavailable` if the role may not write to the tables."""
    _require(connection, _MAY_WRITE, names=[*metadata.tables])


def _require(connection: sa.Connection, query: str, **values: object) -> None:
    if connection.dialect.name == "sqlite":
        return
    if not connection.execute(sa.text(query), values).scalar_one():
        raise forbidden()
