"""What checks found is stored, and all links of a URL are told."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.links.model import DestinationStatus
from kurz.safety.check_schedule import conclude
from kurz.safety.checks import KEPT_CHECKS, WaitingChecks
from kurz.storage.engine.changes import last_change
from kurz.storage.safety import checks as stored
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import checks, destinations
from support.check_jobs import URL, status_of
from support.checks import (
    FAILING,
    GONE,
    INSIDE,
    NO_NAME,
    NO_NAME_SERVERS,
    OK,
    SILENT,
    conclude_at,
    follow,
    load_due,
    reread,
    rows,
    store_of,
)
from support.engines import without_redis
from support.feed import until_told
from support.links import create_link

engine = without_redis  # which has no part in it


async def test_all_links_of_a_url_are_told_and_nothing_else_changes(kurz, clock, monkeypatch):
    monkeypatch.setattr(stored, "BATCH", 7)
    made = [await create_link(kurz) for _ in range(30)]
    other = await create_link(kurz, "https://example.com/other")
    await follow(kurz)
    before = await kurz.database.read(last_change)
    await conclude_at(kurz, URL, OK)
    for link in made:
        told = await reread(kurz, link)
        assert told.destination_status is DestinationStatus.OK
        assert told.destination_http_status == 200
        assert told.last_checked_at == clock.now()
        assert (told.version, told.updated_at) == (link.version, link.updated_at)
    assert await status_of(kurz, other) is None
    assert await kurz.database.read(last_change) == before
    (row,) = [row for row in await rows(kurz, destinations) if row["location"] == URL]
    assert row["due_at"] > clock.micros()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_link_that_somebody_holds_is_told_later(kurz, clock, monkeypatch):
    monkeypatch.setattr(stored, "REST_SECONDS", 0.01)
    held, free = await create_link(kurz), await create_link(kurz)
    await follow(kurz)
    async with kurz.database._engine.connect() as connection:
        lock = sa.select(links.c.id).where(links.c.id == held.id).with_for_update()
        await connection.execute(lock)
        telling = asyncio.create_task(conclude_at(kurz, URL, OK))

        async def is_told() -> bool:
            return await status_of(kurz, free) is not None

        await until_told(is_told)
        assert await status_of(kurz, held) is None
        await connection.rollback()
    await telling
    assert await status_of(kurz, held) == "ok"


async def test_a_check_that_was_interrupted_comes_again_soon_but_not_at_once(
    kurz, clock, monkeypatch
):
    monkeypatch.setattr(stored, "BATCH", 3)
    made = [await create_link(kurz) for _ in range(5)]
    await follow(kurz)
    clock.advance(hours=1)
    store = store_of(kurz)
    await store.ask(made[0].id, clock.now())
    destination = await load_due(kurz, URL)
    verdict = conclude(destination, OK, clock.now(), clock.now())
    await kurz.database.write(stored.record_first, destination.id, verdict)
    assert await store.find_due(clock.now(), None, 10) == []
    assert await store.has_requested(clock.now())
    clock.advance(minutes=10)
    assert len(await store.find_due(clock.now(), None, 10)) == 1
    await store.record(destination.id, verdict)  # by who heard nothing of its end
    assert len(await rows(kurz, checks)) == 1
    assert await store.find_due(clock.now(), None, 10) == []
    assert not await store.has_requested(clock.now())
    for link in made:
        assert await status_of(kurz, link) == "ok"


async def test_the_last_checks_are_kept_newest_first(kurz, clock):
    link = await create_link(kurz)
    await follow(kurz)
    for number in range(KEPT_CHECKS + 5):
        clock.advance(hours=1)
        await conclude_at(kurz, URL, GONE if number % 2 else OK)
    found = await store_of(kurz).last_checks(link.id)
    assert len(found) == len(await rows(kurz, checks)) == KEPT_CHECKS
    assert found[0].checked_at == clock.now()
    assert [check.finding for check in found[:2]] == [OK, GONE]
    assert found[-1].checked_at == clock.now() - timedelta(hours=KEPT_CHECKS - 1)


async def test_a_destination_that_is_gone_by_the_time_is_no_error(kurz, clock):
    link = await create_link(kurz)
    await follow(kurz)
    destination = await load_due(kurz, URL)
    await kurz.database.write(lambda it: it.execute(sa.delete(destinations)).rowcount)
    verdict = conclude(destination, OK, clock.now(), clock.now())
    await store_of(kurz).record(destination.id, verdict)
    assert await rows(kurz, checks) == []
    assert await status_of(kurz, link) is None


async def test_what_was_checked_since_it_was_found_to_be_due_is_not_checked_again(kurz, clock):
    await create_link(kurz)
    await follow(kurz)
    clock.advance(hours=1)
    (waiting,) = await store_of(kurz).find_due(clock.now(), None, 10)
    await conclude_at(kurz, URL, OK)
    assert await store_of(kurz).load([waiting.id], clock.now()) == []
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] is not None


async def test_clicks_of_all_links_say_how_often_it_is_checked(kurz, clock):
    one, other = await create_link(kurz), await create_link(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    for link, clicks in ((one, 400), (other, 700)):
        count = sa.update(links).where(links.c.id == link.id).values(redirect_count=clicks)
        await kurz.database.write(lambda it, count=count: it.execute(count).rowcount)
    clock.advance(days=1)
    await conclude_at(kurz, URL, OK)
    (row,) = await rows(kurz, destinations)
    assert (row["clicks"], row["clicked_at"]) == (1100, clock.micros())
    assert row["due_at"] - clock.micros() < 2 * 3.6e9


async def test_the_next_are_found_page_by_page(kurz, clock):
    for number in range(25):
        await create_link(kurz, f"https://{number}.example.com/")
        clock.advance(seconds=1)
    await follow(kurz)
    clock.advance(hours=1)
    store, after = store_of(kurz), None
    found: list[WaitingChecks] = []
    while page := await store.find_due(clock.now(), after, 10):
        found += page
        after = page[-1]
    assert len({waiting.id for waiting in found}) == 25
    assert found == sorted(found)
    assert await store.count_due(clock.now(), 100) == 25
    assert await store.count_due(clock.now(), 7) == 7


async def test_a_new_link_is_told_what_its_own_checks_say(kurz, clock):
    """Not that others lead there too, for whom it is broken already."""
    old = await create_link(kurz)
    await follow(kurz)
    for _ in range(4):
        clock.advance(hours=2)
        await conclude_at(kurz, URL, SILENT)
    clock.advance(hours=2)
    new, alone = await create_link(kurz), await create_link(kurz, "https://alone.example/")
    await follow(kurz)
    assert await status_of(kurz, old) == "broken"
    for hour in range(4):
        clock.advance(hours=1)
        for url in URL, "https://alone.example/":
            await conclude_at(kurz, url, SILENT)
        assert await status_of(kurz, new) == await status_of(kurz, alone), hour
        assert await status_of(kurz, old) == "broken"
    assert await status_of(kurz, new) == "broken"


async def test_only_the_link_that_was_asked_for_is_broken_at_once(kurz, clock):
    """All others as if nobody had asked, and it is checked as often."""
    asked, other = await create_link(kurz), await create_link(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    clock.advance(hours=1)
    store, seen = store_of(kurz), []
    await store.ask(asked.id, clock.now())
    for finding, minutes in (FAILING, 10), (NO_NAME_SERVERS, 10), (FAILING, 60), (OK, 60 * 24):
        clock.advance(seconds=1)
        await conclude_at(kurz, URL, finding)
        assert not await store.has_requested(clock.now())
        seen.append([await status_of(kurz, link) for link in (asked, other)])
        (row,) = await rows(kurz, destinations)
        assert 0.8 < (row["due_at"] - clock.micros()) / 60e6 / minutes < 1.2, finding
        clock.advance(minutes=minutes)
    assert seen == [*3 * [["broken", "ok"]], ["ok", "ok"]]
    # Now the other one asks: what the first one asked for is over.
    await store.ask(other.id, clock.now())
    await conclude_at(kurz, URL, GONE)
    assert [await status_of(kurz, link) for link in (asked, other)] == ["ok", "broken"]
    clock.advance(minutes=10)
    await conclude_at(kurz, URL, GONE)
    assert [await status_of(kurz, link) for link in (asked, other)] == ["broken", "broken"]


async def test_asking_again_does_not_mend_a_link(kurz, clock):
    link = await create_link(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    for finding in FAILING, NO_NAME_SERVERS, FAILING:
        clock.advance(minutes=1)
        await store_of(kurz).ask(link.id, clock.now())
        await conclude_at(kurz, URL, finding)
        assert await status_of(kurz, link) == "broken"


async def test_a_link_that_leads_elsewhere_has_not_asked_for_that(kurz, clock):
    moved, asks = await create_link(kurz), await create_link(kurz, "https://example.com/new")
    await store_of(kurz).ask(moved.id, clock.now())
    url = {"original_url": asks.original_url, "canonical_url": asks.canonical_url}
    changes = {**url, "location": asks.location}
    assert await kurz.store.update(await reread(kurz, moved), changes, clock.now())
    await follow(kurz)
    clock.advance(minutes=1)
    await store_of(kurz).ask(asks.id, clock.now())
    await conclude_at(kurz, asks.location, FAILING)
    assert [await status_of(kurz, link) for link in (moved, asks)] == ["unknown", "broken"]


async def test_a_new_link_does_not_learn_that_a_name_was_there_once(kurz, clock):
    old = await create_link(kurz)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    clock.advance(hours=2)
    new = await create_link(kurz)
    await follow(kurz)
    for _ in range(3):
        clock.advance(hours=2)
        await conclude_at(kurz, URL, NO_NAME)
    assert [await status_of(kurz, link) for link in (old, new)] == ["broken", "not_checked"]
    store = store_of(kurz)
    assert {check.finding for check in await store.last_checks(new.id)} == {INSIDE}
    assert {check.finding for check in await store.last_checks(old.id)} == {OK, NO_NAME}


async def test_a_link_that_came_during_a_check_has_its_own_soon(kurz, clock):
    await create_link(kurz)
    await follow(kurz)
    destination, started_at = await load_due(kurz, URL), clock.now()
    clock.advance(seconds=5)
    new = await create_link(kurz)
    await follow(kurz)
    clock.advance(seconds=5)
    verdict = conclude(destination, OK, started_at, clock.now())
    await store_of(kurz).record(destination.id, verdict)
    assert await status_of(kurz, new) is None
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] <= clock.micros() + 6 * 60e6


async def test_clicks_from_before_the_first_check_are_not_of_a_day(kurz, clock):
    await create_link(kurz)
    await follow(kurz)
    count = sa.update(links).values(redirect_count=100_000)
    await kurz.database.write(lambda it: it.execute(count).rowcount)
    clock.advance(minutes=6)
    await conclude_at(kurz, URL, OK)
    (row,) = await rows(kurz, destinations)
    assert row["due_at"] - clock.micros() > 20 * 3.6e9
