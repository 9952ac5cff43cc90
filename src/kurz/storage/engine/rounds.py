"""Background work of the store."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kurz import rounds
from kurz.storage.engine.changes import find_writers
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline

WRITER_SECONDS = 0.05  # between two checks for open transactions

T = TypeVar("T")


class StoreRounds(rounds.Rounds):
    """Rounds whose database calls have the deadline of lists."""

    async def attempt(self, work: Callable[[], Awaitable[T]]) -> T | None:
        with deadline(LIST_SECONDS):
            return await super().attempt(work)

    async def await_writers(self, database: Database) -> None:
        """Waits until all transactions have ended that may hold a lower number than the last one
        seen. After that, every row up to it is visible, or never will be."""
        writers = await database.read(find_writers)
        while writers and not self.is_stopping:
            await self.rest(WRITER_SECONDS)
            writers &= await database.read(find_writers)
