"""Leases of scheduled jobs, by the database's clock."""

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import MICROSECOND, Clock, from_micros, from_micros_or_none, to_micros
from kurz.scheduling import Lease, RunCause, Schedule
from kurz.storage.engine.instants import now_in, read_now
from kurz.storage.engine.rows import to_object
from kurz.storage.engine.store import ClockedStore, writes
from kurz.storage.schema.jobs import leases

_IS_FREE = leases.c.ended_at.is_not(None)  # whatever `until` says


def look(connection: sa.Connection, job: str, clock: Clock) -> tuple[Lease | None, datetime]:
    lease = _find(connection, sa.select(leases).where(leases.c.name == job))
    return lease, from_micros(read_now(connection, clock))


def take(
    connection: sa.Connection, schedule: Schedule, holder: str, cause: RunCause, clock: Clock
) -> Lease | None:
    now = now_in(connection, clock)
    made = insert(leases).values(
        name=schedule.job,
        holder=holder,
        taken_at=now,
        until=now + _micros(schedule.at_most),
        ended_at=None,
        requested_at=None,
    )
    taken = made.excluded
    statement = made.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={
            name: taken[name]
            for name in ("holder", "taken_at", "until", "ended_at", "requested_at")
        },
        where=_condition(schedule, cause, taken.taken_at),
    ).returning(leases)
    return _find(connection, statement)


def renew(connection: sa.Connection, lease: Lease, at_most: timedelta, clock: Clock) -> bool:
    until = now_in(connection, clock) + _micros(at_most)
    renewed = sa.update(leases).where(_is_held_as(lease)).values(until=until)
    return connection.execute(renewed).rowcount == 1


def give_back(connection: sa.Connection, lease: Lease, at_least: timedelta, clock: Clock) -> bool:
    now = now_in(connection, clock)
    kept_until = to_micros(lease.taken_at + at_least)
    until = sa.case((now > kept_until, now), else_=kept_until)
    given = sa.update(leases).where(_is_held_as(lease)).values(ended_at=now, until=until)
    return connection.execute(given).rowcount == 1


def ask(connection: sa.Connection, job: str, clock: Clock) -> datetime | None:
    now = now_in(connection, clock)
    # A job that never ran has an expired lease.
    made = insert(leases).values(
        name=job, holder="", taken_at=0, until=0, ended_at=0, requested_at=now
    )
    statement = made.on_conflict_do_update(
        index_elements=[leases.c.name],
        set_={"requested_at": made.excluded.requested_at},
        where=sa.or_(_IS_FREE, leases.c.until <= made.excluded.requested_at),
    ).returning(leases.c.requested_at)
    return from_micros_or_none(connection.execute(statement).scalar())


def withdraw(connection: sa.Connection, job: str) -> bool:
    is_requested = sa.and_(leases.c.name == job, leases.c.requested_at.is_not(None))
    return (
        connection.execute(sa.update(leases).where(is_requested).values(requested_at=None)).rowcount
        == 1
    )


class SqlLeaseStore(ClockedStore):
    """The `LeaseStore` of both engines."""

    async def look(self, job: str) -> tuple[Lease | None, datetime]:
        return await self._database.read(look, job, self._clock)

    async def take(self, schedule: Schedule, holder: str, cause: RunCause) -> Lease | None:
        return await self._database.write(take, schedule, holder, cause, self._clock)

    async def renew(self, lease: Lease, at_most: timedelta) -> bool:
        return await self._database.write(renew, lease, at_most, self._clock)

    async def give_back(self, lease: Lease, at_least: timedelta) -> bool:
        return await self._database.write(give_back, lease, at_least, self._clock)

    async def ask(self, job: str) -> datetime | None:
        return await self._database.write(ask, job, self._clock)

    withdraw = writes(withdraw)


def _condition(
    schedule: Schedule, cause: RunCause, now: sa.ColumnElement[int]
) -> sa.ColumnElement[bool]:
    """The rule of `Schedule.cause`, checked on the row when it is written."""
    is_over = leases.c.until <= now
    is_from_future = leases.c.taken_at > now + _micros(schedule.at_most)
    if cause is RunCause.DUE:
        is_time = sa.or_(
            leases.c.ended_at.is_(None), leases.c.taken_at <= now - _micros(schedule.every)
        )
        return sa.or_(sa.and_(is_over, is_time), is_from_future)
    is_free = sa.or_(_IS_FREE, is_over, is_from_future)
    return (
        is_free if cause is RunCause.NOW else sa.and_(is_free, leases.c.requested_at.is_not(None))
    )


def _is_held_as(lease: Lease) -> sa.ColumnElement[bool]:
    return sa.and_(
        leases.c.name == lease.job,
        leases.c.holder == lease.holder,
        leases.c.taken_at == to_micros(lease.taken_at),
        leases.c.ended_at.is_(None),
    )


def _micros(span: timedelta) -> int:
    return span // MICROSECOND


def _find(connection: sa.Connection, statement: sa.Executable) -> Lease | None:
    row = connection.execute(statement).mappings().first()
    return None if row is None else to_object(Lease, row, job=row["name"])
