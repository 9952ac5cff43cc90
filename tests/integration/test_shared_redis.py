"""Installations that share a Redis: what one keeps there means nothing to the others. Instances of
one installation count limits together."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from secrets import token_hex

import httpx2
import pytest

from kurz.cache.routes import RedisRouteCache
from kurz.links.model import Draft, Scope
from kurz.people.limits import LIMITS, LimitClass
from kurz.people.passwords import Passwords
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz, open_kurz
from support.clock import FrozenClock
from support.serving import open_app

pytestmark = pytest.mark.parametrize(
    "engine", ["postgres+redis", "postgres+cluster"], indirect=True
)
MINE = "https://example.com/mine"
THEIRS = "https://example.com/theirs"
CODE = "handbook"
SECRET = token_hex(32)
ALLOWED = LIMITS[LimitClass.MISS][0].rate.count


@pytest.fixture
async def neighbour(
    settings: Settings,
    make_database: Callable[..., str],
    postgres_template: str,
    tmp_path: Path,
    clock: FrozenClock,
) -> AsyncIterator[Kurz]:
    """Another installation: its own database and data folder, the same Redis."""
    url = make_database(postgres_template)
    elsewhere = replace(settings, data_dir=tmp_path / "neighbour", database_url=url)
    async with open_kurz(elsewhere, clock, Passwords(cost=4)) as parts:
        yield parts


@asynccontextmanager
async def opened(kurz: Kurz) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the parts."""
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://a.test") as client:
            yield client


async def visit(kurz: Kurz) -> tuple[str | None, int]:
    """Where a process of the installation that remembers nothing sends a visitor, and how often it
    found something in Redis."""
    async with open_kurz(kurz.settings, kurz.clock, Passwords(cost=4)) as parts:
        async with opened(parts) as client:
            answer = await client.get(f"/{CODE}")
        assert isinstance(parts.shared.cache, RedisRouteCache)
        return answer.headers.get("location"), parts.shared.cache.hits


async def by_redis(kurz: Kurz) -> str | None:
    """As `visit`, once it is in Redis: the first visitor brings it there, unless the machine is so
    busy that Redis is not waited for."""
    for _ in range(20):
        location, hits = await visit(kurz)
        if hits:
            return location
    raise AssertionError("nothing was found in Redis")


async def test_the_same_code_is_a_link_of_each(kurz, neighbour):
    """They have the same id, version and place in the change log."""
    await kurz.links.create(Draft(original_url=MINE, custom_code=CODE))
    await neighbour.links.create(Draft(original_url=THEIRS, custom_code=CODE))
    for _ in range(2):
        assert await by_redis(kurz) == MINE
        assert await by_redis(neighbour) == THEIRS


async def test_what_one_deletes_the_other_keeps(kurz, neighbour):
    await kurz.links.create(Draft(original_url=MINE, custom_code=CODE))
    theirs = await neighbour.links.create(Draft(original_url=THEIRS, custom_code=CODE))
    assert await by_redis(kurz) == MINE
    assert await by_redis(neighbour) == THEIRS
    await neighbour.links.delete(neighbour.links.public_id(theirs.link), Scope())
    assert await by_redis(neighbour) is None
    assert await by_redis(kurz) == MINE


async def misses_of(*parts: Settings, clock: FrozenClock) -> list[int]:
    """What visitors of both get, who miss in turn, as often as one of them allows."""
    async with AsyncExitStack() as stack:
        clients = []
        for settings in parts:
            limited = open_kurz(replace(settings, rate_limits="on"), clock)
            app = opened(await stack.enter_async_context(limited))
            clients.append(await stack.enter_async_context(app))
        paths = [f"/miss{number}" for number in range(ALLOWED)]
        return [(await client.get(path)).status_code for path in paths for client in clients]


async def test_limits_are_counted_apart(kurz, neighbour):
    found = await misses_of(kurz.settings, neighbour.settings, clock=kurz.clock)
    assert found == [404] * 2 * ALLOWED


async def test_instances_of_one_installation_count_limits_together(kurz, tmp_path):
    """Each alone would take all the misses that come to it."""
    first = replace(kurz.settings, secret=SECRET)
    second = replace(first, data_dir=tmp_path / "second")
    found = await misses_of(first, second, clock=kurz.clock)
    assert found[:ALLOWED] == [404] * ALLOWED
    assert 429 in found[ALLOWED:]
