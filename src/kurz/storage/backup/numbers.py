"""The last numbers that a database has issued, by table. Rows that were deleted had some of
them."""

import re
from collections.abc import Mapping

import sqlalchemy as sa

_AUTOINCREMENT = re.compile(r"\bAUTOINCREMENT\b", re.IGNORECASE)
_SEQUENCES = (
    "SELECT relname, pg_get_serial_sequence(quote_ident(relname), 'id')"
    " FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attname = 'id'"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')"
    " AND NOT relispartition"
)


def read_numbers(connection: sa.Connection) -> dict[str, int]:
    """Of all tables whose rows are numbered; 0: no row was."""
    if connection.dialect.name == "sqlite":
        return _read_sqlite(connection)
    found = {}
    for table, name in _sequences(connection).items():
        query = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}"  # noqa: S608
        found[table] = int(connection.exec_driver_sql(query).scalar_one())
    return found


def write_numbers(connection: sa.Connection, numbers: Mapping[str, int]) -> None:
    """The next rows of these tables get higher numbers."""
    if connection.dialect.name != "sqlite":
        names = _sequences(connection)
        for table, number in numbers.items():
            connection.execute(sa.select(sa.func.setval(names[table], max(number, 1))))
        return
    for row in numbers.items():
        connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", row[:1])
        connection.exec_driver_sql("INSERT INTO sqlite_sequence VALUES (?, ?)", row)


def _read_sqlite(connection: sa.Connection) -> dict[str, int]:
    """SQLite numbers rows from what it remembers for each table; nothing, if it never had one."""
    master = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    names = [row.name for row in master if _AUTOINCREMENT.search(row.sql or "")]
    rows = connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
    last: dict[str, int] = {row.name: row.seq for row in rows}
    return {name: last.get(name, 0) for name in names}


def _sequences(connection: sa.Connection) -> dict[str, str]:
    """By the table whose `id` they number."""
    return {table: name for table, name in connection.exec_driver_sql(_SEQUENCES) if name}
