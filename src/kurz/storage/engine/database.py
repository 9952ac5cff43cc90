"""What runs queries. A query is a plain function `(connection, arguments) → values`."""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from kurz.links.model import Change

P = ParamSpec("P")
T = TypeVar("T")


class Database(Protocol):
    """Runs each query in a transaction of its own and raises `StoreUnavailable` when the engine
    does not answer, is full or is locked. A write is durable when `write` returns; what it has left
    in the change log, `on_commit` was told just before."""

    on_commit: Callable[[Sequence[Change]], None]

    async def read(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...

    async def write(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...

    async def look_up(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `read`, for what a visitor waits for: it is given up sooner."""

    async def check(self) -> None:
        """Returns while the engine answers and can be written to."""

    def counts(self) -> dict[str, int]:
        """What it has done so far, for the log."""

    async def close(self) -> None: ...


def tell_nobody(_: Sequence[Change]) -> None:
    """The `on_commit` of a database that nothing is cached of."""


def ping(connection: sa.Connection) -> None:
    connection.execute(sa.select(1))


class HotStatement:
    """A statement of the create path. On SQLite it is run by the driver itself: through SQLAlchemy
    a link and its change cost 98 µs, this way 28 (`docs/adr/0004-storage.md`)."""

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
            # fetchall ends the statement, which a commit has to wait for otherwise.
            rows = driver.execute(self._sqlite_text, values).fetchall()
            return rows[0][0] if rows else None
        result = connection.execute(self._statement, dict(zip(self._columns, values, strict=True)))
        return result.scalar() if result.returns_rows else None

    def rowcount(self, connection: sa.Connection, values: Sequence[Any]) -> int:
        """How many rows it wrote: cheaper than to have one returned."""
        if connection.dialect.name == "sqlite":
            driver: Any = connection.connection.driver_connection
            return int(driver.execute(self._sqlite_text, values).rowcount)
        named = dict(zip(self._columns, values, strict=True))
        return connection.execute(self._statement, named).rowcount
