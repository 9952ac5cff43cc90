"""Rate limits that several processes share without Redis, in the database."""

import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock, to_micros
from kurz.errors import StoreUnavailable
from kurz.people.limits import SKEW_MICROS, LimitsUnavailable, LimitVerdict, verdict
from kurz.rates import Rate
from kurz.storage.engine.database import Database
from kurz.storage.schema.people import limits

TRIM_EVERY = 64  # hits of this process
TRIM_ROWS = 256  # more than were added since the last time, so that it catches up


class _Statements(NamedTuple):
    """Built once: building them again costs more than the rest of a hit."""

    charge: sa.Executable
    backlog: sa.Executable
    trim: sa.Executable


def hit(connection: sa.Connection, key: str, rate: Rate, cost: int, clock: Clock) -> LimitVerdict:
    """Charges the key if the rate allows it."""
    statements = _STATEMENTS[connection.dialect.name]
    values = {
        "subject": key,
        "step": cost * rate.interval_micros,
        "capacity": rate.capacity_micros,
        **_time(connection, clock.now()),
    }
    backlog = connection.execute(statements.charge, values).scalar() if cost <= rate.count else None
    if backlog is not None:
        return verdict(rate, is_allowed=True, backlog_micros=backlog, cost=cost)
    backlog = max(connection.execute(statements.backlog, values).scalar() or 0, 0)
    return verdict(rate, is_allowed=False, backlog_micros=backlog, cost=cost)


def trim(connection: sa.Connection, now: datetime, limit: int) -> int:
    """Deletes rows that are past due: without them, the result is the same. Returns how many."""
    values = {"rows": limit, **_time(connection, now)}
    return connection.execute(_STATEMENTS[connection.dialect.name].trim, values).rowcount


class SqlLimits:
    """The `LimitStore` of both engines. PostgreSQL uses its own clock, so those of the instances do
    not matter; all processes on an SQLite file share the machine's. `hashed` is made by
    `hashing`."""

    def __init__(self, database: Database, clock: Clock, hashed: Callable[[str], str]) -> None:
        self._database = database
        self._clock = clock
        self._hashed = hashed
        self._hits = itertools.count(1)

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        try:
            found = await self._database.write(hit, self._hashed(key), rate, cost, self._clock)
            if next(self._hits) % TRIM_EVERY == 0:
                await self._database.write(trim, self._clock.now(), TRIM_ROWS)
        except StoreUnavailable as outage:
            raise LimitsUnavailable from outage
        return found


def _time(connection: sa.Connection, now: datetime) -> dict[str, int]:
    return {"now": to_micros(now)} if connection.dialect.name == "sqlite" else {}


def _statements(now: sa.ColumnElement[int], *aside: sa.ColumnElement[Any]) -> _Statements:
    """`aside` is read together with the result of a hit."""
    step, capacity = _number("step"), _number("capacity")
    subject = sa.bindparam("subject", type_=sa.Text)
    charge = insert(limits).values(key=subject, due_at=now + step)
    # The row to insert holds the time that was read once: PostgreSQL's clock moves on within a
    # statement, and while the statement waits for the row.
    now_once = charge.excluded.due_at - step
    is_ahead = limits.c.due_at.between(now_once, now_once + capacity + SKEW_MICROS)
    due_at = sa.case((is_ahead, limits.c.due_at), else_=now_once) + step
    guarded = charge.on_conflict_do_update(
        index_elements=[limits.c.key],
        set_={"due_at": due_at},
        where=due_at <= now_once + capacity,
    )
    backlog = limits.c.due_at - now
    past = sa.select(limits.c.key).where(limits.c.due_at < now).order_by(limits.c.due_at)
    # Rows that are being charged are skipped; otherwise there could be a deadlock.
    some = past.limit(_number("rows")).with_for_update(skip_locked=True)
    return _Statements(
        charge=guarded.returning(backlog, *aside),
        backlog=sa.select(backlog, *aside).where(limits.c.key == subject),
        trim=sa.delete(limits).where(limits.c.key.in_(some)),
    )


def _number(name: str) -> sa.BindParameter[int]:
    return sa.bindparam(name, type_=sa.BigInteger)


_STATEMENTS = {
    "sqlite": _statements(_number("now")),
    "postgresql": _statements(
        sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger),
        # A crash may lose the last hits: they are not worth waiting for the disk. As a column, the
        # setting saves a statement and a round trip.
        sa.func.set_config("synchronous_commit", "off", sa.true()),
    ),
}
