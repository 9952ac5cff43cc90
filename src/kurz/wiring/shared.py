"""What a process shares with others beside the database: the feed of changes, and Redis with the
second tier in it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from kurz.clock import Clock
from kurz.feed.local import PipeWaker
from kurz.feed.log import ChangeFeed, Waker
from kurz.links.floors import Floors
from kurz.links.model import Change
from kurz.links.null_cache import NullRouteCache
from kurz.settings import Settings
from kurz.storage.changes import SqlChangeLog, wake_listeners
from kurz.storage.database import Database, tell_nobody

if TYPE_CHECKING:  # late: without Redis nothing of it is needed
    from kurz.cache.client import RedisClient
    from kurz.cache.routes import RedisRouteCache

FLOORS_LOOK_BACK = 10_000  # changes that a new process hears of: half of what `Floors` holds


@dataclass(frozen=True)
class Shared:
    feed: ChangeFeed
    floors: Floors
    redis: "RedisClient | None"
    cache: "RedisRouteCache | NullRouteCache"


@asynccontextmanager
async def open_shared(
    settings: Settings, database: Database, id_key: bytes, clock: Clock
) -> AsyncIterator[Shared]:
    """What `database` writes is announced from now on. Nothing is listened to before the feed is
    started."""
    namespace = namespace_of(id_key)
    floors = Floors()
    async with AsyncExitStack() as closing:
        redis = _redis(settings, closing)
        cache = _cache(settings, redis, namespace, clock, closing)
        feed = _feed(settings, database, redis, namespace)
        closing.push_async_callback(feed.stop)
        if not settings.is_embedded:
            feed.subscribe(floors)

        def announce(changes: Sequence[Change]) -> None:
            cache.forget(changes)
            feed.announce(changes)

        database.on_commit = announce
        try:
            yield Shared(feed, floors, redis, cache)
        finally:
            # What is written from now on is heard of through the log: nothing is opened again.
            database.on_commit = tell_nobody


def namespace_of(id_key: bytes) -> str:
    """What tells this installation from others in the same Redis."""
    return sha256(b"namespace:" + id_key).hexdigest()[:16]


def _redis(settings: Settings, closing: AsyncExitStack) -> "RedisClient | None":
    if settings.redis_url is None:
        return None
    from kurz.cache.connect import open_redis

    redis = open_redis(settings.redis_url)
    closing.push_async_callback(redis.close)
    return redis


def _cache(
    settings: Settings,
    redis: "RedisClient | None",
    namespace: str,
    clock: Clock,
    closing: AsyncExitStack,
) -> "RedisRouteCache | NullRouteCache":
    """None beside SQLite, which answers quicker than Redis."""
    if redis is None or settings.is_embedded:
        return NullRouteCache()
    from kurz.cache.routes import RedisRouteCache

    cache = RedisRouteCache(redis, namespace, clock)
    closing.push_async_callback(cache.close)
    return cache


def _feed(
    settings: Settings, database: Database, redis: "RedisClient | None", namespace: str
) -> ChangeFeed:
    change_log = SqlChangeLog(database)
    if settings.database_url is None:
        return ChangeFeed(change_log, PipeWaker(settings.feed_dir))
    if settings.redis_url is None or redis is None:
        waker = _postgres_waker(settings.database_url, database)
    else:
        waker = _redis_waker(settings.redis_url, redis, f"kurz:{namespace}:changes")
    return ChangeFeed(change_log, waker, look_back=FLOORS_LOOK_BACK)


def _postgres_waker(url: str, database: Database) -> Waker:
    from kurz.feed.postgres import APPLICATION, CHANNEL, listen
    from kurz.feed.remote import RemoteWaker
    from kurz.storage.postgres_hosts import Hosts

    # Of its own: it wants the server that takes writes, whatever the address wants.
    hosts = Hosts(url, wanted="primary")
    connect = partial(hosts.connect, {"application_name": APPLICATION})
    return RemoteWaker(partial(database.write, wake_listeners, CHANNEL), partial(listen, connect))


def _redis_waker(url: str, redis: "RedisClient", channel: str) -> Waker:
    from kurz.cache.subscription import subscribe
    from kurz.feed.redis import listen
    from kurz.feed.remote import RemoteWaker

    return RemoteWaker(
        partial(redis.publish, channel), partial(listen, partial(subscribe, url, channel))
    )
