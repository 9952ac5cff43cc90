"""Contracts run on every implementation of a port."""

from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from kurz.cache.routes import RedisRouteCache
from servers.valkey import ValkeyServer
from support.clock import FrozenClock
from support.engines import redis_in_the_long_run
from support.second_tier import opened

# A store is in a database. What is kept in Redis has contracts of its own, which name their
# servers.
engine = redis_in_the_long_run


@pytest.fixture
async def redis(valkey: ValkeyServer) -> AsyncIterator[Redis]:
    """A client of the server, which is empty."""
    async with Redis.from_url(valkey.url) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def cache(
    valkey: ValkeyServer, redis: Redis, clock: FrozenClock
) -> AsyncIterator[RedisRouteCache]:
    async with opened(valkey.url, clock) as cache:
        yield cache
