"""The second tier, and what is believed while nothing is heard of changes."""

import pytest

from kurz.errors import StoreUnavailable
from kurz.freshness.ports import NotNow
from kurz.freshness.recent_writes import RecentWrites
from kurz.freshness.routes import Cached, Change, Route
from kurz.links.lifecycle import Outcome
from kurz.links.model import Status
from kurz.redirect.entry import key_of
from kurz.redirect.hot import HotSet
from kurz.redirect.resolve import BELIEF_SECONDS, Resolver
from support.clock import FrozenClock
from support.links import route

CLOCK = FrozenClock()
KEY = key_of(0, "abc")


def cached(found: Route, position: int = 10) -> Cached:
    return Cached(found.link_id, found.version, found, position)


ABSENCE = Cached(0, 0, None, 10)


class Store:
    def __init__(self) -> None:
        self.row: Route | None = None
        self.is_out = False
        self.finds = 0

    def peek(self, workspace_id: int, short_code: str) -> Route | None:
        raise NotNow

    async def find(self, workspace_id: int, short_code: str) -> Route | None:
        self.finds += 1
        if self.is_out:
            raise StoreUnavailable("The test says so.")
        return self.row


class Cache:
    """What it was told it does not know: a test says what it has."""

    def __init__(self) -> None:
        self.has: Cached | None = None
        self.kept: list[tuple[Route | None, int]] = []
        self.finds = 0

    async def find(self, workspace_id: int, short_code: str) -> Cached | None:
        self.finds += 1
        return self.has

    def keep(self, workspace_id: int, short_code: str, found: Route | None, position: int) -> None:
        self.kept.append((found, position))

    def forget(self, changes: object) -> None: ...


class Tiers:
    """A resolver, what is around it, and a monotonic clock."""

    def __init__(self) -> None:
        self.store, self.cache, self.recent_writes = Store(), Cache(), RecentWrites()
        self.recent_writes.on_changes([(10, Change(9, 0, "other", 1))])
        self.seconds = 0.0
        self.resolver = Resolver(
            HotSet(100, 10**9),
            self.store,
            CLOCK,
            cache=self.cache,
            recent_writes=self.recent_writes,
            now_seconds=lambda: self.seconds,
        )

    async def get(self) -> str | Outcome:
        entry = await self.resolver.get(0, "abc")
        outcome = entry.outcome(CLOCK.micros())
        return entry.location if outcome is Outcome.REDIRECT else outcome

    def on_changes(self, change: Change, number: int) -> None:
        self.recent_writes.on_changes([(number, change)])
        self.resolver.forget([change])


@pytest.fixture
def tiers() -> Tiers:
    return Tiers()


async def test_the_second_tier_spares_the_store(tiers):
    tiers.cache.has = cached(route())
    assert await tiers.get() == "https://example.com/1/1"
    assert await tiers.get() == "https://example.com/1/1"
    assert (tiers.cache.finds, tiers.store.finds, tiers.cache.kept) == (1, 0, [])


async def test_what_the_store_says_is_kept_with_the_position_before_it_was_asked(tiers):
    tiers.recent_writes.on_caught_up(41)
    tiers.store.row = route()
    assert await tiers.get() == "https://example.com/1/1"
    assert tiers.cache.kept == [(route(), 41)]


async def test_an_absence_is_kept_and_believed_too(tiers):
    assert await tiers.get() is Outcome.MISSING
    assert tiers.cache.kept == [(None, 0)]
    other = Tiers()
    other.cache.has = ABSENCE
    assert await other.get() is Outcome.MISSING
    assert other.store.finds == 0


@pytest.mark.parametrize(
    "has",
    [cached(route(version=1)), cached(route(link_id=2, version=9)), ABSENCE],
    ids=["older", "another link's", "absence"],
)
async def test_what_is_behind_a_change_that_was_heard_of_is_asked_for_again(tiers, has):
    tiers.store.row = route(version=2)
    tiers.cache.has = has
    tiers.on_changes(Change(1, 0, "abc", 2), 50)
    assert await tiers.get() == "https://example.com/1/2"
    assert tiers.store.finds == 1


async def test_a_mark_that_something_was_written_is_no_answer(tiers):
    tiers.cache.has = Cached(1, 2, None, 10)
    tiers.store.row = route(version=2)
    assert await tiers.get() == "https://example.com/1/2"


async def test_the_second_tier_answers_while_the_store_is_out(tiers):
    tiers.cache.has = cached(route())
    tiers.store.is_out = True
    assert await tiers.get() == "https://example.com/1/1"


async def test_a_lookup_during_which_something_was_written_is_not_passed_on(tiers):
    class Meanwhile(Store):
        async def find(self, workspace_id: int, short_code: str) -> Route | None:
            tiers.on_changes(Change(1, 0, "abc", 2), 50)
            return route(version=1)

    tiers.resolver._store = Meanwhile()
    await tiers.get()
    assert tiers.cache.kept == []
    assert tiers.resolver.peek(0, "abc") is None


