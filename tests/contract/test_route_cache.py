"""The second tier: it tells what it was told, never anything older, and nothing that somebody else
wrote there. It stands in nobody's way."""

import itertools
import json
from collections.abc import Iterator

import pytest

from kurz.cache.codec import FORMAT
from kurz.cache.connect import open_redis
from kurz.cache.routes import MAX_BATCH, RedisRouteCache
from kurz.freshness.routes import Change
from servers.valkey import ValkeyCluster, ValkeySentinels, ValkeyServer
from support.links import route
from support.second_tier import NOW, PATIENT, absent, cached, changed, marked, opened, put, written

KINDS: dict[str, type[ValkeyServer | ValkeySentinels | ValkeyCluster]] = {
    "single": ValkeyServer,
    "sentinel": ValkeySentinels,
    "cluster": ValkeyCluster,
}
SECOND = 1_000_000  # microseconds
KEY = f"kurz:test:route-{FORMAT}:0/abc"


@pytest.fixture(scope="module", params=KINDS)
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Of every kind of Redis, for the tests that do not break it."""
    with KINDS[request.param]() as servers:
        yield servers.url


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


async def test_every_kind_tells_what_it_was_told(url, clock):
    async with opened(url, clock) as writer, opened(url, clock) as reader:
        assert await reader.find(0, "c1") is None
        for number in range(1, 301):  # on every server of a cluster
            writer.keep(number % 3, f"c{number}", route(number), number)
        writer.keep(0, "nothing", None, 5)
        await written(writer)
        for number in range(1, 301):
            expected = cached(route(number), number)
            assert await reader.find(number % 3, f"c{number}") == expected
        assert await reader.find(0, "nothing") == absent(5)
        writer.forget([changed(number, 2, f"c{number}") for number in range(3, 301, 3)])
        await written(writer)
        assert await reader.find(0, "c300") == marked(300, 2)
        assert (writer.writes, writer.errors, reader.errors) == (401, 0, 0)
        assert (reader.hits, reader.misses) == (302, 1)


async def test_installations_do_not_see_each_others_links(valkey, cache, clock):
    await put(cache, cached(route(), 1))
    async with opened(valkey.url, clock, namespace="other") as other:
        assert await other.find(0, "abc") is None


@pytest.mark.parametrize(
    ("found", "seconds", "reason"),
    [
        (route(), 3600, None),
        (route(expires_at=NOW + 7200 * SECOND), 3600, None),
        (route(expires_at=NOW + 600 * SECOND), 600, None),
        (route(starts_at=NOW + 600 * SECOND), 3600, None),
        (route(expires_at=NOW - SECOND), 3600, "expired"),
        (route(status="DELETED"), 3600, "deleted"),
        (route(status="DELETED", expires_at=NOW + 600 * SECOND), 3600, "deleted"),
        (route(status="BANNED"), 3600, "banned"),
        (route(status="PAUSED"), 3600, "paused"),
        (route(max_clicks=1, clicks_used=1), 3600, "exhausted"),
        (None, 30, "unknown"),
    ],
)
async def test_nothing_is_kept_longer_than_it_holds(cache, redis, found, seconds, reason):
    cache.keep(0, "abc", found, 3)
    await written(cache)
    assert (seconds - 30) * 1000 < await redis.pttl(KEY) <= seconds * 1000
    value = json.loads(await redis.get(KEY))
    assert (value["key"], value["reason"]) == (KEY, reason)
    assert value["is_tombstone"] == (reason is not None)
    assert await cache.find(0, "abc") == (absent(3) if found is None else cached(found, 3))


async def test_a_mark_stays_a_minute(cache, redis):
    await put(cache, marked(7, 2))
    assert 3_000_000 < await redis.pttl(KEY) <= 3_600_000


OLD, NEW = True, False


@pytest.mark.parametrize(
    ("old", "new", "wins"),
    [
        # Of one link the version decides, and where it is the same, the position.
        (cached(route(7, 2), 20), cached(route(7, 3), 10), NEW),
        (cached(route(7, 3), 10), cached(route(7, 2), 20), OLD),
        (cached(route(7, 2, clicks_used=1), 10), cached(route(7, 2, clicks_used=2), 11), NEW),
        (cached(route(7, 2, clicks_used=2), 11), cached(route(7, 2, clicks_used=1), 10), OLD),
        # Between links, or a link and none, the position does.
        (cached(route(7, 5), 10), cached(route(8, 1), 10), NEW),
        (cached(route(7, 5), 10), cached(route(8, 9), 9), OLD),
        (absent(10), cached(route(7, 1), 10), NEW),
        (absent(10), cached(route(7, 1), 9), OLD),
        (cached(route(7, 5), 10), absent(10), NEW),
        (cached(route(7, 5), 10), absent(9), OLD),
        (absent(10), absent(11), NEW),
        (absent(11), absent(10), OLD),
        # A mark ends whatever is older, and another link.
        (cached(route(7, 2), 10), marked(7, 3), NEW),
        (cached(route(7, 3), 10), marked(7, 3), OLD),
        (cached(route(7, 4), 10), marked(7, 3), OLD),
        (cached(route(7, 9), 10), marked(8, 2), NEW),
        (absent(10), marked(7, 2), NEW),
        (marked(7, 2), marked(7, 3), NEW),
        (marked(7, 3), marked(7, 2), OLD),
        # Behind it comes only what is not older.
        (marked(7, 3), cached(route(7, 3), 1), NEW),
        (marked(7, 3), cached(route(7, 4), 1), NEW),
        (marked(7, 3), cached(route(7, 2), 99), OLD),
        (marked(7, 3), cached(route(8, 9), 99), OLD),
        (marked(7, 3), absent(99), OLD),
    ],
)
async def test_what_is_newer_stays(cache, old, new, wins):
    await put(cache, old)
    assert await cache.find(0, "abc") == old
    await put(cache, new)
    assert await cache.find(0, "abc") == (old if wins is OLD else new)


async def test_writes_of_a_link_end_alike_in_whatever_order_they_come(cache):
    values = [cached(route(7, 2), 5), marked(7, 3), cached(route(7, 3), 6), marked(7, 4)]
    for number, order in enumerate(itertools.permutations(values)):
        for value in order:
            await put(cache, value, f"code{number}")
        assert await cache.find(0, f"code{number}") == marked(7, 4)


async def test_a_slow_fill_does_not_undo_a_write(valkey, cache, clock):
    async with opened(valkey.url, clock) as slow:
        slow._pending.append((0, "abc", route(7, 1), 5))  # read before the write, told after it
        await put(cache, marked(7, 2))
        await slow._write()
    assert await cache.find(0, "abc") == marked(7, 2)


async def test_a_new_link_leaves_no_mark_nor_does_what_is_no_link(cache, redis):
    cache.forget([changed(7, 1), Change(0, 3, "", 9)])
    cache.keep(0, "other", None, 1)
    await written(cache)
    assert await redis.keys() == [KEY.replace("abc", "other").encode()]


async def test_every_code_is_a_code(cache):
    codes = ["ü", "{a}b", "a b", "a\r\nb", "\0", "\ud800", "x" * 5000, "1/abc", ""]
    for number, code in enumerate(codes, 1):
        cache.keep(0, code, route(number), 1)
    await written(cache)
    for number, code in enumerate(codes, 1):
        assert await cache.find(0, code) == cached(route(number), 1)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"null", b"[1]", b"\xff\x00", b'{"format":99}', b"[" * 100_000, b'"text"'],
    ids=lambda garbage: repr(garbage[:20]),
)
async def test_garbage_is_no_link_and_gives_way(cache, redis, garbage):
    await redis.set(KEY, garbage)
    assert await cache.find(0, "abc") is None
    assert (cache.refused, cache.hits) == (1, 0)
    await put(cache, cached(route(), 1))
    assert await cache.find(0, "abc") == cached(route(), 1)


async def test_another_keys_value_is_refused_and_its_connection_closed(cache, redis):
    await put(cache, cached(route(8), 99), "other")
    await redis.set(KEY, await redis.get(KEY.replace("abc", "other")))
    before = {client["id"] for client in await redis.client_list()}
    assert await cache.find(0, "abc") is None
    assert cache.refused == 1
    await put(cache, cached(route(7), 1))
    assert await cache.find(0, "abc") == cached(route(7), 1)
    after = {client["id"] for client in await redis.client_list()}
    assert len(before & after) == 1  # the test's own


async def test_what_nobody_would_believe_is_not_written(cache, redis):
    await put(cache, cached(route(location="https://example.com/\r\nx: y"), 1))
    assert (cache.refused, cache.writes) == (1, 0)
    assert not await redis.keys()


async def test_a_flush_costs_nothing_but_misses(cache, redis):
    await put(cache, cached(route(), 1))
    await redis.flushall()
    await redis.script_flush()
    assert await cache.find(0, "abc") is None
    for number in range(1, 2 * MAX_BATCH):
        cache.keep(0, f"c{number}", route(number), 1)
    await written(cache)
    assert await cache.find(0, "c199") == cached(route(199), 1)
    assert cache.errors == 0


async def test_what_comes_too_fast_is_dropped(valkey, redis, clock):
    client = open_redis(valkey.url, timeout_seconds=PATIENT)
    cache = RedisRouteCache(client, "test", clock, max_pending=10)
    for number in range(1, 31):
        cache.keep(0, f"c{number}", route(number), 1)
    await written(cache)
    assert (cache.writes, cache.dropped) == (10, 20)
    await cache.close()
    await client.close()


async def test_what_is_pending_is_written_at_the_end(valkey, cache, clock):
    async with opened(valkey.url, clock) as ending:
        ending.keep(0, "abc", route(), 1)
    assert await cache.find(0, "abc") == cached(route(), 1)
