"""The second tier while Redis is full, slow, gone or talks nonsense: nobody is led astray, and
nobody waits for it."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import pytest

from kurz.cache.connect import TIMEOUT_SECONDS
from kurz.cache.limits import RedisLimits
from kurz.cache.routes import RedisRouteCache
from kurz.freshness.routes import Cached
from kurz.people.limits import LimitsUnavailable, hashing
from kurz.rates import Rate
from servers.fault_proxy import FaultProxy
from servers.process import free_port
from servers.valkey import ValkeyServer
from support.answers import answering
from support.links import route
from support.second_tier import PATIENT, cached, opened, put, written
from support.slack import slack

pytestmark = pytest.mark.deadlines


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


@pytest.mark.parametrize(
    "answer",
    [
        b":1\r\n",
        b"*2\r\n:1\r\n:2\r\n",
        b"+OK\r\n",
        b"-ERR no\r\n",
        b"-\xff\xfe\r\n",
        b"-MOVED nowhere\r\n",
        b"\xff\xfe",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
async def test_an_answer_to_another_question_is_no_link(clock, answer):
    async with answering(answer) as place, opened(f"redis://{place}", clock) as cache:
        assert await cache.find(0, "abc") is None
        assert (cache.hits, cache.misses, cache.refused + cache.errors) == (0, 0, 1)


SPOILS = ("garbage", "duplicate", "duplicate_one", "swap", "cut", "black_hole")


@pytest.mark.parametrize("spoil", SPOILS)
async def test_spoilt_answers_never_lead_astray(valkey, redis, clock, spoil):
    codes = [f"c{number}" for number in range(1, 41)]
    with FaultProxy(valkey.port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}/0"
        async with opened(url, clock, timeout_seconds=0.2) as cache:
            limits = RedisLimits(cache._client, hashing(b"secret"))

            async def look_up(number: int, code: str) -> Cached | None:
                cache.keep(0, code, route(number), 1)
                with suppress(LimitsUnavailable):
                    await limits.hit(code, Rate(100, 60))
                return await cache.find(0, code)

            async def look_up_all() -> list[Cached | None]:
                return await asyncio.gather(*map(look_up, range(1, 41), codes))

            async def is_well() -> bool:
                return None not in await look_up_all()

            assert await within_seconds(is_well)
            getattr(proxy, spoil)()
            for _ in range(3):
                for number, found in enumerate(await look_up_all(), 1):
                    assert found in (None, cached(route(number), 1))
            proxy.pass_on()
            assert await within_seconds(is_well)


async def within_seconds(happens: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(100):
        if await happens():
            return True
        await asyncio.sleep(0.1)
    return False


async def test_an_answer_that_comes_too_late_is_nobodys(valkey, redis, clock):
    async with opened(valkey.url, clock) as writer:
        for number in range(1, 21):
            writer.keep(0, f"c{number}", route(number), 1)
        await written(writer)
    async with opened(valkey.url, clock, timeout_seconds=0.2) as cache:
        assert await cache.find(0, "c1") == cached(route(1), 1)
        await redis.execute_command("CLIENT", "PAUSE", 600)
        assert await asyncio.gather(*[cache.find(0, f"c{n}") for n in (1, 2)]) == [None, None]
        await asyncio.sleep(0.8)
        for number in range(1, 21):
            assert await cache.find(0, f"c{number}") == cached(route(number), 1)
        assert cache.refused == 0


async def test_a_value_under_another_key_costs_those_beside_it_nothing(valkey, redis, clock):
    with FaultProxy(valkey.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}/0", clock) as cache:
            await put(cache, cached(route(), 1))
            await redis.copy(cache._key(0, "abc"), cache._key(0, "other"))
            # Two answers are on their way, on a connection each, when the third is refused.
            proxy.delay(0.2)
            under_way = [asyncio.create_task(cache.find(0, "abc")) for _ in range(2)]
            await asyncio.sleep(0.1)
            wrong = asyncio.create_task(cache.find(0, "other"))
            assert await asyncio.gather(*under_way) == [cached(route(), 1)] * 2
            late = asyncio.create_task(cache.find(0, "abc"))
            assert await wrong is None
            assert await late == cached(route(), 1)
            before = proxy.accepted
            assert await cache.find(0, "abc") == cached(route(), 1)
            assert proxy.accepted > before  # on no connection from before
            assert (cache.refused, cache.errors) == (1, 0)


async def test_many_values_under_other_keys_cost_one_connection(valkey, redis, clock):
    with FaultProxy(valkey.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}/0", clock) as cache:
            await put(cache, cached(route(), 1))
            others = [f"c{number}" for number in range(20)]
            for code in others:
                await redis.copy(cache._key(0, "abc"), cache._key(0, code))
            before = proxy.accepted
            cache._renewed_at = time.monotonic() + PATIENT  # not long ago
            assert [await cache.find(0, code) for code in others] == [None] * 20
            assert proxy.accepted == before
            cache._renewed_at = 0
            assert [await cache.find(0, code) for code in others[:2]] == [None] * 2
            assert proxy.accepted == before + 1


async def test_a_full_server_is_counted_and_still_read(cache, redis):
    await put(cache, cached(route(), 1))
    await redis.config_set("maxmemory", "1")
    try:
        for number in range(1, 11):
            cache.keep(0, f"c{number}", route(number), 1)
        await written(cache)
        assert (cache.errors, cache.writes) == (10, 1)
        assert await cache.find(0, "abc") == cached(route(), 1)
    finally:
        await redis.config_set("maxmemory", "0")


async def test_nobody_waits_for_a_redis_that_is_not_there(clock):
    async with opened(f"redis://127.0.0.1:{free_port()}", clock, TIMEOUT_SECONDS) as cache:
        for number in range(1, 51):
            assert await cache.find(0, "abc") is None
            cache.keep(0, "abc", route(), number)
        await written(cache)
        assert cache.writes == 0
        assert cache.dropped + cache.errors + cache.misses == 100
        assert cache.errors < 10


async def comes_back(cache: RedisRouteCache) -> bool:
    async def is_found() -> bool:
        cache.keep(0, "abc", route(), 1)
        return await cache.find(0, "abc") is not None

    return await within_seconds(is_found)


async def test_a_redis_that_hangs_costs_little_and_is_soon_left_alone(clock):
    with ValkeyServer() as server:
        async with opened(server.url, clock, TIMEOUT_SECONDS) as cache:
            assert await comes_back(cache)
            os.kill(server.pid, signal.SIGSTOP)
            try:
                started = time.monotonic()
                while not cache._breaker.is_open:
                    assert await cache.find(0, "abc") is None
                assert time.monotonic() - started < slack(1)
                asked = cache.errors
                for _ in range(1000):
                    await cache.find(0, "abc")
                assert cache.errors - asked <= 2
            finally:
                os.kill(server.pid, signal.SIGCONT)
            assert await comes_back(cache)


async def test_a_redis_that_was_killed_is_used_again(clock):
    with ValkeyServer() as server:
        async with opened(server.url, clock, TIMEOUT_SECONDS) as cache:
            assert await comes_back(cache)
            server.kill()
            assert await cache.find(0, "abc") is None
            server.start()
            assert await comes_back(cache)


async def test_what_is_wanted_at_once_is_asked_for_at_once(valkey, redis, clock):
    with FaultProxy(valkey.port) as proxy:
        async with opened(f"redis://127.0.0.1:{proxy.port}/0", clock) as cache:
            for number in range(1, 41):
                cache.keep(0, f"c{number}", route(number), 1)
            await written(cache)
            await redis.copy(cache._key(0, "c1"), cache._key(0, "c2"), replace=True)
            found = await asyncio.gather(*[cache.find(0, f"c{n}") for n in range(1, 43)])
            expected = [None if n in (2, 41, 42) else cached(route(n), 1) for n in range(1, 43)]
            assert found == expected
            assert proxy.accepted == 1
            assert (cache.hits, cache.misses, cache.refused) == (39, 2, 1)
