"""Keeps the number of active links up to date, in the background."""

from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.links.active import count_changes, count_existing, find_uncounted

WAKE_SECONDS = 2.0
BATCH = 1000  # changes a transaction: 10 ms on SQLite


class LinkCounter(StoreRounds):
    """Counts active links, following the change log. Several counters at once are harmless: one
    counts at a time, from where the last one stopped."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        self._database = database
        super().__init__("counting active links", self.catch_up, wake_seconds)

    async def catch_up(self) -> None:
        """Counts everything that was written before, unless it is stopped."""
        has_uncounted, last = await self._database.read(find_uncounted)
        while has_uncounted and not self.is_stopping:
            has_uncounted = await self.pace(self._database.write(count_existing, BATCH))
        if last is None:
            return
        await self.await_writers(self._database)
        is_behind = True
        while is_behind and not self.is_stopping:
            is_behind = await self.pace(self._database.write(count_changes, last, BATCH))
