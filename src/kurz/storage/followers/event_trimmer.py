"""Removes individual clicks when their time is over, in the background."""

from collections.abc import Callable
from datetime import datetime

from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import Clock
from kurz.storage.clicks.events import DAYS_AHEAD, ensure_days, trim_events
from kurz.storage.engine.database import Database
from kurz.storage.engine.instants import read_trusted
from kurz.storage.engine.rounds import StoreRounds

WAKE_SECONDS = 60.0
BATCH = 2000  # rows a transaction, on SQLite


class EventTrimmer(StoreRounds):
    """Removes clicks that are older than `kept_days`, and creates the partitions of the next days.
    Several trimmers at once are harmless. `is_believed` as for `read_trusted`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        kept_days: int,
        is_believed: Callable[[datetime], bool] = lambda _: True,
        wake_seconds: float = WAKE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._kept_days = kept_days
        self._is_believed = is_believed
        super().__init__("trimming clicks", self._renew, wake_seconds)

    async def _renew(self) -> None:
        await self._make_room()
        await self._trim()

    async def _make_room(self) -> None:
        if self._kept_days:
            today = self._clock.micros() // DAY_MICROS
            days = range(today, today + DAYS_AHEAD + 1)
            await self._database.write(ensure_days, days)

    async def _trim(self) -> None:
        now = await read_trusted(self._database, self._clock, self._is_believed)
        if now is None:
            return
        today = now // DAY_MICROS
        before = today - self._kept_days if self._kept_days else today + DAYS_AHEAD + 1
        is_more = True
        while is_more and not self.is_stopping:
            is_more = await self.pace(self._database.write(trim_events, before, BATCH))
