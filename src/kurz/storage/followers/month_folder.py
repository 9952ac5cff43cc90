"""Adds up past months, and folds old days into them."""

import asyncio
import time
from collections.abc import Callable, Mapping

from kurz.clicks.batch import Subject
from kurz.clicks.months import first_open_day, month_of, pack
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.rounds import paced
from kurz.storage.clicks.months import (
    find_busy,
    find_late,
    find_position,
    find_stale,
    forget_late,
    keep_month,
    move_position,
)
from kurz.storage.clicks.stats import find_days
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.followers.day_folder import DayFolder

STRETCH = 2000  # subjects that are checked at a time
LATE_BATCH = 100  # subjects with late clicks, a transaction
LEAST_CLICKS = 5000  # in total: a report of fewer is fast day by day
RUN_SECONDS = 300.0  # much less than its lease


class MonthFolder:
    """Keeps the sums of whole months for subjects with many clicks, and lets `days` fold old days
    of all subjects. Once after the end of a month, all subjects are checked; otherwise, only those
    that got late clicks. A run continues where the last one stopped. Several runs at once are
    harmless: a sum is used only if it matches its days."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        days: DayFolder | None = None,
        *,
        least_clicks: int = LEAST_CLICKS,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._days = days
        self._least_clicks = least_clicks
        self._run_seconds = run_seconds

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        """Pauses for as long as it worked, so half of the time is left to others."""
        until = time.monotonic() + self._run_seconds

        def is_over() -> bool:
            return is_stopping() or time.monotonic() >= until

        with deadline(LIST_SECONDS):
            today = self._clock.micros() // DAY_MICROS
            months, folded = await self._renew(today, is_over)
            months += await self._check_all(first_open_day(today), is_over)
            if self._days is None:
                return {"months": months}
            return {"months": months, "folded": folded + await self._days.run(today, is_over)}

    async def _renew(self, today: int, is_over: Callable[[], bool]) -> tuple[int, int]:
        """Of the subjects that got late clicks: adds up months, and folds old days. Returns how
        many."""
        before, months, folded, is_more = first_open_day(today), 0, 0, True
        while is_more and not is_over():
            late = await paced(self._database.read(find_late, LATE_BATCH))
            if self._days is not None:
                old = range(self._days.first_kept(today))
                folded += await self._days.fold([it.subject for it in late], old, is_over)
            for subject, _, clicks in late:
                if clicks >= self._least_clicks:
                    months += await self._fold(subject, before, is_over)
            if late and not is_over():  # otherwise the last subject may not be done
                await paced(self._database.write(forget_late, late))
            is_more = len(late) == LATE_BATCH
        return months, folded

    async def _check_all(self, before: int, is_over: Callable[[], bool]) -> int:
        """Adds up months of all subjects, once after the end of each month; returns how many."""
        position = await self._database.read(find_position)
        is_begun = position.before == before
        after, is_more = position.after, not is_begun or position.after is not None
        if not is_begun:
            after = None
        total = 0
        while is_more and not is_over():
            look = self._database.read(find_busy, after, STRETCH, self._least_clicks)
            found = await paced(look)
            for subject in found.busy:
                total += await self._fold(subject, before, is_over)
            if is_over():  # the next run checks this stretch again
                break
            await self._database.write(move_position, before, found.end)
            after, is_more = found.end, found.end is not None
        return total

    async def _fold(self, subject: Subject, before: int, is_over: Callable[[], bool]) -> int:
        stale = [] if is_over() else await paced(self._database.read(find_stale, subject, before))
        kept = 0
        while kept < len(stale) and not is_over():
            await paced(self._keep(subject, month_of(stale[kept])))
            kept += 1
        return kept

    async def _keep(self, subject: Subject, month: range) -> None:
        days = await self._database.read(find_days, subject, month, with_counts=True)
        if any(day.month is not None for day in days):  # it was folded meanwhile
            return
        found = await asyncio.to_thread(pack, month.start, days)
        await self._database.write(keep_month, subject, found)
