"""Numbers of the whole installation."""

from datetime import datetime

import sqlalchemy as sa

from kurz.clock import Clock, to_micros
from kurz.links.model import Status
from kurz.links.totals import Totals
from kurz.storage.database import Database
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.schema import links


def count_totals(connection: sa.Connection, now: datetime) -> Totals:
    is_live = sa.or_(links.c.expires_at.is_(None), links.c.expires_at > to_micros(now))
    is_left = sa.or_(links.c.max_clicks.is_(None), links.c.clicks_used < links.c.max_clicks)
    active = sa.and_(links.c.status == Status.ACTIVE, is_live, is_left)
    redirects = sa.func.coalesce(sa.func.sum(links.c.redirect_count), 0)
    spent = sa.func.sum(links.c.redirect_count * links.c.avg_redirect_ms)
    query = sa.select(sa.func.count().filter(active), redirects, spent)
    active_links, count, milliseconds = connection.execute(query).one()
    average = float(milliseconds) / int(count) if count and milliseconds is not None else None
    return Totals(active_links, int(count), average)


class SqlTotalsStore:
    """The `TotalsStore` of both engines."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def count(self) -> Totals:
        with patience(LIST_SECONDS):
            return await self._database.read(count_totals, self._clock.now())
