"""Rows that are of no use any more. What is trimmed by those who write it is not here: tokens
that have ended, salts, clicks, runs of jobs, the change log. Limits and invitations are trimmed by
both: nobody may come again who would write some."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from kurz.clicks.batch import Kind
from kurz.clock import to_micros
from kurz.people.receipts import KEPT
from kurz.safety.reports import KEPT_REPORTS, State
from kurz.storage.batches import SQLITE_LINKS, among
from kurz.storage.clicks import lock_counting
from kurz.storage.database import Database
from kurz.storage.job_schema import code_quarantine
from kurz.storage.limits import trim as trim_limits
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.purging import COUNTED, forget_clicks
from kurz.storage.receipts import forget_receipts
from kurz.storage.safety_schema import reports
from kurz.storage.schema import changes, links, passes


def trim_codes(connection: sa.Connection, now: int, limit: int) -> int:
    old = (
        sa.select(code_quarantine.c.short_code)
        .where(code_quarantine.c.until <= now)
        .order_by(code_quarantine.c.until)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte()
    )
    is_old = code_quarantine.c.short_code.in_(sa.select(old))
    return connection.execute(sa.delete(code_quarantine).where(is_old)).rowcount


def trim_passes(connection: sa.Connection, now: int, limit: int) -> int:
    """Skips those that somebody else has locked, who may wait for others of these."""
    old = (
        sa.select(passes.c.id)
        .where(passes.c.expires_at <= now)
        .limit(limit)
        .with_for_update(skip_locked=True)
        .cte()
    )
    return connection.execute(sa.delete(passes).where(passes.c.id.in_(sa.select(old)))).rowcount


def trim_reports(connection: sa.Connection, before: int, limit: int) -> int:
    is_old = sa.and_(reports.c.state != State.OPEN, reports.c.decided_at < before)
    old = sa.select(reports.c.id).where(is_old).limit(limit)
    return connection.execute(sa.delete(reports).where(reports.c.id.in_(old), is_old)).rowcount


def find_strays(connection: sa.Connection, after: int, limit: int) -> tuple[list[int], int | None]:
    """Of the next so many rows of the change log: links that are gone and have clicks, and where to
    go on. Clicks are counted late by minutes at most, and the log goes back for a day."""
    query = sa.select(changes.c.id, changes.c.link_id).where(changes.c.id > after)
    page = query.order_by(changes.c.id).limit(limit).subquery()
    ids = connection.execute(sa.select(page.c.id)).scalars().all()
    have_clicks = sa.or_(
        *(
            sa.exists().where(it.c.kind == Kind.LINK.value, it.c.subject == page.c.link_id)
            for it in COUNTED
        )
    )
    is_there = sa.exists().where(links.c.id == page.c.link_id)
    found = sa.select(page.c.link_id).where(~is_there, have_clicks).distinct()
    strays = [*connection.execute(found).scalars()]
    return strays, ids[-1] if len(ids) == limit else None


def forget_strays(connection: sa.Connection, link_ids: Sequence[int]) -> int:
    """Nobody counts meanwhile, and a link that is there again keeps what was counted."""
    lock_counting(connection)
    query = sa.select(links.c.id).where(among(connection, links.c.id, link_ids))
    present = set(connection.execute(query).scalars())
    gone = [link_id for link_id in link_ids if link_id not in present]
    forget_clicks(connection, gone)
    return len(gone)


class SqlHousekeepingStore:
    """The `HousekeepingStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def trim_codes(self, now: datetime, limit: int) -> int:
        with patience(LIST_SECONDS):
            return await self._database.write(trim_codes, to_micros(now), limit)

    async def trim_receipts(self, now: datetime, limit: int) -> int:
        with patience(LIST_SECONDS):
            return await self._database.write(forget_receipts, to_micros(now - KEPT), limit)

    async def trim_passes(self, now: datetime, limit: int) -> int:
        with patience(LIST_SECONDS):
            return await self._database.write(trim_passes, to_micros(now), limit)

    async def trim_reports(self, now: datetime, limit: int) -> int:
        with patience(LIST_SECONDS):
            before = to_micros(now - KEPT_REPORTS)
            return await self._database.write(trim_reports, before, limit)

    async def trim_limits(self, now: datetime, limit: int) -> int:
        with patience(LIST_SECONDS):
            return await self._database.write(trim_limits, now, limit)

    async def trim_clicks(self, after: int, limit: int) -> tuple[int, int | None]:
        with patience(LIST_SECONDS):
            strays, end = await self._database.read(find_strays, after, limit)
            removed = 0
            for start in range(0, len(strays), SQLITE_LINKS):
                some = strays[start : start + SQLITE_LINKS]
                removed += await self._database.write(forget_strays, some)
        return removed, end
