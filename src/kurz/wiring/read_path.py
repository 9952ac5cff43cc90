"""The read path of a worker: lookups, memory, and the feed of changes."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kurz.clicks.dropped import DroppedClicks
from kurz.clicks.journal import Journal
from kurz.clicks.visitors import Visitors
from kurz.feed.heartbeat import Heartbeat
from kurz.freshness.ports import FeedListener
from kurz.freshness.routes import Change
from kurz.redirect.counters import RedirectCounters
from kurz.redirect.hot import HotSet
from kurz.redirect.lane import Lane
from kurz.redirect.misses import Misses
from kurz.redirect.parts import RedirectParts
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.visits import Visits
from kurz.server.hosts import Hosts
from kurz.server.proxies import TrustedProxies
from kurz.storage.clicks.salts import SqlSaltStore
from kurz.storage.routes.sqlite import SqliteRouteStore
from kurz.wiring.core import Kurz

if TYPE_CHECKING:  # their driver is not needed on SQLite
    from kurz.storage.routes.postgres import PostgresRouteStore

# Without reading the change log for this long, the feed is stale. The log is read, and this is
# checked, once a second: so a change is seen within 5 s.
FEED_STALE_SECONDS = 3.0


@dataclass(frozen=True)
class ReadPath:
    store: "SqliteRouteStore | PostgresRouteStore"
    parts: RedirectParts
    lane: Lane
    heartbeat: Heartbeat
    tick: Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class _Memory(FeedListener):
    """The memory of a worker, as a listener of the feed."""

    resolver: Resolver
    hosts: Hosts
    slugs: Slugs
    lane: Lane

    def on_changes(self, changes: Sequence[tuple[int, Change]]) -> None:
        written = [change for _, change in changes]
        self.resolver.forget(written)
        if any(change.link_id == 0 for change in written):
            self._forget_sites()

    def reset(self, position: int) -> None:  # noqa: ARG002  nothing here has one
        self.resolver.hot.clear()
        self._forget_sites()

    def _forget_sites(self) -> None:
        self.hosts.forget()
        self.slugs.forget()
        self.lane.forget_heads()


@asynccontextmanager
async def _hearing(kurz: Kurz, memory: _Memory) -> AsyncIterator[None]:
    """Changes reach everything that needs them."""
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
    """Changes arrive from here on. `dashboard` is where people find their links."""
    settings, clock = kurz.settings, kurz.clock
    hot = HotSet(settings.hot_links, settings.hot_megabytes * 1024 * 1024)
    store = kurz.engine.open_routes(kurz.database, kurz.replicas)
    shared = kurz.shared
    resolver = Resolver(hot, store, clock, cache=shared.cache, recent_writes=shared.recent_writes)
    slugs = Slugs(kurz.workspaces)
    lost = DroppedClicks(settings.dropped_clicks_path)
    journal = Journal(
        settings.journal_dir, min_free_bytes=settings.min_free_megabytes * 1024**2, lost=lost
    )
    visitors = Visitors(SqlSaltStore(kurz.database))
    visits = Visits(journal, visitors, clock, RedirectCounters())
    parts = RedirectParts(resolver, slugs, visits, misses, clock, settings.abuse_contact, dashboard)

    def set_stale() -> None:
        caught_up_at = shared.feed.caught_up_at
        is_silent = time.monotonic() - caught_up_at > FEED_STALE_SECONDS
        resolver.set_stale(is_feed_stale=is_silent or heartbeat.is_in_doubt(caught_up_at))
        lane.renew(settings.keep_alive_seconds)

    heartbeat = Heartbeat(shared.feed.read_now, on_failure=set_stale)
    lane = Lane(parts, hosts, proxies, heartbeat)
    memory = _Memory(resolver, hosts, slugs, lane)
    refreshing: asyncio.Task[None] | None = None

    async def refresh() -> None:
        await visitors.refresh(clock.now())
        await kurz.banned_hosts.refresh(is_feed_stale=resolver.is_feed_stale)

    async def tick() -> None:
        nonlocal refreshing
        set_stale()
        if refreshing is None or refreshing.done():  # an outage must not delay the rest
            refreshing = asyncio.create_task(refresh())

    try:
        async with _hearing(kurz, memory):
            await visitors.refresh(clock.now())
            await tick()
            lost.prepare()
            journal.start()
            heartbeat.start()
            yield ReadPath(store, parts, lane, heartbeat, tick)
    finally:
        await heartbeat.stop()
        if refreshing is not None:
            await refreshing
        journal.close()
        store.close()
