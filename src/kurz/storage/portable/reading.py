"""Reads the rows of a database, in batches. The connection shows one state of it."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

from kurz.errors import BackupRefused
from kurz.storage.engine.changes import last_change
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.schema_state import revision
from kurz.storage.schema.safety import destination_position

# What is read meanwhile cannot be vacuumed. If the machine that reads is gone, the server ends the
# transaction after this; a batch is stored long before.
ABANDONED_MINUTES = 10

Row = tuple[Any, ...]


def require_known_schema(connection: sa.Connection) -> None:
    """Raises `BackupRefused` if the database has columns that this program does not know."""
    found, head = revision(connection), Migrations().head
    if found != head:
        raise BackupRefused(
            f"The database has schema {found}, but this version of kurz only knows {head}. Use the"
            " newer version of kurz."
        )


def freeze(connection: sa.Connection) -> None:
    """PostgreSQL shows the state of this moment until the transaction ends. A copy of SQLite does
    not change anyway."""
    if connection.dialect.name == "sqlite":
        return
    for setting in (
        "TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        f"LOCAL idle_in_transaction_session_timeout = '{ABANDONED_MINUTES}min'",
        "LOCAL statement_timeout = 0",
        "LOCAL application_name = 'kurz backup'",
    ):
        connection.exec_driver_sql(f"SET {setting}")


def database_bytes(connection: sa.Connection) -> int:
    query = "SELECT pg_database_size(current_database())"
    if connection.dialect.name == "sqlite":
        query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    return int(connection.exec_driver_sql(query).scalar_one())


class TableReader:
    """All rows of a table. The driver is used directly: most rows are single clicks."""

    def __init__(self, connection: sa.Connection, table: sa.Table) -> None:
        columns = [*table.columns]
        self.columns = [column.name for column in columns]
        self._is_sqlite = connection.dialect.name == "sqlite"
        self._flags = [i for i, it in enumerate(columns) if isinstance(it.type, sa.Boolean)]
        self._again = _starts_over(connection) if table is destination_position else None
        driver: Any = connection.connection.driver_connection
        text = str(sa.select(table).compile(dialect=connection.dialect))
        self._cursor = driver.execute(text) if self._is_sqlite else await_only(driver.cursor(text))

    def next(self, limit: int) -> Sequence[Row]:
        """Empty: there are no more."""
        if not self._is_sqlite:
            rows = [tuple(row) for row in await_only(self._cursor.fetch(limit))]
        else:
            rows = self._cursor.fetchmany(limit)
            if self._flags:
                rows = [self._with_flags(row) for row in rows]
        if self._again is None:
            return rows
        return [(number, 0, 0 if self._again else link_id) for number, _, link_id in rows]

    def _with_flags(self, row: Row) -> Row:
        """SQLite has numbers for them."""
        values = [*row]
        for index in self._flags:
            values[index] = None if values[index] is None else bool(values[index])
        return tuple(values)


def _starts_over(connection: sa.Connection) -> bool:
    """Whether some changes of links were not followed yet: the log of changes is not carried."""
    position = connection.execute(sa.select(destination_position)).one()
    return bool(position.change_id < last_change(connection))
