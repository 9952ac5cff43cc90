"""Adds the checksums of links that a version without checksums has written, in the background."""

from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.links.checksums import fill_checksums, has_missing_checksums

WAKE_SECONDS = 10.0
BATCH = 250  # links a transaction: 3 ms on SQLite


class ChecksumFiller(StoreRounds):
    """After an upgrade these are all links, and later those of instances that are not upgraded yet.
    Several fillers at once are harmless: each takes links that the others have not locked."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        self._database = database
        super().__init__("adding checksums", self.catch_up, wake_seconds)

    async def catch_up(self) -> None:
        after = 0 if await self._database.read(has_missing_checksums) else None
        while after is not None and not self.is_stopping:
            # From there on: PostgreSQL would pass the old entries of all links that are done.
            after = await self.pace(self._database.write(fill_checksums, after, BATCH))
