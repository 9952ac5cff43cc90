"""Copies the click counts of links to the links themselves, in the background: long lists are
sorted by the copy."""

import time
from collections.abc import Collection, Iterable, Sequence

import sqlalchemy as sa
import structlog

from kurz.clicks.batch import SubjectKind
from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.schema.clicks import click_totals
from kurz.storage.schema.links import links

WAKE_SECONDS = 1.0
BATCH = 500  # links a transaction
PAGE = 2000  # totals per step, when all are checked
MAX_NOTED = 100_000  # if there are more, all links are checked instead
SHARE = 0.05  # of the time
STOP_SECONDS = 3.0
# A copy changes all indexes of a link, because one of them contains it. It is therefore renewed
# only when it is behind by this many times the square root of the clicks: first at 16 clicks, then
# at 42, and at 1,000 when it is behind by 127.
LAG = 4

_log = structlog.get_logger(__name__)
_counted = click_totals.c
_new_clicks = sa.cast(_counted.clicks - links.c.redirect_count, sa.Double)  # squared below
_ARE_BEHIND = sa.and_(
    _counted.kind == SubjectKind.LINK.value,
    _counted.subject == links.c.id,
    # Clicks only grow, and every latency comes with one.
    _counted.clicks > links.c.redirect_count,
    _new_clicks * _new_clicks >= LAG * LAG * _counted.clicks,
)


def copy_clicks(connection: sa.Connection, link_ids: Collection[int]) -> Sequence[int]:
    """Copies to those of the links that are far behind. On PostgreSQL it skips and returns locked
    links: a copy neither waits for others nor makes them wait."""
    behind = sa.select(links.c.id).where(links.c.id.in_(link_ids), _ARE_BEHIND)
    free = behind.order_by(links.c.id).with_for_update(of=links, skip_locked=True, key_share=True)
    ids = connection.execute(free).scalars().all()
    is_timed = _counted.timed > 0  # otherwise the average of an import stays
    copy = (
        sa.update(links)
        .where(links.c.id.in_(ids), _ARE_BEHIND)
        .values(
            redirect_count=_counted.clicks,
            avg_redirect_ms=sa.case((is_timed, _counted.mean_ms), else_=links.c.avg_redirect_ms),
            redirect_ms_m2=sa.case((is_timed, _counted.m2), else_=links.c.redirect_ms_m2),
        )
    )
    if ids:
        connection.execute(copy)
    return connection.execute(behind).scalars().all()


def find_behind(connection: sa.Connection, after: int, limit: int) -> tuple[list[int], int | None]:
    """Of the next totals of links: the links that are far behind, and where to continue."""
    query = (
        sa.select(_counted.subject, _ARE_BEHIND)
        .select_from(click_totals.outerjoin(links, links.c.id == _counted.subject))
        .where(_counted.kind == SubjectKind.LINK.value, _counted.subject > after)
        .order_by(_counted.subject)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    behind = [link_id for link_id, is_behind in rows if is_behind]
    return behind, rows[-1][0] if len(rows) == limit else None


class ClickCountCopier:
    """Keeps `redirect_count` and the latencies of links close enough to their totals. After a start
    it checks all links once, because a crash may have left some behind. It changes no version and
    adds nothing to the change log. Several copiers at once are harmless."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        self._database = database
        self._wake_seconds = wake_seconds
        self._noted: set[int] = set()
        self._after: int | None = 0  # how far all links are checked; None: all are
        self._copying = StoreRounds("copying click counts", self._copy, wake_seconds)
        self._looking = StoreRounds("reviewing links", self._look_over, wake_seconds)

    def note(self, link_ids: Iterable[int]) -> None:
        """Clicks of these links were counted."""
        self._noted.update(link_ids)
        if len(self._noted) > MAX_NOTED:
            self._noted.clear()
            self._after = 0

    @property
    def waiting(self) -> int:
        return len(self._noted)

    def start(self) -> None:
        self._copying.start()
        self._looking.start()

    async def stop(self) -> None:
        """Copies what was noted, until the time is up; the next start does the rest."""
        await self._looking.stop()
        await self._copying.stop()
        due, until = sorted(self._noted), time.monotonic() + STOP_SECONDS
        try:
            while due and time.monotonic() < until:
                await self._database.write(copy_clicks, due[:BATCH])
                del due[:BATCH]
        except StoreUnavailable as error:
            _log.warning("click counts of links are behind", reason=error.detail)

    async def _copy(self) -> None:
        """Counts noted from now on are copied after these."""
        due, self._noted = sorted(self._noted), set()
        while due and not self._copying.is_stopping:
            copy = self._database.write(copy_clicks, due[:BATCH])
            try:
                self.note(await self._copying.pace(copy, SHARE))
            except BaseException:
                self.note(due)
                raise
            del due[:BATCH]
        self.note(due)  # what is left at the end is copied by `stop`

    async def _look_over(self) -> None:
        """Only reads: what it finds is copied as if it had been noted."""
        while self._after is not None and not self._looking.is_stopping:
            after = self._after
            look = self._database.read(find_behind, after, PAGE)
            behind, next_after = await self._looking.pace(look, SHARE)
            if self._after == after:  # otherwise there is a reason to start over
                self._after = next_after
            self.note(behind)
            while len(self._noted) > MAX_NOTED // 2 and not self._looking.is_stopping:
                await self._looking.rest(self._wake_seconds)
