"""Keeps SQLite's index of texts close behind the writes, in the background."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Concatenate

import sqlalchemy as sa
import structlog

from kurz.errors import StoreUnavailable
from kurz.storage.database import Database, P, T
from kurz.storage.rounds import rest_after
from kurz.storage.search import (
    BATCH,
    index_changes,
    is_backlogged,
    leave_merging_to_us,
    merge_index,
)

WAKE_SECONDS = 1.0

_log = structlog.get_logger(__name__)


class SearchIndexer:
    """Keeps SQLite's index close behind the writes. A search is exact without it, and slower the
    further it is behind."""

    def __init__(self, database: Database, *, wake_seconds: float = WAKE_SECONDS) -> None:
        self._database = database
        self._wake_seconds = wake_seconds
        self._told = asyncio.Event()
        self._is_stopping = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._is_stopping = False
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Tells it that there is work, so that it does not wait for its next turn."""
        self._told.set()

    async def stop(self) -> None:
        """Returns when the batch under way is done; what is left waits for the next start."""
        self._is_stopping = True
        self.wake()
        if self._task is not None:
            await self._task
            self._task = None

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                await self._database.write(leave_merging_to_us)
                while not self._is_stopping:
                    await self._catch_up()
                    await self._wait()
            except StoreUnavailable as error:
                _log.warning("search index waiting for the database", reason=error.detail)
                await self._wait()
            except Exception:  # noqa: BLE001  the next turn may succeed; searches stay exact
                _log.exception("search index failed")
                await self._wait()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), self._wake_seconds)
        self._told.clear()

    async def _catch_up(self) -> None:
        started, total = time.monotonic(), 0
        while not self._is_stopping and await self._database.read(is_backlogged):
            total += await self._paced(index_changes, BATCH)
            await self._paced(merge_index)
        if total > BATCH:
            seconds = round(time.monotonic() - started, 3)
            _log.debug("search-index-caught-up", changes=total, seconds=seconds)

    async def _paced(
        self, query: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Rests as long as the work took: half of the writer's time is for others."""
        started = time.monotonic()
        result = await self._database.write(query, *args, **kwargs)
        await asyncio.sleep(rest_after(started))
        return result
