"""The read path of a worker: what finds links, what remembers them, and what is told of changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from kurz.bootstrap import Kurz
from kurz.clicks.dropped import DroppedClicks
from kurz.clicks.journal import Journal
from kurz.clicks.visitors import Visitors
from kurz.feed.heartbeat import Heartbeat
from kurz.links.model import Change
from kurz.redirect.clicks import ClickWriter
from kurz.redirect.hot import HotSet
from kurz.redirect.lane import Lane
from kurz.redirect.misses import Misses
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.tally import Tally
from kurz.server.hosts import Hosts
from kurz.server.proxies import TrustedProxies
from kurz.storage.routes import SqliteRouteStore
from kurz.storage.salts import SqlSaltStore
from kurz.storage.sqlite import SqliteDatabase

if TYPE_CHECKING:  # their driver is not needed on SQLite
    from kurz.storage.postgres import PostgresDatabase
    from kurz.storage.postgres_routes import PostgresRouteStore

# Without a reading of the change log, after which memory is doubted. It is read, and this is looked
# at, once a second: so a change is seen within 5 s.
FEED_STALE_SECONDS = 3.0


@dataclass(frozen=True)
class ReadPath:
    store: "SqliteRouteStore | PostgresRouteStore"
    resolver: Resolver
    slugs: Slugs
    clicks: ClickWriter
    journal: Journal
    misses: Misses
    tally: Tally
    lane: Lane
    heartbeat: Heartbeat
    tick: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Memory:
    """What a worker remembers, as a listener of the feed."""

    resolver: Resolver
    hosts: Hosts
    slugs: Slugs
    lane: Lane

    def hear(self, changes: Sequence[tuple[int, Change]]) -> None:
        written = [change for _, change in changes]
        self.resolver.forget(written)
        if any(change.link_id == 0 for change in written):
            self._forget_sites()

    def start_over(self, position: int) -> None:  # noqa: ARG002  nothing here has one
        self.resolver.hot.clear()
        self._forget_sites()

    def settle(self, position: int) -> None:
        """Nothing here waits for it."""

    def _forget_sites(self) -> None:
        self.hosts.forget()
        self.slugs.forget()
        self.lane.forget_heads()


@asynccontextmanager
async def _hearing(kurz: Kurz, memory: _Memory) -> AsyncIterator[None]:
    """Changes are heard of by all who have to."""
    feed = kurz.shared.feed
    feed.subscribe(memory)
    feed.subscribe(kurz.banned_hosts)
    try:
        await feed.start()
        if kurz.replicas is not None:
            kurz.replicas.start()
        yield
    finally:
        feed.unsubscribe(kurz.banned_hosts)
        feed.unsubscribe(memory)


@asynccontextmanager
async def open_read_path(
    kurz: Kurz,
    hosts: Hosts,
    proxies: TrustedProxies,
    misses: Misses,
    dashboard: str | None,
) -> AsyncIterator[ReadPath]:
    """From here on changes are heard of. `dashboard` is where people find their own links."""
    settings, clock = kurz.settings, kurz.clock
    hot = HotSet(settings.hot_links, settings.hot_megabytes * 1024 * 1024)
    store = open_routes(kurz)
    shared = kurz.shared
    resolver = Resolver(hot, store, clock, cache=shared.cache, floors=shared.floors)
    slugs = Slugs(kurz.workspaces)
    lost = DroppedClicks(settings.dropped_clicks_path)
    journal = Journal(
        settings.journal_dir, min_free_bytes=settings.min_free_megabytes * 1024**2, lost=lost
    )
    visitors = Visitors(SqlSaltStore(kurz.database))
    clicks = ClickWriter(journal, visitors, clock)
    tally = Tally()

    def listen() -> None:
        heard_at = shared.feed.heard_at
        is_silent = time.monotonic() - heard_at > FEED_STALE_SECONDS
        resolver.listen(is_feed_stale=is_silent or heartbeat.is_in_doubt(heard_at))
        lane.renew(settings.keep_alive_seconds)

    heartbeat = Heartbeat(shared.feed.read_now, on_failure=listen)
    lane = Lane(
        resolver,
        hosts,
        slugs,
        clicks,
        visitors,
        journal,
        proxies,
        misses,
        clock,
        tally,
        heartbeat,
        settings.abuse_contact,
        dashboard,
    )
    memory = _Memory(resolver, hosts, slugs, lane)
    refreshing: asyncio.Task[None] | None = None

    async def refresh() -> None:
        await visitors.refresh(clock.now())
        await kurz.banned_hosts.refresh(is_feed_stale=resolver.is_feed_stale)

    async def tick() -> None:
        nonlocal refreshing
        listen()
        if refreshing is None or refreshing.done():  # an outage must not hold the rest up
            refreshing = asyncio.create_task(refresh())

    try:
        async with _hearing(kurz, memory):
            await visitors.refresh(clock.now())
            await tick()
            lost.prepare()
            journal.start()
            heartbeat.start()
            yield ReadPath(
                store, resolver, slugs, clicks, journal, misses, tally, lane, heartbeat, tick
            )
    finally:
        await heartbeat.stop()
        if refreshing is not None:
            await refreshing
        journal.close()
        store.close()


def open_routes(kurz: Kurz) -> "SqliteRouteStore | PostgresRouteStore":
    """Links as the read path looks them up."""
    database = kurz.database
    if isinstance(database, SqliteDatabase):
        return SqliteRouteStore(database)
    from kurz.storage.look_ups import LookUps
    from kurz.storage.postgres_routes import PostgresRouteStore

    postgres = cast("PostgresDatabase", database)
    look_ups = LookUps(postgres.hosts, seconds=postgres.deadlines.look_up_seconds)
    return PostgresRouteStore(look_ups, kurz.replicas)
