"""Somebody who listens to the changes of a kurz, and waits for them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from kurz.bootstrap import Kurz, open_kurz
from kurz.feed.local import LocalFeed
from kurz.links.model import Change
from kurz.links.ports import ChangeLog
from kurz.people.passwords import Passwords
from kurz.storage.changes import SqlChangeLog

PATIENCE_SECONDS = 20.0  # for a busy machine; nothing here takes a tenth of a second


class Listener:
    """`heard` is what the feed told, in its order."""

    def __init__(self, feed: LocalFeed) -> None:
        self.feed = feed
        self.heard: list[Change] = []
        feed.subscribe(self._hear)

    def _hear(self, changes: Sequence[Change]) -> None:
        self.heard += changes

    async def wait_for(self, changes: Sequence[Change]) -> None:
        """Until all of them were heard."""
        await until(lambda: set(changes) <= set(self.heard))


async def until(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < ends_at, "it did not happen"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def another_process(
    kurz: Kurz,
    *,
    tick_seconds: float,
    gap_seconds: float = 30.0,
    wrap: Callable[[ChangeLog], ChangeLog] = lambda log: log,
) -> AsyncIterator[Listener]:
    """Another kurz on the same database and data folder, which listens."""
    async with open_kurz(kurz.settings, kurz.clock, Passwords(cost=4)) as other:
        feed = LocalFeed(
            wrap(SqlChangeLog(other.database)),
            kurz.settings.feed_dir,
            tick_seconds=tick_seconds,
            gap_seconds=gap_seconds,
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
