"""Owners of links: remembered, forgotten when a link changes, and bounded."""

import time

import pytest

from kurz.clicks.batch import LinkOwner
from kurz.freshness.routes import Change
from kurz.jobs.clicks.owners import LinkOwners
from support.clicks import MemoryClickStore

BEFORE, AFTER = LinkOwner(1, ("a",)), LinkOwner(2, ("b",))


@pytest.fixture
def store():
    store = MemoryClickStore()
    store.known = {1: BEFORE, 2: BEFORE}
    return store


def change(link_id: int) -> tuple[int, Change]:
    return (0, Change(link_id, 0, "code", 2))


async def test_an_owner_is_looked_up_once(store):
    owners = LinkOwners(store)
    assert await owners.get([1, 2]) == {1: BEFORE, 2: BEFORE}
    assert await owners.get([2, 1]) == {1: BEFORE, 2: BEFORE}
    assert store.calls == ["owners"]


async def test_a_link_that_is_not_there_may_come(store):
    owners = LinkOwners(store)
    assert await owners.get([3]) == {}
    store.known[3] = AFTER
    assert await owners.get([3]) == {3: AFTER}


async def test_a_change_is_heard_of(store):
    owners = LinkOwners(store)
    await owners.get([1, 2])
    store.known = {1: AFTER, 2: AFTER}
    owners.on_changes([change(1)])
    assert await owners.get([1, 2]) == {1: AFTER, 2: BEFORE}
    owners.reset(0)
    assert await owners.get([1, 2]) == {1: AFTER, 2: AFTER}


@pytest.mark.parametrize("on_changes", [lambda h: h.on_changes([change(1)]), lambda h: h.reset(0)])
async def test_a_change_while_the_store_is_asked_is_not_missed(store, on_changes):
    owners = LinkOwners(store)

    class Changing(MemoryClickStore):
        async def owners(self, link_ids):
            found = await super().owners(link_ids)
            on_changes(owners)
            self.known = {1: AFTER}
            return found

    owners._store = Changing()
    owners._store.known = {1: BEFORE}
    assert await owners.get([1]) == {1: BEFORE}
    assert await owners.get([1]) == {1: AFTER}


async def test_nothing_is_believed_for_ever(store, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now)
    owners = LinkOwners(store, max_seconds=60)
    now += 29
    await owners.get([1])
    store.known = {1: AFTER}
    for seconds in (2, 28):
        now += seconds
        assert await owners.get([1]) == {1: BEFORE}
    now += 30
    assert await owners.get([1]) == {1: AFTER}
    store.known = {1: BEFORE}
    now += 61  # without a call in between
    assert await owners.get([1]) == {1: BEFORE}


async def test_memory_is_bounded(store):
    store.known = dict.fromkeys(range(1000), BEFORE)
    owners = LinkOwners(store, max_links=10)
    for id_ in range(1000):
        assert await owners.get([id_]) == {id_: BEFORE}
        assert len(owners._young) + len(owners._old) <= 11
