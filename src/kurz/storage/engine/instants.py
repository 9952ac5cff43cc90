"""The instant that a statement is run at, by the clock that all instances share."""

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import Clock, from_micros
from kurz.storage.database import Database

# The same throughout a statement, and another one in the next, be it in the same transaction.
POSTGRES_NOW = sa.cast(
    sa.extract("epoch", sa.func.statement_timestamp()) * 1_000_000, sa.BigInteger
)


def now_in(connection: sa.Connection, clock: Clock) -> sa.ColumnElement[int]:
    """For within a statement: PostgreSQL goes by its own clock, so that those of the instances do
    not matter; all who share an SQLite file share the machine's, also when it was set back."""
    if connection.dialect.name == "sqlite":
        return sa.literal(clock.earliest_micros(), sa.BigInteger)
    return POSTGRES_NOW


def read_now(connection: sa.Connection, clock: Clock) -> int:
    if connection.dialect.name == "sqlite":
        return clock.earliest_micros()
    return read_postgres_now(connection)


def read_postgres_now(connection: sa.Connection) -> int:
    now: int = connection.execute(sa.select(POSTGRES_NOW)).scalar_one()
    return now


async def read_trusted(
    database: Database, clock: Clock, is_believed: Callable[[datetime], bool]
) -> int | None:
    """For what removes by age: the earlier one of the database's clock and this process's, which
    may follow it a minute late. None while the database's clock is not believed."""
    now = await database.read(read_now, clock)
    return min(now, clock.earliest_micros()) if is_believed(from_micros(now)) else None
