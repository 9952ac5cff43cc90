"""Stores the rows of a portable backup in an empty database, in the caller's transaction."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.util import await_only

from kurz.errors import BackupBroken, BackupRefused
from kurz.storage.backup.numbers import read_numbers, write_numbers
from kurz.storage.backup.renewal import renew
from kurz.storage.clicks.events import ensure_days
from kurz.storage.engine import sqlite
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.schema_state import set_oldest
from kurz.storage.links.search import index_existing
from kurz.storage.portable.indexes import drop_indexes
from kurz.storage.portable.reading import Row
from kurz.storage.portable.tables import CARRIED, FOLLOWERS
from kurz.storage.schema.clicks import click_events

_SETTINGS = (
    "LOCAL idle_in_transaction_session_timeout = 0",  # reading the backup may take long
    "LOCAL statement_timeout = 0",
    "LOCAL lock_timeout = 0",
)
# To build an index, SQLite sorts it in memory, without a limit: for 1,000,000 links, one of theirs
# took 110 MB, and that of their 10,000,000 clicks 460 MB.
MAX_SORTED_LINKS = 2_000_000
_UNKNOWN = "The backup is damaged: it contains an unknown table or column."


class RowLoader:
    """To be called in this order: `create`, `begin`, `add` for all rows, `finish`. Nobody else sees
    anything of it before the caller has committed."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._driver: Any = connection.connection.driver_connection
        self._is_sqlite = connection.dialect.name == "sqlite"
        self._columns: Mapping[str, Sequence[str]] = {}
        self._indexes: Sequence[str] = ()
        self._days: set[int] = set()

    def create(self, schema: str, oldest: str) -> None:
        """Creates the tables, as they were in the schema of the backup. What programs with a schema
        before `oldest` do not understand may be in it."""
        if not Migrations().create(self._connection, schema):
            raise BackupRefused(
                "The database is not empty. A backup is only restored to an empty database: create"
                " another one, and set KURZ_DATABASE_URL to it."
            )
        set_oldest(self._connection, oldest)
        for setting in () if self._is_sqlite else _SETTINGS:
            self._connection.exec_driver_sql(f"SET {setting}")

    def begin(self, columns: Mapping[str, Sequence[str]], links: int) -> None:
        """The tables of the backup, their columns, and the number of its links."""
        inspector = sa.inspect(self._connection)
        there = {*inspector.get_table_names()} - {table.name for table in FOLLOWERS[:2]}
        for table, names in columns.items():
            if table not in there or not names:
                raise BackupBroken(_UNKNOWN)
            if not {it["name"] for it in inspector.get_columns(table)}.issuperset(names):
                raise BackupBroken(_UNKNOWN)
            self._connection.exec_driver_sql(f'DELETE FROM "{table}"')  # noqa: S608  checked
        self._columns = columns
        self._indexes = drop_indexes(self._connection, self._indexed_later([*columns], links))

    def add(self, table: str, rows: Sequence[Row]) -> None:
        columns = self._columns.get(table)
        if columns is None or any(len(row) != len(columns) for row in rows):
            raise BackupBroken(_UNKNOWN)
        with_days = table == click_events.name and not self._is_sqlite
        if with_days and not self._days.issuperset(
            days := {row[columns.index("day")] for row in rows}
        ):
            ensure_days(self._connection, days)
            self._days |= days
        self._translate(lambda: self._insert(table, columns, rows), f"rows of {table}")

    def finish(self, numbers: Mapping[str, int], now: int, created_at: str) -> None:
        connection = self._connection
        for statement in self._indexes:
            self._translate(partial(connection.exec_driver_sql, statement), "an index")
        Migrations().upgrade_loaded(connection)
        self._continue_after(numbers)
        renew(connection, now, created_at)
        if self._is_sqlite:
            index_existing(connection)
            return
        for table in CARRIED:  # SQLite plans without statistics
            connection.exec_driver_sql(f"ANALYZE {table.name}")

    def _indexed_later(self, tables: Sequence[str], links: int) -> Sequence[str]:
        """Clicks come nearly in the order of their index, so it grows with them for little."""
        if not self._is_sqlite:
            return tables
        return [it for it in tables if it != click_events.name and links <= MAX_SORTED_LINKS]

    def _insert(self, table: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
        if self._is_sqlite:
            names = ", ".join(f'"{name}"' for name in columns)
            values = ", ".join("?" * len(columns))
            text = f'INSERT INTO "{table}" ({names}) VALUES ({values})'  # noqa: S608  checked
            self._driver.executemany(text, rows)
        else:
            await_only(self._driver.copy_records_to_table(table, records=rows, columns=columns))

    def _continue_after(self, numbers: Mapping[str, int]) -> None:
        """No number is issued again, and what follows the change log has seen all of it."""
        connection = self._connection
        issued = read_numbers(connection)
        for name, number in issued.items():
            query = f"SELECT coalesce(max(id), 0) FROM {name}"  # noqa: S608  our own words
            highest: int = connection.exec_driver_sql(query).scalar_one()
            issued[name] = max(number, highest, numbers.get(name, 0))
        write_numbers(connection, issued)
        for table in FOLLOWERS:
            connection.execute(sa.update(table).values(change_id=issued["changes"]))

    def _translate(self, work: Callable[[], object], what: str) -> None:
        """An outage is one. Anything else is the fault of the rows."""
        try:
            work()
        except Exception as error:
            outage = sqlite.translate(error) if self._is_sqlite else _outage(error)
            if outage is not None:
                raise outage from error
            raise BackupBroken(
                f"The backup cannot be restored: {what} cannot be stored"
                f" ({type(error).__name__}). Report this as a bug."
            ) from error


def _outage(error: Exception) -> Exception | None:
    from kurz.storage.engine.errors import translate  # late: it loads PostgreSQL's driver

    return translate(error)
