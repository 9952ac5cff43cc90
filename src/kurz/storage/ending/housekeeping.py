"""Deletes rows that are no longer needed. Rows that are trimmed by their own writers are not here:
ended tokens, salts, clicks, runs of jobs, the change log. Limits and invitations are trimmed by
both, because there may be no further writes."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clock import to_micros
from kurz.safety.abuse_reports import KEPT_REPORTS, ReportState
from kurz.storage.clicks.store import lock_counting
from kurz.storage.ending.purging import COUNTED, forget_clicks
from kurz.storage.engine.batches import SQLITE_LINKS, among, delete_some
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, writes
from kurz.storage.links.receipts import trim_receipts
from kurz.storage.people.limits import trim as trim_limits
from kurz.storage.schema.jobs import code_quarantine
from kurz.storage.schema.links import changes, links
from kurz.storage.schema.people import one_time_tokens
from kurz.storage.schema.safety import reports


def trim_codes(connection: sa.Connection, now: datetime, limit: int) -> int:
    until = code_quarantine.c.until
    return delete_some(connection, code_quarantine, until <= to_micros(now), limit, until)


def trim_one_time_tokens(connection: sa.Connection, now: datetime, limit: int) -> int:
    is_old = one_time_tokens.c.expires_at <= to_micros(now)
    return delete_some(connection, one_time_tokens, is_old, limit)


def trim_reports(connection: sa.Connection, now: datetime, limit: int) -> int:
    before = to_micros(now - KEPT_REPORTS)
    is_old = sa.and_(reports.c.state != ReportState.OPEN, reports.c.decided_at < before)
    old = sa.select(reports.c.id).where(is_old).limit(limit)
    return connection.execute(sa.delete(reports).where(reports.c.id.in_(old), is_old)).rowcount


def find_strays(connection: sa.Connection, after: int, limit: int) -> tuple[list[int], int | None]:
    """Of the next rows of the change log: purged links that have clicks, and where to continue.
    Clicks are counted minutes late at most, and the log goes back for a day."""
    query = sa.select(changes.c.id, changes.c.link_id).where(changes.c.id > after)
    page = query.order_by(changes.c.id).limit(limit).subquery()
    ids = connection.execute(sa.select(page.c.id)).scalars().all()
    have_clicks = sa.or_(
        *(
            sa.exists().where(it.c.kind == SubjectKind.LINK.value, it.c.subject == page.c.link_id)
            for it in COUNTED
        )
    )
    is_there = sa.exists().where(links.c.id == page.c.link_id)
    found = sa.select(page.c.link_id).where(~is_there, have_clicks).distinct()
    strays = [*connection.execute(found).scalars()]
    return strays, ids[-1] if len(ids) == limit else None


def forget_strays(connection: sa.Connection, link_ids: Sequence[int]) -> int:
    """No clicks are counted meanwhile, and a restored link keeps its counts."""
    lock_counting(connection)
    query = sa.select(links.c.id).where(among(connection, links.c.id, link_ids))
    present = set(connection.execute(query).scalars())
    gone = [link_id for link_id in link_ids if link_id not in present]
    forget_clicks(connection, gone)
    return len(gone)


class SqlHousekeepingStore(SqlStore):
    """The `HousekeepingStore` of both engines."""

    trim_codes = writes(trim_codes, LIST_SECONDS)
    trim_receipts = writes(trim_receipts, LIST_SECONDS)
    trim_one_time_tokens = writes(trim_one_time_tokens, LIST_SECONDS)
    trim_reports = writes(trim_reports, LIST_SECONDS)
    trim_limits = writes(trim_limits, LIST_SECONDS)

    async def trim_clicks(self, after: int, limit: int) -> tuple[int, int | None]:
        with deadline(LIST_SECONDS):
            strays, end = await self._database.read(find_strays, after, limit)
            removed = 0
            for start in range(0, len(strays), SQLITE_LINKS):
                some = strays[start : start + SQLITE_LINKS]
                removed += await self._database.write(forget_strays, some)
        return removed, end
