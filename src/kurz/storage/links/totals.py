"""Numbers of the whole installation."""

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION
from kurz.links.totals import Totals
from kurz.storage.engine.store import ClockedStore
from kurz.storage.links.active import active_at
from kurz.storage.schema.clicks import click_totals


def read_totals(connection: sa.Connection, now: int) -> Totals:
    active_links = connection.execute(sa.select(active_at(now))).scalar_one()
    query = sa.select(click_totals.c.clicks, click_totals.c.timed, click_totals.c.mean_ms).where(
        click_totals.c.kind == INSTALLATION.kind, click_totals.c.subject == INSTALLATION.id
    )
    found = connection.execute(query).first()
    clicks, timed, mean_ms = (0, 0, 0.0) if found is None else found
    return Totals(int(active_links), clicks, mean_ms if timed else None)


class SqlTotalsStore(ClockedStore):
    """The `TotalsStore` of both engines."""

    async def get(self) -> Totals:
        return await self._database.read(read_totals, self._clock.micros())
