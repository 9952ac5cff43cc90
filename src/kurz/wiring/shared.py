"""What processes share beside the database: the feed of changes, and Redis with the second tier."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from kurz.clock import Clock
from kurz.feed.log import ChangeFeed, Waker
from kurz.freshness.null_cache import NullRouteCache
from kurz.freshness.recent_writes import RecentWrites
from kurz.freshness.routes import Change
from kurz.settings.model import Settings
from kurz.storage.engine.changes import SqlChangeLog
from kurz.storage.engine.database import Database, tell_nobody
from kurz.storage.links.installation import CACHE_EPOCH, find_key
from kurz.wiring.engine import Engine

if TYPE_CHECKING:  # late: without Redis nothing of it is needed
    from kurz.cache.client import RedisClient
    from kurz.cache.routes import RedisRouteCache

RECENT_WRITES_LOOK_BACK = 10_000  # changes that a new process reads: half of `RecentWrites`
# The pause between two readings of the change log in the jobs process. Workers wake it up to 200
# times a second, and each reading costs about the same, however few changes it finds.
BACKGROUND_REST_SECONDS = 0.25


@dataclass(frozen=True)
class Shared:
    namespace: str  # distinguishes this installation from others
    feed: ChangeFeed
    recent_writes: RecentWrites
    redis: "RedisClient | None"
    cache: "RedisRouteCache | NullRouteCache"


@asynccontextmanager
async def open_shared(
    engine: Engine,
    database: Database,
    id_key: bytes,
    clock: Clock,
    *,
    is_background: bool = False,
) -> AsyncIterator[Shared]:
    """What `database` writes is announced from now on. Nothing is received before the feed is
    started. `is_background`: no visitor waits for what this process receives."""
    namespace = namespace_of(id_key)
    recent_writes = RecentWrites()
    async with AsyncExitStack() as closing:
        redis = _redis(engine.settings, closing)
        cached = await _cache_namespace(database, namespace) if engine.has_tiers else namespace
        cache = _cache(redis if engine.has_tiers else None, cached, clock, closing)
        rest_seconds = BACKGROUND_REST_SECONDS if is_background else 0.0
        feed = _feed(engine, database, redis, namespace, rest_seconds)
        closing.push_async_callback(feed.stop)
        if engine.has_tiers:
            feed.subscribe(recent_writes)

        def announce(changes: Sequence[Change]) -> None:
            cache.forget(changes)
            feed.announce(changes)

        database.on_commit = announce
        try:
            yield Shared(namespace, feed, recent_writes, redis, cache)
        finally:
            # What is written from now on arrives through the log: nothing is opened again.
            database.on_commit = tell_nobody


def namespace_of(id_key: bytes) -> str:
    """What distinguishes the installation with this key from others."""
    return sha256(b"namespace:" + id_key).hexdigest()[:16]


async def _cache_namespace(database: Database, namespace: str) -> str:
    """A restored installation does not read what was cached after its backup."""
    epoch = await database.read(find_key, CACHE_EPOCH)
    return namespace if epoch is None else f"{namespace}-{epoch.hex()[:16]}"


def _redis(settings: Settings, closing: AsyncExitStack) -> "RedisClient | None":
    if settings.redis_url is None:
        return None
    from kurz.cache.connect import open_redis

    redis = open_redis(settings.redis_url)
    closing.push_async_callback(redis.close)
    return redis


def _cache(
    redis: "RedisClient | None",
    namespace: str,
    clock: Clock,
    closing: AsyncExitStack,
) -> "RedisRouteCache | NullRouteCache":
    if redis is None:
        return NullRouteCache()
    from kurz.cache.routes import RedisRouteCache

    cache = RedisRouteCache(redis, namespace, clock)
    closing.push_async_callback(cache.close)
    return cache


def _feed(
    engine: Engine,
    database: Database,
    redis: "RedisClient | None",
    namespace: str,
    rest_seconds: float,
) -> ChangeFeed:
    change_log, url = SqlChangeLog(database), engine.settings.redis_url
    if not engine.has_tiers:
        return ChangeFeed(change_log, engine.waker(database), rest_seconds=rest_seconds)
    if url is None or redis is None:
        waker = engine.waker(database)
    else:
        waker = _redis_waker(url, redis, f"kurz:{namespace}:changes")
    return ChangeFeed(
        change_log, waker, look_back=RECENT_WRITES_LOOK_BACK, rest_seconds=rest_seconds
    )


def _redis_waker(url: str, redis: "RedisClient", channel: str) -> Waker:
    from kurz.cache.subscription import subscribe
    from kurz.feed.redis import listen
    from kurz.feed.remote import RemoteWaker

    return RemoteWaker(
        partial(redis.publish, channel), partial(listen, partial(subscribe, url, channel))
    )
