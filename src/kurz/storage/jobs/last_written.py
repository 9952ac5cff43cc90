"""When something was last written, by the clock of its writer."""

import sqlalchemy as sa

from kurz.storage.schema.jobs import leases
from kurz.storage.schema.links import changes


def last_written(connection: sa.Connection) -> int | None:
    """In microseconds. Links are changed now and then, and scheduled jobs start every few minutes.
    None: nothing was written yet."""
    change = sa.select(changes.c.changed_at).order_by(changes.c.id.desc()).limit(1)
    job = sa.select(sa.func.max(leases.c.taken_at))
    found = connection.execute(sa.select(change.scalar_subquery(), job.scalar_subquery())).one()
    return max((micros for micros in found if micros is not None), default=None)
