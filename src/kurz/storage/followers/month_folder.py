"""Adds up months that are over, in the background."""

import asyncio

from kurz.clicks.batch import Subject
from kurz.clicks.months import month_of, pack
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.storage.click_months import find_busy, find_stale, keep_month
from kurz.storage.click_reports import find_days
from kurz.storage.database import Database
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.rounds import Rounds

WAKE_SECONDS = 600.0
STRETCH = 2000  # subjects that are looked at in one go
LEAST_CLICKS = 5000  # of all time: a report of fewer is fast day by day
CLOSED_DAYS = 2  # after a month's end: clicks are loaded within seconds, unless there was trouble


class MonthFolder:
    """Keeps the sums of whole months of all subjects with many clicks, and makes those again that
    got more later. Several at once are harmless: nobody uses a sum that is not that of its days."""

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
        self._rounds = Rounds("adding up months", self.fold, wake_seconds)

    def start(self) -> None:
        self._rounds.start()

    async def stop(self) -> None:
        """Returns when the month under way is done."""
        await self._rounds.stop()

    async def fold(self) -> None:
        """All that there is to do. Subjects without clicks since the last time are passed over.
        Rests as long as the work took: half of the time is for others."""
        today = self._clock.micros() // DAY_MICROS
        before = month_of(today - CLOSED_DAYS).start
        after: Subject | None = None
        is_more = True
        with patience(LIST_SECONDS):
            while is_more and not self._rounds.is_stopping:
                look = self._database.read(find_busy, after, STRETCH, self._least_clicks)
                found = await self._rounds.pace(look)
                for subject, clicks in found.busy:
                    await self._fold(subject, before, clicks)
                after, is_more = found.end, found.end is not None

    async def _fold(self, subject: Subject, before: int, clicks: int) -> None:
        if self._done.get(subject) == (before, clicks) or self._rounds.is_stopping:
            return
        stale = list(await self._rounds.pace(self._database.read(find_stale, subject, before)))
        while stale and not self._rounds.is_stopping:
            await self._rounds.pace(self._keep(subject, month_of(stale.pop())))
        if not stale:
            self._done[subject] = before, clicks

    async def _keep(self, subject: Subject, month: range) -> None:
        days = await self._database.read(find_days, subject, month, with_counts=True)
        found = await asyncio.to_thread(pack, month.start, days)
        await self._database.write(keep_month, subject, found)
