"""The instant that a statement is run at, by the clock that all instances share."""

import sqlalchemy as sa

from kurz.clock import Clock

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
