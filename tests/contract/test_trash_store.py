"""What is in the trash can be deleted for ever, one link or all of a scope, and nothing else."""

import asyncio
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.links.model import Filter, Scope, Status
from kurz.storage.ending.purging import SqlTrashStore
from kurz.storage.followers.link_counter import LinkCounter
from kurz.storage.links.totals import SqlTotalsStore
from kurz.storage.schema.clicks import click_days, click_months, click_totals
from kurz.storage.schema.links import changes, history, link_tags, links
from kurz.wiring.core import Kurz
from support.endings import (
    OWNER,
    count_clicks,
    counted,
    exist,
    found,
    make,
    restore,
    rows,
    throw_away,
)
from support.engines import without_redis
from support.feed import until_told

engine = without_redis  # which has no part in it
KEPT = timedelta(days=365)
TEAM = 7  # a workspace
MINE = Scope(0, OWNER)


@pytest.fixture
def trash(kurz: Kurz) -> SqlTrashStore:
    return SqlTrashStore(kurz.database, KEPT)


async def test_a_link_in_the_trash_can_be_deleted_for_ever_once(kurz, trash, clock):
    link = await throw_away(kurz, await make(kurz))
    assert await trash.purge(MINE, link.id, link.version, clock.now())
    assert await found(kurz, link) is None
    assert not await trash.purge(MINE, link.id, link.version, clock.now())


async def test_only_what_is_in_the_trash_of_the_scope_in_that_version_is_deleted(
    kurz, trash, clock
):
    live = await make(kurz)
    link = await throw_away(kurz, await make(kurz))
    back = await restore(kurz, await throw_away(kurz, await make(kurz)))
    for scope, wanted, version in (
        (MINE, live, live.version),
        (MINE, back, back.version),
        (MINE, link, link.version - 1),
        (Scope(0, OWNER + 1), link, link.version),
        (Scope(TEAM), link, link.version),
    ):
        assert not await trash.purge(scope, wanted.id, version, clock.now())
        assert await found(kurz, wanted) is not None


async def test_with_a_link_goes_what_is_its_own_and_nothing_else(kurz, trash, clock):
    link = await make(kurz, tags=("tag",), custom_code="gone")
    stays = await make(kurz, tags=("tag",))
    _, *others = await count_clicks(kurz, link)
    link = await throw_away(kurz, link)
    assert await trash.purge(MINE, link.id, link.version, clock.now())
    for table in click_days, click_months, click_totals:
        assert await counted(kurz, table) == set(others)
    assert [row["link_id"] for row in await rows(kurz, link_tags)] == [stays.id]
    assert await rows(kurz, history, history.c.link_id == link.id) == []
    [*_, last] = await rows(kurz, changes)
    assert (last["link_id"], last["short_code"]) == (link.id, "gone")
    assert last["version"] == link.version + 1


async def test_who_searches_or_counts_links_hears_that_one_is_gone(kurz, trash, clock):
    await make(kurz, title="needle")
    link = await make(kurz, title="needle")
    totals = SqlTotalsStore(kurz.database, clock)
    await LinkCounter(kurz.database).catch_up()
    assert (await totals.get()).active_links == 2
    link = await throw_away(kurz, link)
    assert await trash.purge(MINE, link.id, link.version, clock.now())
    await LinkCounter(kurz.database).catch_up()
    assert (await totals.get()).active_links == 1
    wanted = Filter(search="needle", with_deleted=True)
    total = (await kurz.store.list(MINE, wanted, clock.now(), limit=10)).total
    assert total == 1


async def test_the_trash_is_emptied_oldest_first_and_no_other_is(kurz, trash, clock):
    mine = []
    for _ in range(3):
        mine.append(await throw_away(kurz, await make(kurz)))
        clock.advance(seconds=1)
    live, *others = [
        await make(kurz),
        await throw_away(kurz, await make(kurz, owner_id=OWNER + 1)),
        await throw_away(kurz, await make(kurz, workspace_id=TEAM)),
    ]
    assert await trash.empty(MINE, clock.now(), 2) == 2
    assert await exist(kurz, mine) == [False, False, True]
    assert await trash.empty(MINE, clock.now(), 2) == 1
    assert await trash.empty(MINE, clock.now(), 2) == 0
    assert await exist(kurz, others) == [True, True]
    assert await trash.empty(Scope(TEAM), clock.now(), 10) == 1
    assert await trash.empty(Scope(), clock.now(), 10) == 1
    assert await exist(kurz, [live, *others]) == [True, False, False]


async def test_in_a_workspace_the_trash_of_one_person_is_theirs_alone(kurz, trash, clock):
    mine = await throw_away(kurz, await make(kurz, workspace_id=TEAM))
    other = await throw_away(
        kurz, await make(kurz, workspace_id=TEAM, owner_id=6, custom_code="other")
    )
    assert await trash.empty(Scope(TEAM, OWNER), clock.now(), 10) == 1
    assert await exist(kurz, [mine, other]) == [False, True]


async def is_waited(kurz: Kurz) -> bool:
    query = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(await kurz.database.read(lambda it: it.execute(query).scalar()))


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_link_that_is_just_restored_stays(kurz, trash, clock):
    """PostgreSQL: the purge waits for the restore to end. On SQLite one writes at a time."""
    link = await throw_away(kurz, await make(kurz))
    back = sa.update(links).where(links.c.id == link.id).values(status=Status.ACTIVE)

    async with kurz.database._engine.begin() as connection:
        await connection.execute(back)
        assert await trash.empty(MINE, clock.now(), 10) == 0
        purging = asyncio.create_task(trash.purge(MINE, link.id, link.version, clock.now()))
        await until_told(lambda: is_waited(kurz))
    assert not await purging
    assert await found(kurz, link) is not None
