"""Adds up months that are over, in the background."""

import asyncio

from kurz.clicks.batch import Subject
from kurz.clicks.months import month_of, pack
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.storage.clicks.months import find_busy, find_stale, keep_month
from kurz.storage.clicks.stats import find_days
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.rounds import StoreRounds

WAKE_SECONDS = 600.0
STRETCH = 2000  # subjects that are checked at a time
LEAST_CLICKS = 5000  # in total: a report of fewer is fast day by day
CLOSED_DAYS = 2  # after a month's end: clicks are usually loaded within seconds


class MonthFolder(StoreRounds):
    """Keeps the sums of whole months for all subjects with many clicks, and renews those that got
    more clicks later. Several at once are harmless: a sum is used only if it matches its days."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        wake_seconds: float = WAKE_SECONDS,
        least_clicks: int = LEAST_CLICKS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._least_clicks = least_clicks
        self._done: dict[Subject, tuple[int, int]] = {}
        super().__init__("adding up monthly statistics", self.fold, wake_seconds)

    async def fold(self) -> None:
        """Does all the work there is. Subjects without clicks since the last time are skipped.
        Pauses as long as the work took: half of the time is for others."""
        today = self._clock.micros() // DAY_MICROS
        before = month_of(today - CLOSED_DAYS).start
        after: Subject | None = None
        is_more = True
        with deadline(LIST_SECONDS):
            while is_more and not self.is_stopping:
                look = self._database.read(find_busy, after, STRETCH, self._least_clicks)
                found = await self.pace(look)
                for subject, clicks in found.busy:
                    await self._fold(subject, before, clicks)
                after, is_more = found.end, found.end is not None

    async def _fold(self, subject: Subject, before: int, clicks: int) -> None:
        if self._done.get(subject) == (before, clicks) or self.is_stopping:
            return
        stale = list(await self.pace(self._database.read(find_stale, subject, before)))
        while stale and not self.is_stopping:
            await self.pace(self._keep(subject, month_of(stale.pop())))
        if not stale:
            self._done[subject] = before, clicks

    async def _keep(self, subject: Subject, month: range) -> None:
        days = await self._database.read(find_days, subject, month, with_counts=True)
        found = await asyncio.to_thread(pack, month.start, days)
        await self._database.write(keep_month, subject, found)
