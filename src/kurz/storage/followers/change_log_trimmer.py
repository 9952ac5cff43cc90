"""Keeps the change log short, in the background."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from kurz.clock import Clock
from kurz.storage.engine.changes import trim_changes
from kurz.storage.engine.database import Database
from kurz.storage.engine.instants import read_trusted
from kurz.storage.engine.rounds import StoreRounds

WAKE_SECONDS = 60.0
BATCH = 1000  # rows a transaction
KEPT = timedelta(hours=24)  # feeds that stopped for more than an hour start over


class ChangeLogTrimmer(StoreRounds):
    """Removes old rows of the change log. Several trimmers at once are harmless. `are_followed` as
    for `trim_changes`, `is_believed` as for `read_trusted`."""

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
        super().__init__("trimming the change log", self._trim, wake_seconds)

    async def _trim(self) -> None:
        now = await read_trusted(self._database, self._clock, self._is_believed)
        if now is None:
            return
        before = now - KEPT // timedelta(microseconds=1)
        is_full = True
        while is_full and not self.is_stopping:
            trim = self._database.write(self._trim_some, before, BATCH)
            is_full = await self.pace(trim) == BATCH
