"""Keeps the table of destinations up to date with the links, in the background."""

from kurz.clock import Clock
from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.safety.destinations import (
    SiteOf,
    find_unfollowed,
    follow_changes,
    follow_existing,
    has_lost_changes,
    reset_position,
    warm_up,
)

WAKE_SECONDS = 5.0  # the first check of a link is minutes away
BATCH = 300  # changes a transaction: 30 ms on SQLite, if all lead to URLs that are new


class DestinationFollower(StoreRounds):
    """Adds links to their destinations, following the change log. Several followers at once are
    harmless: one works at a time, from where the last one stopped."""

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
        super().__init__("updating destinations", self.catch_up, wake_seconds)

    async def catch_up(self) -> None:
        """Processes everything that was written before, unless it is stopped."""
        if await self._database.read(has_lost_changes):
            await self._database.write(reset_position)
        has_more, last = await self._database.read(find_unfollowed)
        if has_more or last is not None:
            await warm_up(self._site_of)
        while has_more and not self.is_stopping:
            now = self._clock.micros()
            follow = self._database.write(follow_existing, BATCH, self._site_of, now)
            has_more = await self.pace(follow)
        if last is None:
            return
        await self.await_writers(self._database)
        is_behind = True
        while is_behind and not self.is_stopping:
            now = self._clock.micros()
            follow = self._database.write(follow_changes, last, BATCH, self._site_of, now)
            is_behind = await self.pace(follow)
