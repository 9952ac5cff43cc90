"""Keeps destinations close behind the writes of links, in the background."""

from kurz.clock import Clock
from kurz.storage.changes import find_writers
from kurz.storage.database import Database
from kurz.storage.destinations import (
    SiteOf,
    find_unfollowed,
    follow_changes,
    follow_existing,
    has_lost_changes,
    start_over,
    warm_up,
)
from kurz.storage.rounds import Rounds

WAKE_SECONDS = 5.0  # the first check of a link is minutes away
WRITER_SECONDS = 0.05  # between two looks at who still writes
BATCH = 150  # changes a transaction: 25 ms on SQLite, if all lead to URLs that are new


class DestinationFollower:
    """Takes links into their destinations behind the change log. Several at once are harmless: one
    follows at a time, from where the last one stopped."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        site_of: SiteOf,
        *,
        wake_seconds: float = WAKE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._site_of = site_of
        self._rounds = Rounds("following links to destinations", self.catch_up, wake_seconds)

    def start(self) -> None:
        self._rounds.start()

    async def stop(self) -> None:
        """Returns when the batch under way is done."""
        await self._rounds.stop()

    async def catch_up(self) -> None:
        """Takes in all that was written before, unless it is stopped."""
        if await self._database.read(has_lost_changes):
            await self._database.write(start_over)
        has_more, last = await self._database.read(find_unfollowed)
        if has_more or last is not None:
            await warm_up(self._site_of)
        while has_more and not self._rounds.is_stopping:
            now = self._clock.micros()
            follow = self._database.write(follow_existing, BATCH, self._site_of, now)
            has_more = await self._rounds.pace(follow)
        if last is None:
            return
        await self._await_writers()
        is_behind = True
        while is_behind and not self._rounds.is_stopping:
            now = self._clock.micros()
            follow = self._database.write(follow_changes, last, BATCH, self._site_of, now)
            is_behind = await self._rounds.pace(follow)

    async def _await_writers(self) -> None:
        """Until those have ended who may hold a number below the last that was seen: after that,
        every row up to it can be seen, or never will."""
        writers = await self._database.read(find_writers)
        while writers and not self._rounds.is_stopping:
            await self._rounds.rest(WRITER_SECONDS)
            writers &= await self._database.read(find_writers)
