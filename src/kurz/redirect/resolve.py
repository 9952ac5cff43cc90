"""From a code to what is known about it: memory first, then the second tier, then the store; once
for all who wait."""

import asyncio
import time
from collections.abc import Callable, Sequence

from kurz.breaker import Breaker
from kurz.clock import Clock
from kurz.errors import StoreUnavailable
from kurz.links.floors import Floors
from kurz.links.lifecycle import Outcome
from kurz.links.model import Cached, Change, Route
from kurz.links.null_cache import NullRouteCache
from kurz.links.ports import NotNow, RouteCache, RouteStore
from kurz.redirect.entry import Entry, absence, key_of
from kurz.redirect.hot import HotSet, Load

# How long what was looked up is believed while nothing is heard of changes: one has to be seen
# within 5 s then.
BELIEF_SECONDS = 4.0
MAX_CHECKED = 100_000


class Resolver:
    """While it `is_feed_stale`, changes by others are not heard of: what is in memory is looked up
    again before it is believed, and where that fails only redirects are."""

    def __init__(
        self,
        hot: HotSet,
        store: RouteStore,
        clock: Clock,
        *,
        cache: RouteCache | None = None,
        floors: Floors | None = None,
        now_seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self.hot = hot
        self._store = store
        self._clock = clock
        self._cache = cache or NullRouteCache()
        self._floors = floors or Floors()
        self._now_seconds = now_seconds
        self._flights: dict[bytes, tuple[Load, asyncio.Task[Entry]]] = {}
        self._checked_at: dict[bytes, float] = {}  # while the feed is stale
        self._breaker = Breaker("database", failures_to_open=1, now_seconds=now_seconds)
        self.is_feed_stale = False
        self.look_ups = 0

    def peek(self, workspace_id: int, short_code: str) -> Entry | None:
        """What memory knows."""
        key = key_of(workspace_id, short_code)
        if self.is_feed_stale and not self.is_checked(key):
            return None
        return self.hot.peek(key, self._clock.micros())

    def find_now(self, workspace_id: int, short_code: str) -> Entry | None:
        """For a code that is not in memory: what the store says without waiting, or `NotNow`. None
        where visitors get 404: nothing is remembered then, so that `get` looks it up again and the
        miss is charged."""
        found = self._store.peek(workspace_id, short_code)
        if found is None:
            return None
        load = Load(key_of(workspace_id, short_code))
        now = self._clock.micros()
        entry = Entry(load.key, workspace_id, found, now)
        if entry.outcome(now) is Outcome.MISSING:
            return None
        self.look_ups += 1
        return self._remember(load, entry)

    def fetch(self, workspace_id: int, short_code: str) -> asyncio.Task[Entry]:
        """For a code that is not in memory: a look-up that somebody waits for who cannot await. Its
        result is that of `get`."""
        self.look_ups += 1
        return self._flight(Load(key_of(workspace_id, short_code)), workspace_id, short_code)

    async def get(self, workspace_id: int, short_code: str) -> Entry:
        """An entry whose outcome is MISSING where there is no link; `StoreUnavailable` where
        nothing is known, and nothing to be learnt."""
        known = self.peek(workspace_id, short_code)
        if known is not None:
            return known
        self.look_ups += 1
        load = Load(key_of(workspace_id, short_code))
        try:
            return self._keep(load, workspace_id, self._store.peek(workspace_id, short_code))
        except NotNow:
            task = self._flight(load, workspace_id, short_code)
        # A visitor who leaves does not take the look-up along: others wait for it. No `shield`,
        # which from Python 3.14 on logs what a look-up raises after somebody has left.
        await asyncio.wait((task,))
        return task.result()

    def forget(self, changes: Sequence[Change]) -> None:
        for link_id, workspace_id, short_code, version in changes:
            if link_id:
                self.hot.forget(key_of(workspace_id, short_code), version, link_id)

    def listen(self, *, is_feed_stale: bool) -> None:
        """Told every second whether changes are heard of."""
        if is_feed_stale != self.is_feed_stale:
            self._checked_at.clear()
        self.is_feed_stale = is_feed_stale

    def is_checked(self, key: bytes) -> bool:
        """Whether it was looked up a moment ago."""
        checked_at = self._checked_at.get(key)
        return checked_at is not None and self._now_seconds() - checked_at < BELIEF_SECONDS

    def _flight(self, load: Load, workspace_id: int, short_code: str) -> asyncio.Task[Entry]:
        """The look-up under way for this key, or a new one."""
        flight = self._flights.get(load.key)
        if flight is None or flight[0].floor:  # one that began before a write may find what was
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
            if cached is not None and self._admits(cached, workspace_id, short_code):
                return self._keep(load, workspace_id, cached.route)
            return await self._ask_store(load, workspace_id, short_code)
        finally:
            self.hot.give_up(load)
            if self._flights.get(load.key, (None,))[0] is load:
                del self._flights[load.key]

    async def _ask_store(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        position = self._floors.position
        found = await self._store.find(workspace_id, short_code)
        if not load.floor:
            self._cache.keep(workspace_id, short_code, found, position)
        return self._keep(load, workspace_id, found)

    async def _check(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        """While the feed is stale: the store, if it is not known to be out; else the best that is
        known, if that is a redirect. Nobody hears "gone" or "unknown" without the store's word."""
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
            # For good: the second tier may lose its word before the store is back.
            self.hot.forget(load.key, cached.version, cached.link_id)
            known = None
            if cached.route is not None and self._admits(cached, workspace_id, short_code):
                known = self._keep(load, workspace_id, cached.route)
        if known is None or known.outcome(now) is not Outcome.REDIRECT:
            self._checked_at.pop(load.key, None)
            raise StoreUnavailable("The database cannot be reached at the moment.")
        self._note_check(load.key)
        return known

    def _admits(self, cached: Cached, workspace_id: int, short_code: str) -> bool:
        is_marker = cached.route is None and cached.version
        return not is_marker and self._floors.admits(
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
        return self._remember(load, Entry(load.key, workspace_id, found, now))

    def _remember(self, load: Load, entry: Entry) -> Entry:
        self.hot.finish(load, entry)
        if self.is_feed_stale:
            self._note_check(load.key)
        return entry


def _has(known: Entry | None, cached: Cached) -> bool:
    """Whether memory holds what the second tier tells. An absence says nothing against it: it has
    no version."""
    if known is None:
        return False
    if not cached.version:
        return True
    return cached.link_id == known.link_id and cached.version <= known.version


def _retrieve(task: asyncio.Task[Entry]) -> None:
    """The outage was told to those who waited, if anybody still did."""
    if not task.cancelled():
        task.exception()
