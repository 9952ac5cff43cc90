"""Deletes rows that are no longer needed."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from kurz.clock import Clock
from kurz.jobs.periodic import USUAL_PACE, TaskPace
from kurz.links.ending.ports import HousekeepingStore


class Housekeeping:
    """Deletes ended reservations of codes, old stored answers, expired one-time links, old reports
    of abuse, recovered limits, and clicks of purged links. What a run has no time for, the next run
    does."""

    def __init__(self, store: HousekeepingStore, clock: Clock, pace: TaskPace = USUAL_PACE) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        until = time.monotonic() + self._pace.run_seconds

        def is_over() -> bool:
            return is_stopping() or time.monotonic() >= until

        now, store = self._clock.now(), self._store
        kinds = {
            "codes": store.trim_codes,
            "receipts": store.trim_receipts,
            "one_time_tokens": store.trim_one_time_tokens,
            "reports": store.trim_reports,
            "limits": store.trim_limits,
        }
        trims = {name: partial(trim, now, self._pace.batch) for name, trim in kinds.items()}
        counts = {name: await self._trim(trim, is_over) for name, trim in trims.items()}
        return counts | {"strays": await self._trim_clicks(is_over)}

    async def _trim(self, trim: Callable[[], Awaitable[int]], is_over: Callable[[], bool]) -> int:
        total, is_more = 0, True
        while is_more and not is_over():
            removed = await trim()
            total, is_more = total + removed, removed > 0
            await asyncio.sleep(self._pace.pause_seconds)
        return total

    async def _trim_clicks(self, is_over: Callable[[], bool]) -> int:
        total, after = 0, 0
        while not is_over():
            removed, end = await self._store.trim_clicks(after, self._pace.look)
            total += removed
            if end is None:
                break
            after = end
            await asyncio.sleep(self._pace.pause_seconds)
        return total
