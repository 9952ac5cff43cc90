"""Scheduled jobs: a schedule with the usual numbers, and time that has passed."""

from datetime import timedelta

import sqlalchemy as sa

from kurz.clock import MICROSECOND
from kurz.scheduling import Schedule
from kurz.storage.schema.jobs import leases
from kurz.wiring.core import Kurz

SCHEDULE = Schedule(
    job="reaper",
    every=timedelta(minutes=15),
    first_after=timedelta(minutes=1),
    at_least=timedelta(minutes=10),
    at_most=timedelta(minutes=14),
)


async def put_back(kurz: Kurz, span: timedelta) -> None:
    """Everything about leases happened so much earlier."""
    instants = (leases.c.taken_at, leases.c.until, leases.c.ended_at, leases.c.requested_at)
    earlier = {column.name: column - span // MICROSECOND for column in instants}
    await kurz.database.write(lambda it: it.execute(sa.update(leases).values(earlier)).close())
