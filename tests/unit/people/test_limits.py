"""Rate limits in one process: the arithmetic, the table, the headers, and who stands in."""

import asyncio
import random
from fractions import Fraction
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kurz.breaker import FAILURES_TO_OPEN, OPEN_SECONDS
from kurz.errors import Kind
from kurz.people.limits import (
    LIMITS,
    UNKNOWN,
    FallbackLimits,
    LimitClass,
    Limits,
    LimitsUnavailable,
    LimitVerdict,
    MemoryLimits,
    NullLimits,
    Policy,
    TooManyRequests,
    hashing,
    header_fields,
    site_of_address,
    subject_of_address,
)
from kurz.rates import SECOND, Rate

MINUTE = Rate(10, 60)


class Time:
    """Stands still until a test moves it."""

    def __init__(self) -> None:
        self.micros = 0

    def __call__(self) -> int:
        return self.micros

    def seconds(self) -> float:
        return self.micros / SECOND

    def advance(self, seconds: float) -> None:
        self.micros += round(seconds * SECOND)


@pytest.fixture
def now() -> Time:
    return Time()


@pytest.fixture
def store(now: Time) -> MemoryLimits:
    return MemoryLimits(now)


async def allowed(store, times: int, key: str = "k", rate: Rate = MINUTE) -> int:
    return sum([(await store.hit(key, rate)).is_allowed for _ in range(times)])


async def test_a_burst_is_allowed_at_once_and_then_one_per_interval(store, now):
    assert await allowed(store, 20) == 10
    now.advance(5.9)
    assert await allowed(store, 1) == 0
    now.advance(0.1)
    assert await allowed(store, 2) == 1
    now.advance(60)
    assert await allowed(store, 20) == 10


async def test_a_verdict_tells_what_remains_and_when_it_is_whole_again(store, now):
    assert await store.hit("k", MINUTE) == LimitVerdict(True, 10, 9, 6.0, 0.0, 60)  # noqa: FBT003
    now.advance(1)
    assert await store.hit("k", MINUTE, 9) == LimitVerdict(True, 10, 0, 59.0, 0.0, 60)  # noqa: FBT003
    assert await store.hit("k", MINUTE) == LimitVerdict(False, 10, 0, 59.0, 5.0, 60)  # noqa: FBT003


@given(st.integers(1, 50), st.integers(1, 100), st.integers(1, 50))
async def test_whoever_waits_as_long_as_told_is_allowed(count, period, cost):
    now, rate = Time(), Rate(count, period)
    store = MemoryLimits(now)
    await allowed(store, count, rate=rate)
    refused = await store.hit("k", rate, min(cost, count))
    assert not refused.is_allowed
    now.micros += round(refused.retry_after_seconds * SECOND) - 1
    assert not (await store.hit("k", rate, min(cost, count))).is_allowed
    now.micros += 1
    assert (await store.hit("k", rate, min(cost, count))).is_allowed


async def test_a_refused_hit_costs_nothing(store, now):
    await allowed(store, 10)
    assert await allowed(store, 1000) == 0
    now.advance(6)
    assert await allowed(store, 1) == 1


async def test_a_cost_above_the_count_is_refused(store):
    assert not (await store.hit("k", MINUTE, 11)).is_allowed
    assert await allowed(store, 10) == 10


async def test_subjects_do_not_meet(store):
    assert await allowed(store, 20, "a") == 10
    assert await allowed(store, 20, "b") == 10


