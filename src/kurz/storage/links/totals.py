"""Numbers of the whole installation."""

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION
from kurz.clock import Clock
from kurz.links.totals import Totals
from kurz.storage.active_links import active_at
from kurz.storage.click_schema import click_totals
from kurz.storage.database import Database


def read_totals(connection: sa.Connection, now: int) -> Totals:
    active_links = connection.execute(sa.select(active_at(now))).scalar_one()
    query = sa.select(click_totals.c.clicks, click_totals.c.timed, click_totals.c.mean_ms).where(
        click_totals.c.kind == INSTALLATION.kind, click_totals.c.subject == INSTALLATION.id
    )
    found = connection.execute(query).first()
    clicks, timed, mean_ms = (0, 0, 0.0) if found is None else found
    return Totals(int(active_links), clicks, mean_ms if timed else None)


class SqlTotalsStore:
    """The `TotalsStore` of both engines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def get(self) -> Totals:
        return await self._database.read(read_totals, self._clock.micros())
