"""Clears away what nobody needs any more."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from kurz.clock import Clock
from kurz.links.reaping import HousekeepingStore

BATCH = 1000
LOOK = 10_000  # changes that are looked at in one read
PAUSE_SECONDS = 0.1
RUN_SECONDS = 300.0


class Housekeeping:
    """Codes that anybody may have again, answers that nobody asks for again, one-time links that
    have expired, old reports of abuse, limits that are over, clicks of links that are gone. What
    the time does not suffice for, the next run does."""

    def __init__(
        self,
        store: HousekeepingStore,
        clock: Clock,
        *,
        batch: int = BATCH,
        look: int = LOOK,
        pause_seconds: float = PAUSE_SECONDS,
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._batch = batch
        self._look = look
        self._pause_seconds = pause_seconds
        self._run_seconds = run_seconds

    async def run(self, is_stopping: Callable[[], bool] = lambda: False) -> Mapping[str, int]:
        until = time.monotonic() + self._run_seconds

        def is_over() -> bool:
            return is_stopping() or time.monotonic() >= until

        now = self._clock.now()
        return {
            "codes": await self._trim(lambda: self._store.trim_codes(now, self._batch), is_over),
            "receipts": await self._trim(
                lambda: self._store.trim_receipts(now, self._batch), is_over
            ),
            "passes": await self._trim(lambda: self._store.trim_passes(now, self._batch), is_over),
            "reports": await self._trim(
                lambda: self._store.trim_reports(now, self._batch), is_over
            ),
            "limits": await self._trim(lambda: self._store.trim_limits(now, self._batch), is_over),
            "strays": await self._trim_clicks(is_over),
        }

    async def _trim(self, trim: Callable[[], Awaitable[int]], is_over: Callable[[], bool]) -> int:
        total, is_more = 0, True
        while is_more and not is_over():
            removed = await trim()
            total, is_more = total + removed, removed > 0
            await asyncio.sleep(self._pause_seconds)
        return total

    async def _trim_clicks(self, is_over: Callable[[], bool]) -> int:
        total, after = 0, 0
        while not is_over():
            removed, end = await self._store.trim_clicks(after, self._look)
            total += removed
            if end is None:
                break
            after = end
            await asyncio.sleep(self._pause_seconds)
        return total
