"""Leases of scheduled jobs, by the database's clock."""

from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import MICROSECOND, Clock, from_micros, from_micros_or_none, to_micros
from kurz.scheduling import Cause, Lease, Schedule
from kurz.storage.database import Database
from kurz.storage.instants import now_in, read_now
from kurz.storage.job_schema import leases

_IS_FREE = leases.c.ended_at.is_not(None)  # whatever `until` says


def look(connection: sa.Connection, job: str, clock: Clock) -> tuple[Lease | None, datetime]:
    row = connection.execute(sa.select(leases).where(leases.c.name == job)).first()
    return None if row is None else _lease(row), from_micros(read_now(connection, clock))


def take(
    connection: sa.Connection, schedule: Schedule, holder: str, cause: Cause, clock: Clock
) -> Lease | None:
    now = now_in(connection, clock)
    made = insert(leases).values(
        name=schedule.job,
        holder=holder,
        taken_at=now,
        until=now + _micros(schedule.at_most),
        ended_at=None,
        asked_at=None,
    )
    taken = made.excluded
    statement = made.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={
            name: taken[name] for name in ("holder", "taken_at", "until", "ended_at", "asked_at")
        },
        where=_condition(schedule, cause, taken.taken_at),
    ).returning(leases)
    row = connection.execute(statement).first()
    return None if row is None else _lease(row)


def give_back(connection: sa.Connection, lease: Lease, at_least: timedelta, clock: Clock) -> bool:
    now = now_in(connection, clock)
    kept_until = to_micros(lease.taken_at + at_least)
    is_ours = sa.and_(
        leases.c.name == lease.job,
        leases.c.holder == lease.holder,
        leases.c.taken_at == to_micros(lease.taken_at),
        leases.c.ended_at.is_(None),
    )
    until = sa.case((now > kept_until, now), else_=kept_until)
    given = sa.update(leases).where(is_ours).values(ended_at=now, until=until)
    return connection.execute(given).rowcount == 1


def ask(connection: sa.Connection, job: str, clock: Clock) -> datetime | None:
    now = now_in(connection, clock)
    # A job that nobody ever held has a lease that is over.
    made = insert(leases).values(name=job, holder="", taken_at=0, until=0, ended_at=0, asked_at=now)
    statement = made.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"asked_at": made.excluded.asked_at},
        where=sa.or_(_IS_FREE, leases.c.until <= made.excluded.asked_at),
    ).returning(leases.c.asked_at)
    return from_micros_or_none(connection.execute(statement).scalar())


def withdraw(connection: sa.Connection, job: str) -> bool:
    is_asked = sa.and_(leases.c.name == job, leases.c.asked_at.is_not(None))
    return connection.execute(sa.update(leases).where(is_asked).values(asked_at=None)).rowcount == 1


class SqlLeaseStore:
    """The `LeaseStore` of both engines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def look(self, job: str) -> tuple[Lease | None, datetime]:
        return await self._database.read(look, job, self._clock)

    async def take(self, schedule: Schedule, holder: str, cause: Cause) -> Lease | None:
        return await self._database.write(take, schedule, holder, cause, self._clock)

    async def give_back(self, lease: Lease, at_least: timedelta) -> bool:
        return await self._database.write(give_back, lease, at_least, self._clock)

    async def ask(self, job: str) -> datetime | None:
        return await self._database.write(ask, job, self._clock)

    async def withdraw(self, job: str) -> bool:
        return await self._database.write(withdraw, job)


def _condition(
    schedule: Schedule, cause: Cause, now: sa.ColumnElement[int]
) -> sa.ColumnElement[bool]:
    """As `Schedule.cause` has it, on the row as it is when it is written."""
    is_over = leases.c.until <= now
    is_astray = leases.c.taken_at > now + _micros(schedule.at_most)
    if cause is Cause.DUE:
        is_time = sa.or_(
            leases.c.ended_at.is_(None), leases.c.taken_at <= now - _micros(schedule.every)
        )
        return sa.or_(sa.and_(is_over, is_time), is_astray)
    is_free = sa.or_(_IS_FREE, is_over, is_astray)
    return is_free if cause is Cause.NOW else sa.and_(is_free, leases.c.asked_at.is_not(None))


def _micros(span: timedelta) -> int:
    return span // MICROSECOND


def _lease(row: sa.Row[*tuple[Any, ...]]) -> Lease:
    return Lease(
        row.name,
        row.holder,
        from_micros(row.taken_at),
        from_micros(row.until),
        from_micros_or_none(row.ended_at),
        from_micros_or_none(row.asked_at),
    )
