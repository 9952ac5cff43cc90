"""Where links are at home: remembered, forgotten when they change, and bounded."""

import time

import pytest

from kurz.clicks.batch import Home
from kurz.jobs.homes import Homes
from kurz.links.model import Change
from support.clicks import MemoryClickStore

BEFORE, AFTER = Home(1, ("a",)), Home(2, ("b",))


@pytest.fixture
def store():
    store = MemoryClickStore()
    store.known = {1: BEFORE, 2: BEFORE}
    return store


def change(link_id: int) -> tuple[int, Change]:
    return (0, Change(link_id, 0, "code", 2))


async def test_a_home_is_looked_up_once(store):
    homes = Homes(store)
    assert await homes.get([1, 2]) == {1: BEFORE, 2: BEFORE}
    assert await homes.get([2, 1]) == {1: BEFORE, 2: BEFORE}
    assert store.calls == ["homes"]


async def test_a_link_that_is_not_there_may_come(store):
    homes = Homes(store)
    assert await homes.get([3]) == {}
    store.known[3] = AFTER
    assert await homes.get([3]) == {3: AFTER}


async def test_a_change_is_heard_of(store):
    homes = Homes(store)
    await homes.get([1, 2])
    store.known = {1: AFTER, 2: AFTER}
    homes.hear([change(1)])
    assert await homes.get([1, 2]) == {1: AFTER, 2: BEFORE}
    homes.start_over(0)
    assert await homes.get([1, 2]) == {1: AFTER, 2: AFTER}


@pytest.mark.parametrize("hear", [lambda h: h.hear([change(1)]), lambda h: h.start_over(0)])
async def test_a_change_while_the_store_is_asked_is_not_missed(store, hear):
    homes = Homes(store)

    class Changing(MemoryClickStore):
        async def homes(self, link_ids):
            found = await super().homes(link_ids)
            hear(homes)
            self.known = {1: AFTER}
            return found

    homes._store = Changing()
    homes._store.known = {1: BEFORE}
    assert await homes.get([1]) == {1: BEFORE}
    assert await homes.get([1]) == {1: AFTER}


async def test_nothing_is_believed_for_ever(store, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    homes = Homes(store, max_seconds=60)
    now += 29
    await homes.get([1])
    store.known = {1: AFTER}
    for seconds in (2, 28):
        now += seconds
        assert await homes.get([1]) == {1: BEFORE}
    now += 30
    assert await homes.get([1]) == {1: AFTER}
    store.known = {1: BEFORE}
    now += 61  # without a call in between
    assert await homes.get([1]) == {1: BEFORE}


async def test_memory_is_bounded(store):
    store.known = dict.fromkeys(range(1000), BEFORE)
    homes = Homes(store, max_links=10)
    for id_ in range(1000):
        assert await homes.get([id_]) == {id_: BEFORE}
        assert len(homes._young) + len(homes._old) <= 11
