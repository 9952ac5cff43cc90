"""What tests of the second tier say to it and expect of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kurz.cache.connect import open_redis
from kurz.cache.routes import RedisRouteCache
from kurz.freshness.routes import Cached, Change, Route
from support.clock import FrozenClock

PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
NOW = FrozenClock().micros()


def changed(link_id: int, version: int, code: str = "abc") -> Change:
    return Change(link_id, 0, code, version)


def cached(found: Route, position: int) -> Cached:
    return Cached(found.link_id, found.version, found, position)


def marked(link_id: int, version: int) -> Cached:
    return Cached(link_id, version, None, 0)


def absent(position: int) -> Cached:
    return Cached(0, 0, None, position)


@asynccontextmanager
async def opened(
    url: str, clock: FrozenClock, timeout_seconds: float = PATIENT, namespace: str = "test"
) -> AsyncIterator[RedisRouteCache]:
    client = open_redis(url, timeout_seconds=timeout_seconds)
    cache = RedisRouteCache(client, namespace, clock)
    try:
        yield cache
    finally:
        await cache.close()
        await client.close()


async def written(cache: RedisRouteCache) -> None:
    """Until nothing is pending."""
    assert cache._writer is not None
    await cache._writer


async def put(cache: RedisRouteCache, value: Cached, code: str = "abc") -> None:
    if value.route is None and value.version:
        cache.forget([changed(value.link_id, value.version, code)])
    else:
        cache.keep(0, code, value.route, value.position)
    await written(cache)
