"""Background work, round after round."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from kurz.errors import StoreUnavailable

HALF = 0.5  # of the writer's time is for others
MAX_REST_SECONDS = 10.0  # a process that was paused for hours has not worked for hours

T = TypeVar("T")

_log = structlog.get_logger(__name__)


def rest_after(started: float, share: float = HALF, most: float = MAX_REST_SECONDS) -> float:
    """How many seconds to pause after work that began at this time (monotonic clock), so that it
    takes only its share of the time; at most `most`."""
    return min((time.monotonic() - started) * (1 / share - 1), most)


async def paced(work: Awaitable[T]) -> T:
    """Does the work, then pauses for as long."""
    started = time.monotonic()
    result = await work
    await asyncio.sleep(rest_after(started))
    return result


async def wait_at_most(event: asyncio.Event, seconds: float) -> None:
    """Until it is set, or the time is over. No `asyncio.wait_for`: in Python 3.11 it loses a
    cancellation that comes together with the event."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Rounds:
    """Repeats the work, `wake_seconds` after its end. Whatever happens, the next round may succeed.
    An outage is logged once, with the name of the work."""

    def __init__(
        self, name: str, work: Callable[[], Awaitable[object]], wake_seconds: float
    ) -> None:
        self.failures = 0  # other than outages
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

    def request_stop(self) -> None:
        """Ends the current work soon, and starts no other."""
        self._stopping.set()

    async def stop(self) -> None:
        """Returns when the current work is done; it should check `is_stopping`."""
        self.request_stop()
        if self._task is not None:
            await self._task
            self._task = None

    async def pace(self, work: Awaitable[T], share: float = HALF) -> T:
        """Does the work, then pauses so long that it takes only its share of the time."""
        started = time.monotonic()
        result = await work
        await self.rest(rest_after(started, share))
        return result

    async def rest(self, seconds: float) -> None:
        """Ends early if the work must stop."""
        await wait_at_most(self._stopping, seconds)

    async def attempt(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """None if it failed."""
        try:
            result = await work()
        except StoreUnavailable as outage:
            self.note_outage(outage)
        except Exception:  # noqa: BLE001  the next round may succeed
            self.failures += 1
            _log.exception(f"{self._name}: failed")
        else:
            self._is_down = False
            return result
        return None

    def note_outage(self, outage: StoreUnavailable) -> None:
        if not self._is_down:
            _log.warning(f"{self._name}: waiting for the database", reason=outage.detail)
        self._is_down = True

    async def _run(self) -> None:
        while not self.is_stopping:
            await self.attempt(self._work)
            await self.rest(self._wake_seconds)
