"""Keeps the change log short, in the background."""

import asyncio
import contextlib
import time
from datetime import timedelta

import structlog

from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.storage.changes import trim_changes
from kurz.storage.database import Database

WAKE_SECONDS = 60.0
BATCH = 1000  # rows a transaction
KEPT = timedelta(hours=24)  # feeds that were away for more than an hour start over

_log = structlog.get_logger(__name__)


class ChangeTrimmer:
    """Removes old rows of the change log. Several at once are harmless."""

    def __init__(
        self, database: Database, clock: Clock, *, wake_seconds: float = WAKE_SECONDS
    ) -> None:
        self._database = database
        self._clock = clock
        self._wake_seconds = wake_seconds
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._stopping.clear()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Returns when the batch under way is done."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._trim()
            except StoreUnavailable as error:
                _log.warning("change-log-trimming-waits", reason=str(error))
            except Exception:  # noqa: BLE001  the next turn may succeed
                _log.exception("change-log-trimming-failed")
            await self._wait(self._wake_seconds)

    async def _trim(self) -> None:
        """Rests as long as the work took: half of the writer's time is for others."""
        before = self._clock.micros() - KEPT // timedelta(microseconds=1)
        is_full = True
        while is_full and not self._stopping.is_set():
            started = time.monotonic()
            is_full = await self._database.write(trim_changes, before, BATCH) == BATCH
            await self._wait(time.monotonic() - started)

    async def _wait(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
