"""Keeps the change log short, in the background."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from kurz.clock import Clock
from kurz.storage.changes import trim_changes
from kurz.storage.database import Database
from kurz.storage.instants import read_trusted
from kurz.storage.rounds import Rounds

WAKE_SECONDS = 60.0
BATCH = 1000  # rows a transaction
KEPT = timedelta(hours=24)  # feeds that were away for more than an hour start over


class ChangeTrimmer:
    """Removes old rows of the change log. Several at once are harmless. `are_followed` as for
    `trim_changes`, `is_believed` as for `read_trusted`."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        are_followed: bool = True,
        is_believed: Callable[[datetime], bool] = lambda _: True,
        wake_seconds: float = WAKE_SECONDS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._is_believed = is_believed
        self._trim_some = partial(trim_changes, are_followed=are_followed)
        self._rounds = Rounds("trimming the change log", self._trim, wake_seconds)

    def start(self) -> None:
        self._rounds.start()

    async def stop(self) -> None:
        """Returns when the batch under way is done."""
        await self._rounds.stop()

    async def _trim(self) -> None:
        now = await read_trusted(self._database, self._clock, self._is_believed)
        if now is None:
            return
        before = now - KEPT // timedelta(microseconds=1)
        is_full = True
        while is_full and not self._rounds.is_stopping:
            trim = self._database.write(self._trim_some, before, BATCH)
            is_full = await self._rounds.pace(trim) == BATCH
