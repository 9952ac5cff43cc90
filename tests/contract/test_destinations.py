"""Destinations are what a look at every link finds, whenever following has caught up."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.links import lifecycle
from kurz.links.model import Draft, LinkType, Scope, Status
from kurz.storage.engine.changes import last_change
from kurz.storage.followers.destinations import DestinationFollower
from kurz.storage.links.store import insert_link
from kurz.storage.safety.destinations import follow_changes
from kurz.storage.schema.links import changes as change_log
from kurz.storage.schema.links import counted_links, links
from kurz.storage.schema.safety import checks, destinations, link_destinations
from kurz.wiring.checks import site_of
from kurz.wiring.core import Kurz
from kurz.wiring.jobs import open_jobs
from support.checks import OK, conclude_at, follow, led_to, reread, rows, store_of
from support.destinations import URLS, due_of, edit, expected, is_followed, remove, scan
from support.engines import without_redis
from support.failing import FailingWrites
from support.feed import SOON_SECONDS, until_told
from support.links import create_link
from support.long_run import in_the_long_run

engine = without_redis  # which has no part in it
ANYBODY = Scope()


@pytest.fixture
def checked(kurz: Kurz) -> Callable[..., Awaitable[None]]:
    """Records what a check of a URL found."""
    return partial(conclude_at, kurz)


async def act(kurz: Kurz, chance: random.Random) -> None:
    """Does something to some link, by chance."""
    made = await scan(kurz)
    url = chance.choice(URLS)
    if not made or chance.random() < 0.4:
        is_anonymous = chance.random() < 0.3
        owner_id = None if is_anonymous else 1
        await kurz.links.create(
            Draft(original_url=url, owner_id=owner_id, is_anonymous=is_anonymous)
        )
        return
    link = chance.choice(made)
    what = chance.choice(["move", "status", "remove", "title", "claim"])
    if what == "remove":
        await remove(kurz, link)
        return
    possible: dict[str, dict[str, object]] = {
        "move": {"original_url": url, "canonical_url": url, "location": url},
        "status": {"status": chance.choice([*Status])},
        "title": {"title": "another"},
        "claim": {"link_type": LinkType.PERMANENT, "expires_at": None},
    }
    await kurz.store.update(link, possible[what], kurz.clock.now())


@pytest.mark.parametrize("seed", [0, *in_the_long_run(1, 2)])
async def test_they_are_what_a_look_at_every_link_finds(kurz, clock, seed):
    chance = random.Random(seed)
    for _ in range(15):
        for _ in range(8):
            await act(kurz, chance)
            clock.advance(seconds=1)
        while chance.random() < 0.5:  # one that ends before it has caught up
            until = chance.randrange(await kurz.database.read(last_change) + 1)
            await kurz.database.write(follow_changes, until, 3, site_of, clock.micros())
        await follow(kurz)
        assert await led_to(kurz) == await expected(kurz)
        due = {row["location"] for row in await rows(kurz, destinations) if row["due_at"]}
        assert due >= {
            link.location
            for link in await scan(kurz)
            if link.link_type is LinkType.PERMANENT
            and lifecycle.status(link, clock.now()) is Status.ACTIVE
        }


async def test_what_leads_to_no_url_is_left_out(kurz, clock):
    bad, good = await create_link(kurz, URLS[1]), await create_link(kurz, URLS[0])
    change = sa.update(links).where(links.c.id == bad.id).values(location="HTTP://x y/")
    await kurz.database.write(lambda it: it.execute(change).rowcount)
    await follow(kurz)
    assert await led_to(kurz) == {URLS[0]: {good.id}}


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_moved_link_that_somebody_holds_is_followed_later(kurz, clock, checked):
    """Who counts its clicks leaves no change, by which it would come again."""
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await checked(URLS[0], OK)
    await edit(kurz, link, original_url=URLS[1], canonical_url=URLS[1], location=URLS[1])
    async with kurz.database._engine.connect() as connection:
        lock = sa.select(links.c.id).where(links.c.id == link.id).with_for_update()
        await connection.execute(lock)
        await follow(kurz)
        assert await led_to(kurz) == {URLS[0]: {link.id}}
        await connection.rollback()
    await follow(kurz)
    assert await led_to(kurz) == {URLS[1]: {link.id}}
    assert (await reread(kurz, link)).destination_status is None


async def test_a_strangers_link_has_no_destination_until_it_is_claimed(kurz, clock):
    created = await kurz.links.create(Draft(original_url=URLS[0], is_anonymous=True))
    await follow(kurz)
    assert await led_to(kurz) == {}
    await kurz.links.claim(
        7, None, short_code=created.link.short_code, claim_token=created.claim_token
    )
    await follow(kurz)
    assert await led_to(kurz) == {URLS[0]: {created.link.id}}


async def test_a_new_link_to_a_known_url_has_it_checked_soon_and_is_told_nothing_before(
    kurz, clock, checked
):
    first = await create_link(kurz, URLS[0])
    await follow(kurz)
    await checked(URLS[0], OK)
    assert (await reread(kurz, first)).destination_status == "ok"
    clock.advance(hours=1)
    second = await create_link(kurz, URLS[0])
    await follow(kurz)
    assert (await reread(kurz, second)).last_checked_at is None
    assert await store_of(kurz).last_checks(second.id) == []
    assert len(await store_of(kurz).last_checks(first.id)) == 1
    due_at = await due_of(kurz)
    assert due_at is not None
    assert due_at < clock.micros() + 6 * 60 * 1e6


async def test_another_title_changes_nothing_about_the_next_check(kurz, clock, checked):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await checked(URLS[0], OK)
    due_at = await due_of(kurz)
    await edit(kurz, link, title="another")
    await follow(kurz)
    assert await due_of(kurz) == due_at
    assert (await reread(kurz, link)).destination_status == "ok"


async def test_a_link_that_leads_elsewhere_forgets_what_was_found(kurz, clock, checked):
    link = await create_link(kurz, URLS[0])
    stays = await create_link(kurz, URLS[0])
    await follow(kurz)
    await checked(URLS[0], OK)
    edited = await edit(kurz, link, original_url=URLS[1], canonical_url=URLS[1], location=URLS[1])
    assert edited.destination_status is None  # at once: where checks are off, nobody follows
    await follow(kurz)
    moved = await reread(kurz, link)
    assert (moved.destination_status, moved.destination_http_status) == (None, None)
    assert moved.last_checked_at is None
    assert (await reread(kurz, stays)).destination_status == "ok"


async def test_a_destination_goes_with_its_last_link_and_its_checks_too(kurz, clock, checked):
    one, other = await create_link(kurz, URLS[0]), await create_link(kurz, URLS[0])
    await follow(kurz)
    await checked(URLS[0], OK)
    await remove(kurz, one)
    await follow(kurz)
    assert await led_to(kurz) == {URLS[0]: {other.id}}
    assert len(await rows(kurz, checks)) == 1
    await remove(kurz, other)
    await follow(kurz)
    for table in destinations, link_destinations, checks:
        assert await rows(kurz, table) == []


async def test_purged_links_are_followed(kurz, clock):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    await kurz.links.delete(kurz.links.public_id(link), ANYBODY)
    await kurz.trash.purge(kurz.links.public_id(link), ANYBODY)
    await follow(kurz)
    assert await rows(kurz, link_destinations) == []


async def test_following_writes_neither_a_version_nor_a_change(kurz, clock, checked):
    link = await create_link(kurz, URLS[0])
    await follow(kurz)
    before = await kurz.database.read(last_change)
    await checked(URLS[0], OK)
    await follow(kurz)
    assert await kurz.database.read(last_change) == before
    assert (await reread(kurz, link)).version == link.version


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_row_that_appears_behind_a_later_one_is_not_missed(kurz):
    """A transaction takes its number, and commits after another that took its own later."""
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def write_slowly() -> None:
        link = replace(await create_link(kurz, URLS[0]), id=0, short_code="late")
        async with kurz.database._engine.connect() as connection:
            await connection.run_sync(insert_link, link)
            waits.set()
            await goes_on.wait()
            await connection.commit()

    slow = asyncio.create_task(write_slowly())
    await waits.wait()
    await create_link(kurz, URLS[1])
    following = asyncio.create_task(follow(kurz))
    await asyncio.wait((following,), timeout=0.5)
    goes_on.set()
    await slow
    await following
    assert await led_to(kurz) == await expected(kurz)
    assert len((await led_to(kurz))[URLS[0]]) == 2


async def test_several_follow_at_once(kurz):
    for number in range(30):
        await create_link(kurz, URLS[number % 5])
    await asyncio.gather(*(follow(kurz) for _ in range(4)))
    assert await led_to(kurz) == await expected(kurz)


async def test_the_jobs_process_follows(kurz):
    async def is_followed() -> bool:
        return await led_to(kurz) == await expected(kurz)

    await create_link(kurz, URLS[0])
    async with open_jobs(kurz):
        await create_link(kurz, URLS[1])
        await until_told(is_followed)


async def test_where_checks_are_off_the_jobs_process_follows_nothing(kurz):
    off = replace(kurz, settings=replace(kurz.settings, destination_checks="off"))
    await create_link(kurz, URLS[0])
    async with open_jobs(off):
        await until_told(partial(is_counted, kurz))
        await asyncio.sleep(2 * SOON_SECONDS)
    assert await rows(kurz, destinations) == []
    async with open_jobs(kurz):
        await until_told(partial(is_followed, kurz))


async def is_counted(kurz: Kurz) -> bool:
    return bool(await rows(kurz, counted_links))


@pytest.mark.parametrize("is_running", [False, True])
async def test_after_changes_were_lost_all_links_are_followed_again(kurz, clock, is_running):
    """Because checks were off for long; or are off elsewhere, where the log is trimmed."""
    kept, moved, gone = [await create_link(kurz, URLS[number]) for number in range(3)]
    follower = DestinationFollower(kurz.database, clock, site_of)
    await follower.catch_up()
    await edit(kurz, moved, original_url=URLS[3], canonical_url=URLS[3], location=URLS[3])
    await remove(kurz, gone)
    new = await create_link(kurz, URLS[4])
    await edit(kurz, kept, title="Only this change is still in the log")
    trim = sa.delete(change_log).where(change_log.c.id < await kurz.database.read(last_change))
    await kurz.database.write(lambda it: it.execute(trim).close())
    if is_running:
        await follower.catch_up()
    else:
        await follow(kurz)
    assert await led_to(kurz) == {URLS[0]: {kept.id}, URLS[3]: {moved.id}, URLS[4]: {new.id}}


async def test_an_outage_is_waited_out(kurz):
    async def is_followed() -> bool:
        return await led_to(kurz) == {URLS[0]: {link.id}}

    link = await create_link(kurz, URLS[0])
    failing: Any = FailingWrites(kurz.database)
    follower = DestinationFollower(failing, kurz.clock, site_of, wake_seconds=SOON_SECONDS)
    follower.start()
    await until_told(is_followed)
    await follower.stop()
