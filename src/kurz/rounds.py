"""Work that goes on in the background, round after round."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from kurz.errors import StoreUnavailable
from kurz.storage.patience import LIST_SECONDS, patience

HALF = 0.5  # of the writer's time is for others
MAX_REST_SECONDS = 10.0  # a process that was held up for hours has not worked for hours

T = TypeVar("T")

_log = structlog.get_logger(__name__)


def rest_after(started: float, share: float = HALF, most: float = MAX_REST_SECONDS) -> float:
    """How many seconds to rest after work that began then, by the monotonic clock, so that it takes
    its share of the time and no more; never longer than `most`."""
    return min((time.monotonic() - started) * (1 / share - 1), most)


class Rounds:
    """Does the work again and again, `wake_seconds` after its end. Whatever happens, the next round
    may succeed. The log tells of an outage once, and calls the work by its name."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], wake_seconds: float) -> None:
        self._name = name
        self._work = work
        self._wake_seconds = wake_seconds
        self._stopping = asyncio.Event()
        self._is_down = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        self._stopping.clear()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Returns when the work under way is done, which is expected to look at `is_stopping`."""
        self._stopping.set()
        if self._task is not None:
            await self._task
            self._task = None

    async def pace(self, work: Awaitable[T], share: float = HALF) -> T:
        """Rests after it, so long that it takes its share of the time and no more."""
        started = time.monotonic()
        result = await work
        await self.rest(rest_after(started, share))
        return result

    async def rest(self, seconds: float) -> None:
        """Ends early when the work is to stop."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _run(self) -> None:
        while not self.is_stopping:
            try:
                with patience(LIST_SECONDS):
                    await self._work()
                self._is_down = False
            except StoreUnavailable as error:
                if not self._is_down:
                    _log.warning(f"{self._name}: waiting for the database", reason=error.detail)
                self._is_down = True
            except Exception:  # noqa: BLE001  see above
                _log.exception(f"{self._name}: failed")
            await self.rest(self._wake_seconds)
