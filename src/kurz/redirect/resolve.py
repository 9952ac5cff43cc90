"""Looks up a code: in memory, then in the second tier, then in the store. Requests that wait for
the same code share one lookup."""

import asyncio
import time
from collections.abc import Callable, Sequence

from kurz.breaker import Breaker
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.freshness.null_cache import NullRouteCache
from kurz.freshness.ports import NotNow, RouteCache, RouteStore
from kurz.freshness.recent_writes import RecentWrites
from kurz.freshness.routes import SPACE_ENDED, Cached, Change, Route
from kurz.links.lifecycle import Outcome
from kurz.redirect.entry import Entry, absence, key_of
from kurz.redirect.hot import HotSet, Load

# How long a lookup is used while the feed is stale: changes must be seen within 5 s then, too.
BELIEF_SECONDS = 4.0
MAX_CHECKED = 100_000


class Resolver:
    """While `is_feed_stale`, changes by others do not arrive: what is in memory is looked up again
    before it is used. If that fails, only redirects are answered from memory."""

    def __init__(
        self,
        hot: HotSet,
        store: RouteStore,
        clock: Clock,
        *,
        cache: RouteCache | None = None,
        recent_writes: RecentWrites | None = None,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hot = hot
        self._store = store
        self._clock = clock
        self._cache = cache or NullRouteCache()
        self._recent_writes = recent_writes or RecentWrites()
        self._now_seconds = now_seconds
        self._flights: dict[bytes, tuple[Load, asyncio.Task[Entry]]] = {}
        self._checked_at: dict[bytes, float] = {}  # while the feed is stale
        self._breaker = Breaker("database", failures_to_open=1, now_seconds=now_seconds)
        self.is_feed_stale = False
        self.lookups = 0

    def peek(self, workspace_id: int, short_code: str) -> Entry | None:
        """What memory knows."""
        key = key_of(workspace_id, short_code)
        if self.is_feed_stale and not self.is_checked(key):
            return None
        return self.hot.peek(key, self._clock.micros())

    def load_now(self, workspace_id: int, short_code: str) -> bool:
        """For a code that is not in memory: loads what the store says without waiting, or `NotNow`.
        False if visitors get 404: nothing is kept then, so that `get` looks it up again and the
        miss is charged."""
        found = self._store.peek(workspace_id, short_code)
        if found is None:
            return False
        load = Load(key_of(workspace_id, short_code))
        now = self._clock.micros()
        entry = Entry.of(load.key, workspace_id, found, now)
        if entry.outcome(now) is Outcome.MISSING:
            return False
        self.lookups += 1
        self._remember(load, entry)
        return True

    def fetch(self, workspace_id: int, short_code: str) -> asyncio.Task[Entry]:
        """For a code that is not in memory, and a caller that cannot await. The task has the result
        of `get`."""
        self.lookups += 1
        return self._flight(Load(key_of(workspace_id, short_code)), workspace_id, short_code)

    async def get(self, workspace_id: int, short_code: str) -> Entry:
        """If there is no link, the outcome of the entry is MISSING. `StoreUnavailable` if nothing
        is known and the store does not answer."""
        known = self.peek(workspace_id, short_code)
        if known is not None:
            return known
        self.lookups += 1
        load = Load(key_of(workspace_id, short_code))
        try:
            return self._keep(load, workspace_id, self._store.peek(workspace_id, short_code))
        except NotNow:
            task = self._flight(load, workspace_id, short_code)
        # The lookup continues if a visitor leaves, because others may wait for it. No `shield`:
        # from Python 3.14 on it logs what a lookup raises after the visitor has left.
        await asyncio.wait((task,))
        return task.result()

    def forget(self, changes: Sequence[Change]) -> None:
        for link_id, workspace_id, short_code, version in changes:
            if link_id:
                self.hot.forget(key_of(workspace_id, short_code), version, link_id)
            elif version == SPACE_ENDED:
                self.hot.forget_space(int(short_code))

    def set_stale(self, *, is_feed_stale: bool) -> None:
        """Called every second: whether changes by others arrive."""
        if is_feed_stale != self.is_feed_stale:
            self._checked_at.clear()
        self.is_feed_stale = is_feed_stale

    def is_checked(self, key: bytes) -> bool:
        """Whether it was looked up a moment ago."""
        checked_at = self._checked_at.get(key)
        return checked_at is not None and self._now_seconds() - checked_at < BELIEF_SECONDS

    def _flight(self, load: Load, workspace_id: int, short_code: str) -> asyncio.Task[Entry]:
        """The running lookup for this key, or a new one."""
        flight = self._flights.get(load.key)
        if flight is None or flight[0].min_version:  # one from before a write may be old
            task = asyncio.create_task(self._look_up(load, workspace_id, short_code))
            task.add_done_callback(_retrieve)
            flight = self._flights[load.key] = (load, task)
        return flight[1]

    async def _look_up(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        self.hot.begin(load)
        try:
            if self.is_feed_stale:
                return await self._check(load, workspace_id, short_code)
            cached = await self._cache.find(workspace_id, short_code)
            if cached is not None and self._is_current(cached, workspace_id, short_code):
                return self._keep(load, workspace_id, cached.route)
            return await self._ask_store(load, workspace_id, short_code)
        finally:
            self.hot.give_up(load)
            if self._flights.get(load.key, (None,))[0] is load:
                del self._flights[load.key]

    async def _ask_store(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        position = self._recent_writes.position
        found = await self._store.find(workspace_id, short_code)
        if not load.min_version:
            self._cache.keep(workspace_id, short_code, found, position)
        return self._keep(load, workspace_id, found)

    async def _check(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        """While the feed is stale: asks the store, unless it is known to be down. Otherwise uses
        the newest known value, if that is a redirect. "Gone" and "unknown" are only answered if the
        store says so."""
        if self._breaker.may_try():
            try:
                entry = await self._ask_store(load, workspace_id, short_code)
            except StoreUnavailable as outage:
                self._breaker.note_failure(outage)
            else:
                self._breaker.note_success()
                return entry
        cached = await self._cache.find(workspace_id, short_code)
        now = self._clock.micros()
        known = self.hot.peek(load.key, now)
        if cached is not None and not _has(known, cached):
            # Permanently: the second tier may lose this value before the store is back.
            self.hot.forget(load.key, cached.version, cached.link_id)
            known = None
            if cached.route is not None and self._is_current(cached, workspace_id, short_code):
                known = self._keep(load, workspace_id, cached.route)
        if known is None or known.outcome(now) is not Outcome.REDIRECT:
            self._checked_at.pop(load.key, None)
            raise StoreUnavailable("The database cannot be reached at the moment.")
        self._note_check(load.key)
        return known

    def _is_current(self, cached: Cached, workspace_id: int, short_code: str) -> bool:
        is_marker = cached.route is None and cached.version
        return not is_marker and self._recent_writes.is_current(
            workspace_id, short_code, cached.route, cached.position
        )

    def _note_check(self, key: bytes) -> None:
        if len(self._checked_at) >= MAX_CHECKED:
            self._checked_at.clear()
        self._checked_at[key] = self._now_seconds()

    def _keep(self, load: Load, workspace_id: int, found: Route | None) -> Entry:
        now = self._clock.micros()
        if found is None:
            return self._remember(load, absence(load.key, now))
        return self._remember(load, Entry.of(load.key, workspace_id, found, now))

    def _remember(self, load: Load, entry: Entry) -> Entry:
        self.hot.finish(load, entry)
        if self.is_feed_stale:
            self._note_check(load.key)
        return entry


def _has(known: Entry | None, cached: Cached) -> bool:
    """Whether memory is as new as the second tier. An absence has no version, so it never
    contradicts memory."""
    if known is None:
        return False
    if not cached.version:
        return True
    return cached.link_id == known.link_id and cached.version <= known.version


def _retrieve(task: asyncio.Task[Entry]) -> None:
    """Marks the exception as retrieved: those who still waited have got it."""
    if not task.cancelled():
        task.exception()
