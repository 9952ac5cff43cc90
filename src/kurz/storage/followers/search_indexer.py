"""Keeps SQLite's text index up to date, in the background."""

import time

import structlog

from kurz.rounds import Rounds
from kurz.storage.engine.database import Database
from kurz.storage.links.search import (
    BATCH,
    index_changes,
    is_backlogged,
    leave_merging_to_us,
    merge_index,
)

WAKE_SECONDS = 1.0

_log = structlog.get_logger(__name__)


class SearchIndexer(Rounds):
    """Keeps SQLite's index up to date. Searches are exact without it, but slower the further it is
    behind."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        super().__init__("search index", self._catch_up, wake_seconds)
        self._database = database
        self._is_ours = False

    async def _catch_up(self) -> None:
        if not self._is_ours:
            await self._database.write(leave_merging_to_us)
            self._is_ours = True
        started, total = time.monotonic(), 0
        while not self.is_stopping and await self._database.read(is_backlogged):
            total += await self.pace(self._database.write(index_changes, BATCH))
            await self.pace(self._database.write(merge_index))
        if total > BATCH:
            seconds = round(time.monotonic() - started, 3)
            _log.debug("search index is up to date", changes=total, seconds=seconds)
