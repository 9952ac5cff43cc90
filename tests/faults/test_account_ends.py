"""The process that ends the links of a deleted account is killed again and again: each link ends,
once, and none answers meanwhile."""

import asyncio
import random

import pytest

from kurz.clock import SystemClock
from kurz.links.model import Link, Status
from kurz.storage.schema.links import changes, links
from kurz.storage.schema.people import ending_accounts
from kurz.wiring.core import Kurz
from support.beside import start_beside
from support.endings import make, multiply, rows
from support.engines import without_redis
from support.people import People

engine = without_redis  # which has no part in it
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
LINKS = 600
ROUNDS = 200  # at most; far fewer are needed


@pytest.fixture
def clock() -> SystemClock:
    """The processes use the clock of the machine."""
    return SystemClock()


async def answers(kurz: Kurz, some: list[Link]) -> set[str]:
    routes = kurz.engine.open_routes(kurz.database, kurz.replicas)
    try:
        found = [await routes.find(0, link.short_code) for link in some]
        return {"missing" if route is None else route.status for route in found}
    finally:
        routes.close()


async def test_whoever_is_killed_each_link_ends_once_and_none_answers(
    kurz, environment, people: People
):
    await people.add(is_admin=True)
    person, rng = await people.add(), random.Random(3)
    first = await make(kurz, owner_id=person.id)
    made = [first, *await multiply(kurz, first, LINKS - 1)]
    assert await kurz.account_store.delete(person.id, kurz.clock.now())
    kills = 0
    for number in range(1, ROUNDS + 1):
        with start_beside(kurz, "support.ender_process", environment) as process:
            # Soon at first, so that a fast machine does not end all links before the second kill.
            await asyncio.sleep(rng.uniform(0, min(0.05 * number, 1.5)))
            kills += process.poll() is None
            process.kill()
        assert await answers(kurz, rng.sample(made, 20)) == {Status.DELETED}
        if not await rows(kurz, ending_accounts):
            break
    assert kills > 1
    ended = await rows(kurz, links)
    assert len(ended) == LINKS
    assert {(row["status"], row["version"]) for row in ended} == {("DELETED", 2)}
    told = [row["link_id"] for row in await rows(kurz, changes, changes.c.version == 2)]
    assert sorted(told) == [row["id"] for row in ended]
