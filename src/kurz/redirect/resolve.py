"""From a code to what is known about it: memory first, then the store, once for all who wait."""

import asyncio
from collections.abc import Sequence

from kurz.clock import Clock
from kurz.links.model import Change, Route
from kurz.links.ports import NotNow, RouteStore
from kurz.redirect.entry import Entry, absence, key_of
from kurz.redirect.hot import HotSet, Load


class Resolver:
    def __init__(self, hot: HotSet, store: RouteStore, clock: Clock) -> None:
        self.hot = hot
        self._store = store
        self._clock = clock
        self._flights: dict[bytes, tuple[Load, asyncio.Task[Entry]]] = {}
        self.look_ups = 0

    def peek(self, workspace_id: int, short_code: str) -> Entry | None:
        """What memory knows."""
        return self.hot.peek(key_of(workspace_id, short_code), self._clock.micros())

    def find_now(self, workspace_id: int, short_code: str) -> Entry | None:
        """For a code that is not in memory: what the store says if it answers without waiting, and
        if there is such a link."""
        try:
            found = self._store.peek(workspace_id, short_code)
        except NotNow:
            return None
        if found is None:
            return None
        self.look_ups += 1
        return self._keep(Load(key_of(workspace_id, short_code)), workspace_id, found)

    async def get(self, workspace_id: int, short_code: str) -> Entry:
        """An entry whose outcome is MISSING where there is no link; `StoreUnavailable` where
        nothing is known, and nothing to be learnt."""
        key = key_of(workspace_id, short_code)
        known = self.hot.peek(key, self._clock.micros())
        if known is not None:
            return known
        self.look_ups += 1
        load = Load(key)
        try:
            return self._keep(load, workspace_id, self._store.peek(workspace_id, short_code))
        except NotNow:
            return await self._wait(load, workspace_id, short_code)

    def forget(self, changes: Sequence[Change]) -> None:
        for link_id, workspace_id, short_code, version in changes:
            if link_id:
                self.hot.forget(key_of(workspace_id, short_code), version, link_id)

    async def _wait(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        flight = self._flights.get(load.key)
        if flight is None or flight[0].floor:  # one that began before a write may find what was
            task = asyncio.create_task(self._look_up(load, workspace_id, short_code))
            task.add_done_callback(_retrieve)
            flight = self._flights[load.key] = (load, task)
        # A visitor who leaves does not take the look-up along: others wait for it. No `shield`,
        # which from Python 3.14 on logs what a look-up raises after somebody has left.
        await asyncio.wait((flight[1],))
        return flight[1].result()

    async def _look_up(self, load: Load, workspace_id: int, short_code: str) -> Entry:
        self.hot.begin(load)
        try:
            found = await self._store.find(workspace_id, short_code)
            return self._keep(load, workspace_id, found)
        finally:
            self.hot.give_up(load)
            if self._flights.get(load.key, (None,))[0] is load:
                del self._flights[load.key]

    def _keep(self, load: Load, workspace_id: int, found: Route | None) -> Entry:
        now = self._clock.micros()
        if found is None:
            entry = absence(load.key, now)
        else:
            entry = Entry(load.key, workspace_id, found, now)
        self.hot.finish(load, entry)
        return entry


def _retrieve(task: asyncio.Task[Entry]) -> None:
    """The outage was told to those who waited, if anybody still did."""
    if not task.cancelled():
        task.exception()
