"""The number of active links is that of a look at every link, whenever counting has caught up."""

import asyncio
import random
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links import lifecycle
from kurz.links.model import Link, Status
from kurz.storage.engine.changes import last_change, record_changes
from kurz.storage.followers.link_counter import LinkCounter
from kurz.storage.links.active import SLOT_MICROS, count_changes, count_existing
from kurz.storage.links.store import insert_link
from kurz.storage.links.totals import SqlTotalsStore
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import active_links, count_position, counted_links, links
from kurz.wiring.core import Kurz
from kurz.wiring.jobs import open_jobs
from support.engines import without_redis
from support.failing import FailingWrites
from support.feed import SOON_SECONDS, until_told
from support.links import create_link
from support.long_run import in_the_long_run

engine = without_redis  # which has no part in it
URL = "https://example.com/"


async def scan(kurz: Kurz) -> list[Link]:
    query = sa.select(links)
    rows = await kurz.database.read(lambda it: it.execute(query).mappings().all())
    return [to_link(row) for row in rows]


async def expected(kurz: Kurz) -> int:
    now = kurz.clock.now()
    return sum(lifecycle.status(link, now) is Status.ACTIVE for link in await scan(kurz))


async def counted(kurz: Kurz) -> int:
    return (await SqlTotalsStore(kurz.database, kurz.clock).get()).active_links


async def remove(kurz: Kurz, link: Link) -> None:
    """As the end of a link's time in the trash leaves it."""

    def write(connection: sa.Connection) -> None:
        connection.execute(sa.delete(links).where(links.c.id == link.id))
        row = link.id, link.workspace_id, link.short_code, link.version + 1
        record_changes(connection, [row], kurz.clock.micros())

    await kurz.database.write(write)


class Author:
    """Does something to some link, by chance."""

    def __init__(self, kurz: Kurz, chance: random.Random) -> None:
        self._kurz = kurz
        self._chance = chance

    async def act(self) -> None:
        made = await scan(self._kurz)
        if not made or self._chance.random() < 0.3:
            await create_link(self._kurz, max_clicks=self._limit(), expires_in_seconds=self._life())
            return
        link = self._chance.choice(made)
        what = self._chance.choice(["spend", "edit", "status", "restore", "remove"])
        if what == "spend":
            await self._kurz.store.spend_click(link.id)
        elif what == "remove":
            await remove(self._kurz, link)
        else:
            await self._kurz.store.update(link, self._changes(what), self._kurz.clock.now())

    def _changes(self, what: str) -> dict[str, object]:
        life = self._life()
        expires_at = None if life is None else self._kurz.clock.now() + timedelta(seconds=life)
        return {
            "edit": {"expires_at": expires_at, "max_clicks": self._limit()},
            "status": {"status": self._chance.choice([*Status])},
            "restore": {"status": Status.ACTIVE, "expires_at": expires_at},
        }[what]

    def _life(self) -> int | None:
        return self._chance.choice([None, None, 5, 60, 599, 600, 1200, 86400])

    def _limit(self) -> int | None:
        return self._chance.choice([None, None, 1, 2])


@pytest.mark.parametrize("seed", [0, *in_the_long_run(1, 2)])
async def test_it_is_what_a_look_at_every_link_finds(kurz, clock, seed):
    chance = random.Random(seed)
    author = Author(kurz, chance)
    for _ in range(15):
        for _ in range(8):
            await author.act()
            clock.advance(seconds=chance.choice([0, 1, 30, 600]))
        while chance.random() < 0.5:  # one that ends before it has caught up
            until = await kurz.database.read(last_change)
            await kurz.database.write(count_changes, chance.randrange(until + 1), 3)
        await LinkCounter(kurz.database).catch_up()
        assert await counted(kurz) == await expected(kurz)
        clock.advance(seconds=chance.choice([0, 1, 59, 60, 599, 600, 5000]))
        assert await counted(kurz) == await expected(kurz)


