"""What runs queries. A query is a plain function `(connection, arguments) → values`."""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from kurz.freshness.routes import Change

P = ParamSpec("P")
T = TypeVar("T")
A = TypeVar("A")
Query = Callable[Concatenate[sa.Connection, P], T]
# A query for many callers: it gets what each of them passed, and returns a result for each.
SharedQuery = Callable[[sa.Connection, Sequence[A]], Sequence[T]]

MOST_TOGETHER = 64  # items that a shared query gets at once


class Database(Protocol):
    """Runs each query in a transaction of its own and raises `StoreUnavailable` when the engine
    does not answer, is full or is locked. A write is durable when `write` returns. Just before,
    `on_commit` gets its rows of the change log."""

    on_commit: Callable[[Sequence[Change]], None]

    async def read(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def write(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    async def write_together(self, query: SharedQuery[A, T], item: A) -> T:
        """Like `write`, for a query that handles the items of several callers at once: those that
        wait at the same time. If it fails, it runs again for each item alone."""

    async def look_up(self, query: Query[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like `read`, for lookups that a visitor waits for: it has a shorter deadline."""

    async def check(self) -> None:
        """Returns while the engine answers and can be written to."""

    def counts(self) -> dict[str, int]:
        """Counts of its work so far, for the log."""

    async def close(self) -> None: ...


def tell_nobody(_: Sequence[Change]) -> None:
    """The `on_commit` of a database without caches."""


def ping(connection: sa.Connection) -> None:
    connection.execute(sa.select(1))


class HotStatement:
    """A statement of the create path. On SQLite the driver runs it directly: through SQLAlchemy a
    link and its change cost 98 µs, this way 28 (`docs/adr/0004-storage.md`)."""

    def __init__(self, statement: sa.Insert, columns: Sequence[str]) -> None:
        self._statement = statement
        self._columns = columns
        compiled = statement.compile(dialect=sqlite.dialect(), column_keys=columns)
        self._sqlite_text = str(compiled)
        order = compiled.positiontup
        if order != list(columns):
            raise ValueError(f"columns are not in the order of the table: {order}")

    def scalar(self, connection: sa.Connection, values: Sequence[Any]) -> Any:
        """The first column of the first row, or None."""
        if connection.dialect.name == "sqlite":
            driver: Any = connection.connection.driver_connection
            # fetchall ends the statement; otherwise a commit would wait for it.
            rows = driver.execute(self._sqlite_text, values).fetchall()
            return rows[0][0] if rows else None
        result = connection.execute(self._statement, dict(zip(self._columns, values, strict=True)))
        return result.scalar() if result.returns_rows else None

    def rowcount(self, connection: sa.Connection, values: Sequence[Any]) -> int:
        """How many rows it wrote: cheaper than returning one."""
        if connection.dialect.name == "sqlite":
            driver: Any = connection.connection.driver_connection
            return int(driver.execute(self._sqlite_text, values).rowcount)
        named = dict(zip(self._columns, values, strict=True))
        return connection.execute(self._statement, named).rowcount
