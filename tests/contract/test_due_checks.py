"""When the first and the next check of a destination are due."""

from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.links.model import Status
from kurz.storage.safety import destinations as stored
from kurz.storage.safety.destinations import MANY, follow_changes
from kurz.storage.safety.waiting_checks import load, put_off
from kurz.storage.schema.safety import destination_position, destinations
from kurz.wiring.checks import site_of
from kurz.wiring.core import Kurz
from support.checks import follow, led_to, rows, store_of
from support.clock import FrozenClock
from support.destinations import URLS, due_of, edit, expected
from support.engines import without_redis
from support.links import create_link

engine = without_redis  # which has no part in it


async def test_links_from_before_are_taken_in_once_and_their_checks_spread_over_a_day(kurz, clock):
    for number in range(300):
        await create_link(kurz, f"https://example.com/old/{number}")
    # As if the log had been trimmed since.
    far = sa.update(destination_position).values(change_id=10**9, link_id=0)
    await kurz.database.write(lambda connection: connection.execute(far).rowcount)
    await follow(kurz)
    assert await led_to(kurz) == await expected(kurz)
    await check_that_they_spread(kurz, clock)


@pytest.mark.parametrize("changes", [MANY, MANY + 1])
async def test_the_first_checks_after_a_large_import_are_spread_over_a_day(kurz, clock, changes):
    """Also of what is taken in last."""
    until = await first_unfollowed(kurz) + changes
    for number in range(300):
        await create_link(kurz, f"https://example.com/{number}")
    while await kurz.database.write(follow_changes, until, 50, site_of, clock.micros()):
        clock.advance(seconds=1)
    if changes > MANY:
        await check_that_they_spread(kurz, clock)
    else:
        assert max(await minutes_until_due(kurz, clock)) < 6


async def test_an_import_that_comes_in_small_rounds_is_spread_too(kurz, clock, monkeypatch):
    """As 900 rows a second, taken in every 5 seconds; here all is a fiftieth."""
    many, a_round = MANY // 50, 900 * 5 // 50
    assert a_round < many
    monkeypatch.setattr(stored, "MANY", many)
    for number in range(5 * a_round):
        await create_link(kurz, f"https://example.com/{number}")
        if (number + 1) % a_round == 0:
            await follow(kurz)
            clock.advance(seconds=5)
    soon = [minutes for minutes in await minutes_until_due(kurz, clock) if minutes < 6]
    assert a_round <= len(soon) <= many
    assert max(await minutes_until_due(kurz, clock)) > 23 * 60
    clock.advance(minutes=5)
    await create_link(kurz, URLS[0])
    await follow(kurz)
    due_at = await due_of(kurz)
    assert due_at is not None
    assert due_at < clock.micros() + 6 * 60e6


async def minutes_until_due(kurz: Kurz, clock: FrozenClock) -> list[float]:
    return [(row["due_at"] - clock.micros()) / 6e7 for row in await rows(kurz, destinations)]


async def first_unfollowed(kurz: Kurz) -> int:
    query = sa.select(destination_position.c.change_id)
    return int(await kurz.database.read(lambda connection: connection.execute(query).scalar_one()))


async def check_that_they_spread(kurz: Kurz, clock: FrozenClock) -> None:
    """There are 300."""
    now = clock.micros()
    hours = sorted((row["due_at"] - now) / 3.6e9 for row in await rows(kurz, destinations))
    assert 0 < hours[0] < 1
    assert 23 < hours[-1] < 25
    assert 9 < hours[150] < 15


async def test_the_first_check_is_due_some_minutes_after_a_link_was_made(kurz, clock):
    await create_link(kurz, URLS[0])
    await follow(kurz)
    due_at = await due_of(kurz)
    assert due_at is not None
    assert 4 * 60 < (due_at - clock.micros()) / 1e6 < 6 * 60


@pytest.mark.parametrize("changes", [{"status": Status.PAUSED}, {"status": Status.BANNED}])
async def test_what_is_not_active_is_not_due_until_it_is_again(kurz, clock, changes):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await edit(kurz, link, **changes)
    await follow(kurz)
    clock.advance(hours=1)
    store = store_of(kurz)
    (waiting,) = await store.find_due(clock.now(), None, 10)
    assert await store.load([waiting.id], clock.now()) == []
    assert await due_of(kurz) is None
    await edit(kurz, link, status=Status.ACTIVE)
    await follow(kurz)
    due_at = await due_of(kurz)
    assert due_at is not None
    assert due_at > clock.micros()


async def test_an_expired_link_is_not_called(kurz, clock):
    await create_link(kurz, URLS[0], expires_in_seconds=60)
    await follow(kurz)
    clock.advance(hours=1)
    store = store_of(kurz)
    (waiting,) = await store.find_due(clock.now(), None, 10)
    assert await store.load([waiting.id], clock.now()) == []
    assert await store.find_due(clock.now(), None, 10) == []


async def test_a_link_is_called_when_it_starts(kurz, clock):
    await create_link(kurz, URLS[0], starts_at=clock.now() + timedelta(hours=3))
    await follow(kurz)
    clock.advance(hours=1)
    store = store_of(kurz)
    (waiting,) = await store.find_due(clock.now(), None, 10)
    assert await store.load([waiting.id], clock.now()) == []
    assert await due_of(kurz) == clock.micros() + 2 * 3_600_000_000
    clock.advance(hours=2)
    (waiting,) = await store.find_due(clock.now(), None, 10)
    assert len(await store.load([waiting.id], clock.now())) == 1


async def test_a_held_link_is_not_called(kurz, clock):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await edit(kurz, link, held_at=clock.now())
    clock.advance(hours=1)
    store = store_of(kurz)
    (waiting,) = await store.find_due(clock.now(), None, 10)
    assert await store.load([waiting.id], clock.now()) == []
    assert await due_of(kurz) is None
    assert not await store.ask(link.id, clock.now())


async def test_a_link_that_is_followed_meanwhile_is_not_forgotten(kurz, clock):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await edit(kurz, link, status=Status.PAUSED)
    await follow(kurz)
    clock.advance(hours=1)
    (waiting,) = await store_of(kurz).find_due(clock.now(), None, 10)
    found, idle, position = await kurz.database.read(load, [waiting.id], clock.micros())
    assert (found, [each.of_id for each in idle]) == ([], [waiting.id])
    await create_link(kurz, URLS[0])
    await follow(kurz)
    await kurz.database.write(put_off, idle, position)
    assert await due_of(kurz) is not None
