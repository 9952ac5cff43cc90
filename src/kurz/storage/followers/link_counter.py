"""Keeps the number of active links close behind the writes, in the background."""

from kurz.storage.active_links import count_changes, count_existing, find_uncounted
from kurz.storage.changes import find_writers
from kurz.storage.database import Database
from kurz.storage.rounds import Rounds

WAKE_SECONDS = 2.0
WRITER_SECONDS = 0.05  # between two looks at who still writes
BATCH = 250  # changes a transaction: 10 ms on SQLite


class LinkCounter:
    """Counts active links behind the change log. Several at once are harmless: one counts at a
    time, from where the last one stopped."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        self._database = database
        self._rounds = Rounds("counting active links", self.catch_up, wake_seconds)

    def start(self) -> None:
        self._rounds.start()

    async def stop(self) -> None:
        """Returns when the batch under way is done."""
        await self._rounds.stop()

    async def catch_up(self) -> None:
        """Takes in all that was written before, unless it is stopped."""
        has_uncounted, last = await self._database.read(find_uncounted)
        while has_uncounted and not self._rounds.is_stopping:
            has_uncounted = await self._rounds.pace(self._database.write(count_existing, BATCH))
        if last is None:
            return
        await self._await_writers()
        is_behind = True
        while is_behind and not self._rounds.is_stopping:
            is_behind = await self._rounds.pace(self._database.write(count_changes, last, BATCH))

    async def _await_writers(self) -> None:
        """Until those have ended who may hold a number below the last that was seen: after that,
        every row up to it can be seen, or never will."""
        writers = await self._database.read(find_writers)
        while writers and not self._rounds.is_stopping:
            await self._rounds.rest(WRITER_SECONDS)
            writers &= await self._database.read(find_writers)