@pytest.mark.parametrize("to_the_slot", [-1, 0, 1])
async def test_a_link_counts_until_the_instant_it_ends(kurz, clock, to_the_slot):
    now = to_micros(clock.now())
    ends_in = SLOT_MICROS - now % SLOT_MICROS + to_the_slot
    link = await create_link(kurz, URL)
    expires_at = clock.now() + timedelta(microseconds=ends_in)
    assert await kurz.store.update(link, {"expires_at": expires_at}, clock.now())
    await LinkCounter(kurz.database).catch_up()
    clock.advance(microseconds=ends_in - 1)
    assert await counted(kurz) == 1
    clock.advance(microseconds=1)
    assert await counted(kurz) == 0


async def test_links_from_before_are_counted_once(kurz, clock):
    """Some are changed while the first count is under way, or made; some changes are forgotten."""
    made = [
        await create_link(kurz, URL, expires_in_seconds=chosen) for chosen in 5 * [None, 60, 6000]
    ]

    def forget(connection: sa.Connection) -> None:
        connection.execute(sa.update(count_position).values(change_id=last_change(connection)))

    await kurz.database.write(forget)
    assert await kurz.database.write(count_existing, 7)
    await kurz.store.spend_click(made[0].id)
    for link in (made[2], made[9]):
        assert await kurz.store.update(link, {"status": Status.PAUSED}, clock.now())
    await create_link(kurz, URL)
    await LinkCounter(kurz.database).catch_up()
    assert await counted(kurz) == await expected(kurz) == 14
    assert not await kurz.database.write(count_existing, 7)
    clock.advance(seconds=60)
    assert await counted(kurz) == await expected(kurz)


async def test_several_count_at_once_and_nothing_twice(kurz):
    for _ in range(30):
        await create_link(kurz, URL, expires_in_seconds=60)
    await asyncio.gather(*(LinkCounter(kurz.database).catch_up() for _ in range(4)))
    assert await counted(kurz) == 30


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
@pytest.mark.parametrize("count", [count_existing, partial(count_changes, until=10)])
async def test_who_counts_waits_for_another_who_does(kurz, count):
    for _ in range(3):
        await create_link(kurz, URL)
    async with kurz.database._engine.connect() as connection:
        await connection.run_sync(count, limit=10)
        second = asyncio.create_task(kurz.database.write(count, limit=10))
        await asyncio.wait((second,), timeout=0.5)
        await connection.commit()
    await second
    assert await counted(kurz) == 3


async def test_nothing_is_left_of_links_that_are_gone(kurz):
    for life in (None, 60, 60):
        await create_link(kurz, URL, expires_in_seconds=life)
    await LinkCounter(kurz.database).catch_up()
    for link in await scan(kurz):
        await remove(kurz, link)
    await LinkCounter(kurz.database).catch_up()
    for table in (active_links, counted_links):
        rows = await kurz.database.read(lambda it, table=table: it.execute(sa.select(table)).all())
        assert rows == []


async def test_the_jobs_process_counts(kurz):
    async def is_counted() -> bool:
        return await counted(kurz) == 2

    await create_link(kurz, URL)
    async with open_jobs(kurz):
        await create_link(kurz, URL)
        await until_told(is_counted)


async def test_an_outage_is_waited_out(kurz):
    async def is_counted() -> bool:
        return await counted(kurz) == 1

    await create_link(kurz, URL)
    failing: Any = FailingWrites(kurz.database)
    counter = LinkCounter(failing, wake_seconds=SOON_SECONDS)
    counter.start()
    await until_told(is_counted)
    await counter.stop()


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_row_that_appears_behind_a_later_one_is_not_missed(kurz):
    """A transaction takes its number, and commits after another that took its own later."""
    waits, goes_on = asyncio.Event(), asyncio.Event()

    async def write_slowly() -> None:
        link = replace(await create_link(kurz, URL), id=0, short_code="late")
        async with kurz.database._engine.connect() as connection:
            await connection.run_sync(insert_link, link)
            waits.set()
            await goes_on.wait()
            await connection.commit()

    slow = asyncio.create_task(write_slowly())
    await waits.wait()
    await create_link(kurz, URL)
    counting = asyncio.create_task(LinkCounter(kurz.database).catch_up())
    await asyncio.wait((counting,), timeout=0.5)
    goes_on.set()
    await slow
    await counting
    assert await counted(kurz) == await expected(kurz) == 3
    assert await kurz.store.find_by_code(0, "late") is not None
