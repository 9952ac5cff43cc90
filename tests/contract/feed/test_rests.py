"""A feed that nobody waits for pauses between two readings, however often it is woken."""

import asyncio
from collections.abc import Callable

from kurz.feed.log import ChangeFeed
from kurz.storage.engine.changes import SqlChangeLog
from kurz.wiring.core import Kurz
from support.engines import without_redis
from support.feed import NEVER_SECONDS, Listener, SilentWaker, TroubledLog, until
from support.links import create_link

engine = without_redis


class HandWaker(SilentWaker):
    """Wakes the feed when a test tells it to."""

    wake_up: Callable[[], None]

    async def start(self, on_wake: Callable[[], None]) -> None:
        self.wake_up = on_wake


async def open_feed(kurz: Kurz, rest_seconds: float) -> tuple[ChangeFeed, HandWaker, TroubledLog]:
    waker, log = HandWaker(), TroubledLog(SqlChangeLog(kurz.database))
    feed = ChangeFeed(log, waker, tick_seconds=NEVER_SECONDS, rest_seconds=rest_seconds)
    await feed.start()
    before = log.readings
    waker.wake_up()  # after a long silence it reads at once
    await until(lambda: log.readings == before + 1)
    await feed.read_now()  # and from its end on it rests
    log.readings = 0
    return feed, waker, log


async def test_wake_ups_during_a_rest_share_one_reading(kurz):
    feed, waker, log = await open_feed(kurz, 0.2)
    listener = Listener(feed)
    for _ in range(50):
        await create_link(kurz)
        waker.wake_up()
    await until(lambda: len(listener.heard) == 50)
    assert feed.wake_ups == 51
    assert log.readings < 50
    await feed.stop()


async def test_a_feed_that_rests_is_read_at_once_for_somebody_who_asks(kurz):
    feed, waker, log = await open_feed(kurz, NEVER_SECONDS)
    waker.wake_up()
    await asyncio.sleep(0.05)
    assert log.readings == 0
    assert await feed.read_now()
    assert log.readings == 1
    await feed.stop()


async def test_other_feeds_read_at_every_wake_up(kurz):
    feed, waker, log = await open_feed(kurz, 0.0)
    for _ in range(3):
        before = log.readings
        waker.wake_up()
        await until(lambda before=before: log.readings == before + 1)  # type: ignore[misc]
    await feed.stop()
