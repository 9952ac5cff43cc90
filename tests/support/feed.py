"""Somebody who listens to the changes of a kurz, and waits for them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager

from kurz.feed.log import LOOK_BACK, MAX_SILENCE_SECONDS, ChangeFeed, Waker
from kurz.freshness.ports import ChangeLog
from kurz.freshness.routes import Change
from kurz.people.passwords import Passwords
from kurz.storage.engine.changes import SqlChangeLog
from kurz.wiring.core import Kurz, open_kurz

NEVER_SECONDS = 600.0  # a tick that no test lives to see
SOON_SECONDS = 0.05
DEADLINE_SECONDS = 40.0  # for a busy machine; nothing here takes a tenth of a second


class Listener:
    """`heard` is what the feed told, in its order; `starts` are the numbers it started over at."""

    def __init__(self, feed: ChangeFeed) -> None:
        self.feed = feed
        self.heard: list[Change] = []
        self.numbers: list[int] = []
        self.starts: list[int] = []
        self.settled = -1
        feed.subscribe(self)

    def on_changes(self, changes: Sequence[tuple[int, Change]]) -> None:
        self.numbers += [number for number, _ in changes]
        self.heard += [change for _, change in changes]

    def reset(self, position: int) -> None:
        self.starts.append(position)
        self.heard.clear()
        self.numbers.clear()

    def on_caught_up(self, position: int) -> None:
        self.settled = position

    async def wait_for(self, changes: Sequence[Change]) -> None:
        """Until all of them were heard."""
        await until(lambda: set(changes) <= set(self.heard))


class SilentWaker:
    """Hears no wake-ups, and sends none."""

    lost_connections = 0

    async def start(self, on_wake: Callable[[], None]) -> None:
        """Nothing will come."""

    def wake(self) -> None:
        """Nobody is told."""

    async def stop(self) -> None:
        """Nothing waits."""


class TroubledLog:
    """A change log that raises while it has a trouble."""

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self.trouble: Exception | None = None
        self.readings = 0

    async def last(self) -> int:
        return await self._log.last()

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        self.readings += 1
        if self.trouble is not None:
            raise self.trouble
        return await self._log.read(after, limit)

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        return await self._log.read_some(numbers)

    async def writers(self) -> frozenset[str]:
        return await self._log.writers()


async def until(is_so: Callable[[], bool]) -> None:
    async def ask() -> bool:
        return is_so()

    await until_told(ask)


async def until_told(ask: Callable[[], Awaitable[bool]]) -> None:
    ends_at = time.monotonic() + DEADLINE_SECONDS
    while not await ask():
        assert time.monotonic() < ends_at, "it did not happen"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def another_process(
    kurz: Kurz,
    *,
    tick_seconds: float,
    look_back: int = LOOK_BACK,
    max_silence_seconds: float = MAX_SILENCE_SECONDS,
    waker: Waker | None = None,
    wrap: Callable[[ChangeLog], ChangeLog] = lambda log: log,
) -> AsyncIterator[Listener]:
    """Another kurz on the same database and data folder, which listens."""
    async with open_kurz(kurz.settings, kurz.clock, Passwords(cost=4)) as other:
        feed = ChangeFeed(
            wrap(SqlChangeLog(other.database)),
            waker or other.shared.feed._waker,
            tick_seconds=tick_seconds,
            look_back=look_back,
            max_silence_seconds=max_silence_seconds,
        )
        listener = Listener(feed)
        await feed.start()
        listener.heard.clear()  # of the numbers just before
        try:
            yield listener
        finally:
            await feed.stop()


async def written_since(kurz: Kurz, number: int) -> list[Change]:
    """What the change log has behind a number."""
    return [change for _, change in await SqlChangeLog(kurz.database).read(number, 100_000)]