@pytest.mark.parametrize("rate", [Rate(10, 60), Rate(7, 60), Rate(3, 1), Rate(100, 86_400)])
async def test_100_000_random_arrivals_never_get_more_than_burst_and_rate(store, now, rate):
    """Over every span from an allowed arrival on; a running maximum of what each start leaves."""
    source = random.Random(rate.count)
    per_micro = Fraction(rate.count, rate.period_seconds * SECOND)
    best_start = Fraction(0)
    count = 0
    for _ in range(100_000):
        now.micros += source.randrange(2 * rate.interval_micros // source.choice([1, 10, 100]))
        if (await store.hit("k", rate)).is_allowed:
            # count(from start) ≤ burst + rate·(now - start), for every start so far
            best_start = min(best_start, count - per_micro * now.micros)
            count += 1
            assert count - per_micro * now.micros - best_start <= rate.count
    assert count > rate.count


async def test_what_is_past_due_is_forgotten(store, now):
    for number in range(1000):
        await store.hit(f"old {number}", MINUTE)
    assert len(store) == 1000
    now.advance(6)
    for number in range(600):
        await store.hit(f"new {number % 5}", Rate(1000, 60))
    assert len(store) == 5


async def test_long_periods_at_the_front_do_not_keep_short_ones(store, now):
    for number in range(10):
        await allowed(store, 100, f"day {number}", Rate(100, 86_400))
    for number in range(100):
        await store.hit(f"minute {number}", MINUTE)
    now.advance(60)
    await allowed(store, 200, "other", Rate(1000, 60))
    assert len(store) == 11


async def test_memory_is_bounded(now):
    store = MemoryLimits(now, max_subjects=50)
    for number in range(500):
        await store.hit(str(number), MINUTE)
    assert len(store) == 50
    assert await allowed(store, 20, "499") == 9


TABLE = {
    LimitClass.CLAIM: (Policy("minute", Rate(3, 60)), Policy("hour", Rate(5, 3600))),
    LimitClass.MISS: (Policy("miss", Rate(1, 60)),),
}


async def test_the_tightest_verdict_is_returned(store, now):
    limits = Limits(store, TABLE)
    assert (await limits.check(LimitClass.CLAIM, "a")).policy == "minute"
    now.advance(60)
    assert (await limits.check(LimitClass.CLAIM, "a")).remaining == 2
    now.advance(60)
    found = await limits.check(LimitClass.CLAIM, "a", 2)
    assert (found.policy, found.remaining) == ("hour", 1)


async def test_a_minute_that_refuses_spares_the_day(store, now):
    limits = Limits(store, TABLE)
    await limits.check(LimitClass.CLAIM, "a", 3)
    for _ in range(100):
        with pytest.raises(TooManyRequests) as refused:
            await limits.check(LimitClass.CLAIM, "a")
        assert refused.value.policy == "minute"
    now.advance(60)
    await limits.check(LimitClass.CLAIM, "a", 2)
    with pytest.raises(TooManyRequests) as refused:
        await limits.check(LimitClass.CLAIM, "a")
    assert refused.value.policy == "hour"


async def test_classes_and_subjects_are_counted_apart(store):
    limits = Limits(store, TABLE)
    await limits.check(LimitClass.MISS, "a")
    await limits.check(LimitClass.MISS, "b")
    await limits.check(LimitClass.CLAIM, "a")
    with pytest.raises(TooManyRequests):
        await limits.check(LimitClass.MISS, "a")


async def test_a_refusal_says_when_to_come_back(store, now):
    limits = Limits(store)
    for _ in range(10):
        await limits.check(LimitClass.ANONYMOUS_CREATE, "192.0.2.1")
    now.advance(0.5)
    with pytest.raises(TooManyRequests) as refused:
        await limits.check(LimitClass.ANONYMOUS_CREATE, "192.0.2.1")
    error = refused.value
    assert (error.kind, error.code) == (Kind.LIMITED, "too-many-requests")
    assert (error.limit, error.remaining, error.policy) == (10, 0, "create")
    assert (error.reset_after_seconds, error.retry_after_seconds) == (60, 6)
    assert error.fields == {"retry_after_seconds": 6}
    assert "6 seconds" in error.detail
    assert error.header_fields == {
        "ratelimit-policy": '"create";q=10;w=60',
        "ratelimit": '"create";r=0;t=6',
        "retry-after": "6",
    }


async def test_an_answer_says_what_remains(store):
    found = await Limits(store).check(LimitClass.ANONYMOUS_CREATE, "192.0.2.1")
    assert header_fields(found) == {
        "ratelimit-policy": '"create";q=10;w=60',
        "ratelimit": '"create";r=9;t=6',
    }


async def test_limits_that_are_off_count_and_tell_nothing():
    limits = NullLimits()
    for _ in range(1000):
        assert header_fields(await limits.check(LimitClass.REDEEM, "a")) == {}


def test_every_class_has_rates_and_every_policy_a_name_of_its_own():
    assert set(LIMITS) == set(LimitClass)
    names = [policy.name for policies in LIMITS.values() for policy in policies]
    assert len(names) == len(set(names))
    for policies in LIMITS.values():
        periods = [policy.rate.period_seconds for policy in policies]
        assert periods == sorted(periods)


@pytest.mark.parametrize(
    ("address", "subject"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", UNKNOWN),
        ("192.0.2.1:80", UNKNOWN),
        ("192.0.2.256", UNKNOWN),
        ("someone@example.com", UNKNOWN),
    ],
)
def test_ipv6_is_counted_by_its_network_and_garbage_as_one(address, subject):
    assert subject_of_address(address) == subject


@pytest.mark.parametrize(
    ("address", "site"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
        ("2001:db8:2::", "2001:db8:2::/48"),
        ("", UNKNOWN),
    ],
)
def test_a_site_is_a_larger_network_of_ipv6(address, site):
    assert site_of_address(address) == site


def test_shared_keys_do_not_show_whom_they_are_about():
    hashed = hashing(b"secret")
    assert "ann" not in hashed("sign-in:ann@example.com")
    assert hashed("sign-in:ann@example.com") != hashed("sign-in:anne@example.com")
    assert len(hashed("\ud800")) == 32


def test_shared_keys_are_the_same_for_those_who_have_the_secret_only():
    ours, ours_too, theirs = hashing(b"secret"), hashing(b"secret"), hashing(b"other")
    key = "sign-in:203.0.113.77"
    assert ours(key) == ours_too(key) == ours(key) != theirs(key)
    assert blake2b(key.encode(), digest_size=16).hexdigest() not in (ours(key), theirs(key))


class SharedStore:
    """A shared store that works, fails or hangs, as a test says."""

    def __init__(self, now: Time) -> None:
        self._store = MemoryLimits(now)
        self.state = "up"
        self.asked = 0

    async def hit(self, key: str, rate: Rate, cost: int = 1) -> LimitVerdict:
        self.asked += 1
        if self.state == "down":
            raise LimitsUnavailable
        if self.state == "hangs":
            await asyncio.Event().wait()
        return await self._store.hit(key, rate, cost)


@pytest.fixture
def shared(now: Time) -> SharedStore:
    return SharedStore(now)


def fallback(shared: SharedStore, now: Time, processes: int = 1) -> FallbackLimits:
    return FallbackLimits(
        shared,
        MemoryLimits(now),
        deadline_seconds=0.01 if shared.state == "hangs" else 5,
        processes=processes,
        now_seconds=now.seconds,
    )


@pytest.mark.parametrize("state", ["down", "hangs"])
async def test_limits_go_on_while_the_shared_store_is_out(shared, now, state):
    shared.state = state
    assert await allowed(fallback(shared, now), 50) == 10
    assert shared.asked == FAILURES_TO_OPEN


async def test_processes_share_what_each_counts_alone(shared, now):
    shared.state = "down"
    assert await allowed(fallback(shared, now, processes=4), 50) == 2
    assert await allowed(fallback(shared, now, processes=40), 50) == 1


async def test_a_shared_store_that_is_out_is_tried_once_a_second(shared, now):
    limits = fallback(shared, now)
    shared.state = "down"
    await allowed(limits, 50)
    for tries in range(1, 4):
        now.advance(OPEN_SECONDS)
        await allowed(limits, 50)
        assert shared.asked == FAILURES_TO_OPEN + tries
    shared.state = "up"
    now.advance(OPEN_SECONDS)
    assert await allowed(limits, 50, "other") == 10
    assert shared.asked == FAILURES_TO_OPEN + 3 + 50


async def test_a_single_failure_leaves_the_shared_store_in_use(shared, now):
    limits = fallback(shared, now)
    for _ in range(5):
        shared.state = "down"
        await allowed(limits, FAILURES_TO_OPEN - 1)
        shared.state = "up"
        await allowed(limits, 1)
    assert shared.asked == 5 * FAILURES_TO_OPEN


async def test_only_one_request_tries_a_store_that_was_out(shared, now):
    limits = fallback(shared, now)
    shared.state = "down"
    await allowed(limits, FAILURES_TO_OPEN)
    shared.state = "hangs"
    now.advance(OPEN_SECONDS)
    probe = asyncio.create_task(limits.hit("k", MINUTE))
    await asyncio.sleep(0)
    await allowed(limits, 50)
    assert shared.asked == FAILURES_TO_OPEN + 1
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