# A stale feed.


@pytest.fixture
async def stale(tiers: Tiers) -> Tiers:
    """Knows version 1 from before."""
    tiers.store.row = route()
    await tiers.get()
    tiers.resolver.set_stale(is_feed_stale=True)
    tiers.store.finds = tiers.cache.finds = 0
    return tiers


async def test_what_is_in_memory_is_looked_up_again_and_believed_for_a_while(stale):
    stale.store.row = route(version=2)
    for _ in range(3):
        assert await stale.get() == "https://example.com/1/2"
        assert stale.resolver.is_checked(KEY)
    assert stale.store.finds == 1
    stale.seconds = BELIEF_SECONDS
    assert not stale.resolver.is_checked(KEY)
    stale.store.row = route(version=3, status=Status.DELETED)
    assert await stale.get() is Outcome.MISSING
    assert stale.store.finds == 2


async def test_the_store_comes_first_because_the_second_tier_may_be_behind(stale):
    stale.cache.has = cached(route())
    stale.store.row = route(version=2)
    assert await stale.get() == "https://example.com/1/2"


async def test_redirects_go_on_while_the_store_is_out(stale):
    stale.store.is_out = True
    for _ in range(3):
        assert await stale.get() == "https://example.com/1/1"
    assert stale.store.finds == 1  # and it is known to be out for a while
    assert stale.resolver.is_checked(KEY)


async def test_nobody_hears_unknown_while_the_store_is_out(tiers):
    assert await tiers.get() is Outcome.MISSING
    tiers.resolver.set_stale(is_feed_stale=True)
    tiers.store.is_out = True
    with pytest.raises(StoreUnavailable):
        await tiers.get()
    assert not tiers.resolver.is_checked(KEY)


@pytest.mark.parametrize("status", [Status.DELETED, Status.BANNED, Status.PAUSED])
async def test_nobody_hears_gone_while_the_store_is_out(tiers, status):
    tiers.store.row = route(status=status)
    await tiers.get()
    tiers.resolver.set_stale(is_feed_stale=True)
    tiers.store.is_out = True
    with pytest.raises(StoreUnavailable):
        await tiers.get()


async def test_no_redirect_outlives_its_expiry_while_the_store_is_out(tiers):
    clock = FrozenClock()
    tiers.resolver._clock = clock
    tiers.store.row = route(expires_at=clock.micros() + 60_000_000)
    tiers.resolver.set_stale(is_feed_stale=True)
    assert await tiers.get() == "https://example.com/1/1"
    tiers.store.is_out = True
    clock.advance(seconds=61)
    tiers.seconds = BELIEF_SECONDS
    with pytest.raises(StoreUnavailable):
        await tiers.resolver.get(0, "abc")


async def test_the_second_tier_is_asked_when_the_store_is_out(stale):
    stale.store.is_out = True
    stale.cache.has = cached(route(version=2))
    assert await stale.get() == "https://example.com/1/2"


async def test_memory_stands_against_what_is_older_in_the_second_tier(tiers):
    tiers.store.row = route(version=2)
    await tiers.get()
    tiers.resolver.set_stale(is_feed_stale=True)
    tiers.store.is_out = True
    for has in (cached(route(version=1)), ABSENCE):
        tiers.cache.has = has
        tiers.seconds += BELIEF_SECONDS
        assert await tiers.get() == "https://example.com/1/2"


outdating = pytest.mark.parametrize(
    "has",
    [
        Cached(1, 2, None, 10),
        cached(route(version=2, status=Status.DELETED)),
        Cached(2, 1, None, 10),
    ],
    ids=["written", "deleted", "another link's"],
)


@outdating
async def test_who_knows_that_memory_is_outdated_does_not_use_it(stale, has):
    stale.store.is_out = True
    stale.cache.has = has
    with pytest.raises(StoreUnavailable):
        await stale.get()


@outdating
async def test_what_was_outdated_once_stays_so_when_the_second_tier_has_lost_its_word(stale, has):
    stale.store.is_out = True
    stale.cache.has = has
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await stale.get()
        stale.cache.has = None


async def test_memory_stands_when_another_instance_has_just_found_the_same(stale):
    stale.store.is_out = True
    stale.cache.has = cached(route(), position=11)  # of a log that is not heard of here
    assert await stale.get() == "https://example.com/1/1"


async def test_what_is_behind_a_change_heard_of_before_is_not_believed_either(tiers):
    tiers.on_changes(Change(1, 0, "abc", 3), 50)
    tiers.resolver.set_stale(is_feed_stale=True)
    tiers.store.is_out = True
    tiers.cache.has = cached(route(version=2))
    with pytest.raises(StoreUnavailable):
        await tiers.get()


async def test_who_hears_again_needs_no_lookup(stale):
    await stale.get()
    stale.resolver.set_stale(is_feed_stale=False)
    assert stale.resolver.peek(0, "abc") is not None
    stale.resolver.set_stale(is_feed_stale=True)
    assert stale.resolver.peek(0, "abc") is None
