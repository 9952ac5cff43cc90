"""The time of a statement, by the clock that all instances share."""

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import Clock, from_micros
from kurz.storage.engine.database import Database

# Constant within a statement, and new in the next, even in the same transaction.
POSTGRES_NOW = sa.cast(
    sa.extract("epoch", sa.func.statement_timestamp()) * 1_000_000, sa.BigInteger
)


def now_in(connection: sa.Connection, clock: Clock) -> sa.ColumnElement[int]:
    """For use in a statement: PostgreSQL uses its own clock, so those of the instances do not
    matter. All processes on an SQLite file share the machine's clock, even if it was set back."""
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
    """For removing by age: the earlier of the database's clock and this process's, which may follow
    it a minute late. None while the database's clock is not trusted."""
    now = await database.read(read_now, clock)
    return min(now, clock.earliest_micros()) if is_believed(from_micros(now)) else None
