"""Whoever misses too often looks up one code at a time; everybody else is left alone."""

import asyncio

import pytest

from kurz.people.limits import LimitClass, Limits, LimitVerdict, TooManyRequests
from kurz.redirect import misses as module
from kurz.redirect.misses import Misses


class Refusing(Limits):
    """Refuses the subjects it is given, and remembers who was charged for what."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.charged: list[tuple[LimitClass, str]] = []

    async def check(self, class_: LimitClass, subject: str, cost: int = 1) -> LimitVerdict:
        self.charged.append((class_, subject))
        verdict = LimitVerdict(
            is_allowed=subject not in self.refused,
            limit=30,
            remaining=0,
            reset_after_seconds=60.0,
            retry_after_seconds=2.0,
            period_seconds=60,
        )
        if not verdict.is_allowed:
            raise TooManyRequests(verdict)
        return verdict


@pytest.fixture
def moment(monkeypatch) -> list[float]:
    """The time in seconds; a test moves it."""
    seconds = [100.0]
    monkeypatch.setattr("kurz.redirect.misses.time.monotonic", lambda: seconds[0])
    return seconds


async def refuse(misses: Misses, subject: str) -> None:
    with pytest.raises(TooManyRequests):
        await misses.charge(subject)


async def most_at_once(misses: Misses, *subjects: str) -> int:
    """How many lookups go on at the same time, if all come at once."""
    inside = most = 0

    async def look_up(subject: str) -> None:
        nonlocal inside, most
        async with misses.turn(subject):
            inside += 1
            most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*map(look_up, subjects))
    return most


async def test_a_miss_is_charged_to_its_subject(moment):
    limits = Refusing()
    await Misses(limits).charge("192.0.2.1")
    assert limits.charged == [(LimitClass.MISS, "192.0.2.1")]


async def test_a_lookup_by_itself_costs_nothing(moment):
    limits = Refusing("192.0.2.1")
    assert await most_at_once(Misses(limits), *["192.0.2.1"] * 5) == 5
    assert limits.charged == []


async def test_who_missed_too_often_has_one_lookup_at_a_time(moment):
    misses = Misses(Refusing("192.0.2.1"))
    await refuse(misses, "192.0.2.1")
    assert await most_at_once(misses, *["192.0.2.1"] * 5) == 1
    assert await most_at_once(misses, *["192.0.2.2"] * 5) == 5


async def test_two_who_missed_too_often_do_not_wait_for_each_other(moment):
    misses = Misses(Refusing("192.0.2.1", "192.0.2.2"))
    await refuse(misses, "192.0.2.1")
    await refuse(misses, "192.0.2.2")
    assert await most_at_once(misses, "192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.2") == 2


async def test_the_slowness_ends_with_the_refusal(moment):
    misses = Misses(Refusing("192.0.2.1"))
    await refuse(misses, "192.0.2.1")
    moment[0] += 1.9
    assert await most_at_once(misses, *["192.0.2.1"] * 5) == 1
    moment[0] += 0.2
    assert await most_at_once(misses, *["192.0.2.1"] * 5) == 5
    assert not misses._refused


async def test_another_refusal_makes_it_longer_and_keeps_the_queue(moment):
    misses = Misses(Refusing("192.0.2.1"))
    await refuse(misses, "192.0.2.1")
    async with misses.turn("192.0.2.1"):
        moment[0] += 1.5
        await refuse(misses, "192.0.2.1")
        waiting = asyncio.create_task(most_at_once(misses, "192.0.2.1"))
        for _ in range(5):
            await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
    moment[0] += 1.5
    assert await most_at_once(misses, *["192.0.2.1"] * 3) == 1


async def test_a_lookup_that_fails_or_is_left_lets_the_next_one_in(moment):
    misses = Misses(Refusing("192.0.2.1"))
    await refuse(misses, "192.0.2.1")
    with pytest.raises(RuntimeError):
        async with misses.turn("192.0.2.1"):
            raise RuntimeError
    async with misses.turn("192.0.2.1"):
        leaving = asyncio.create_task(most_at_once(misses, "192.0.2.1"))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
    assert await most_at_once(misses, "192.0.2.1", "192.0.2.1") == 1


async def test_the_addresses_at_hand_are_bounded_and_the_oldest_go_first(moment, monkeypatch):
    monkeypatch.setattr(module, "MAX_REFUSED", 3)
    addresses = [f"192.0.2.{number}" for number in range(5)]
    misses = Misses(Refusing(*addresses))
    for address in addresses:
        await refuse(misses, addresses[0])  # it misses all the time
        await refuse(misses, address)
    assert set(misses._refused) == {addresses[0], addresses[3], addresses[4]}
