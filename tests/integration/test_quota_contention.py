"""Many creates under one quota at once, on PostgreSQL: they wait for each other, and nobody is told
that the database cannot be reached."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from kurz.wiring.core import Kurz
from support.desk import Desk, code_of

pytestmark = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
BODY = {"original_url": "https://example.com/"}


@asynccontextmanager
async def held_quota(kurz: Kurz) -> AsyncIterator[None]:
    """Somebody else's transaction has locked the rows of quotas."""
    connection = await asyncpg.connect(kurz.settings.database_url)
    try:
        async with connection.transaction():
            await connection.execute("UPDATE usage SET links = links")
            yield
    finally:
        await connection.close()


async def slow_down(kurz: Kurz) -> None:
    """Every spending of a quota takes 100 ms, while its row is locked."""
    connection = await asyncpg.connect(kurz.settings.database_url)
    await connection.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END';"
        "CREATE TRIGGER slow BEFORE UPDATE ON usage FOR EACH ROW EXECUTE FUNCTION slow()"
    )
    await connection.close()


async def test_creates_of_one_account_wait_for_its_quota(connect, kurz, people):
    client = await connect(links_per_month=41, database_write_milliseconds=3000)
    desk = Desk(kurz, client, await people.add(), None)
    await desk.make()
    await slow_down(kurz)  # all of them take 4 s, and a write may take 3
    answers = await asyncio.gather(*(desk.ask("POST", desk.links, json=BODY) for _ in range(60)))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(201), statuses.count(429)) == (40, 20), statuses


async def test_who_waits_too_long_is_told_that_the_database_is_busy(connect, kurz, people):
    client = await connect(links_per_month=10, database_write_milliseconds=1000)
    desk = Desk(kurz, client, await people.add(), None)
    await desk.make()
    async with held_quota(kurz):
        create = asyncio.create_task(desk.ask("POST", desk.links, json=BODY))
        while not create.done():
            assert (await desk.ask("GET", desk.links)).status_code == 200
            await asyncio.sleep(0.05)
        answer = await create
    assert code_of(answer) == (503, "store-busy")
    assert answer.headers["retry-after"] == "1"
