"""One server, Sentinels and a Cluster: what kurz does with Redis works on all, also while servers
come and go."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager

import pytest
from redis.crc import key_slot

from kurz.cache.client import RedisClient, RedisUnavailable, Script
from kurz.cache.connect import TIMEOUT_SECONDS, open_redis
from kurz.cache.limits import RedisLimits
from kurz.cache.subscription import QUIET_SECONDS, subscribe
from kurz.people.limits import hashing
from kurz.rates import Rate
from servers.process import free_port
from servers.valkey import ValkeyCluster, ValkeySentinels, ValkeyServer
from support.answers import answering
from support.long_run import in_the_long_run
from support.slack import slack

pytestmark = pytest.mark.deadlines

AnyRedis = ValkeyServer | ValkeySentinels | ValkeyCluster
KINDS: dict[str, type[AnyRedis]] = {
    "single": ValkeyServer,
    "sentinel": ValkeySentinels,
    "cluster": ValkeyCluster,
}
PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
SET = Script.of("return redis.call('SET', KEYS[1], ARGV[1])")
KEYS = [b"key-%d" % number for number in range(60)]  # on every server of a cluster


@pytest.fixture(scope="module", params=KINDS)
def servers(request: pytest.FixtureRequest) -> Iterator[AnyRedis]:
    """Every kind, for the tests that leave it as it was."""
    with KINDS[request.param]() as servers:
        yield servers


@asynccontextmanager
async def opened(url: str, timeout_seconds: float = PATIENT) -> AsyncIterator[RedisClient]:
    client = open_redis(url, timeout_seconds=timeout_seconds)
    try:
        yield client
    finally:
        await client.close()


async def works(client: RedisClient) -> bool:
    """Whether every key can be written and read, within some seconds."""
    for _ in range(200):
        try:
            for key in KEYS:
                await client.run(SET, key, b"value")
                assert await client.get(key) == b"value"
        except RedisUnavailable:
            await asyncio.sleep(0.1)
        else:
            return True
    return False


async def test_scripts_run_one_by_one_and_together(servers):
    async with opened(servers.url) as client:
        await client.run(SET, b"one", b"1")
        assert await client.run_all(SET, [(key, (key,)) for key in KEYS]) == []
        assert await client.get(b"one") == b"1"
        assert [await client.get(key) for key in KEYS] == KEYS
        assert await client.get_all([*KEYS, b"nothing", b"one"]) == [*KEYS, None, b"1"]


async def test_an_error_of_one_script_leaves_the_others(servers):
    script = Script.of("if ARGV[1] == '' then return redis.error_reply('no') end return 1")
    async with opened(servers.url) as client:
        calls = [(key, (b"" if number % 3 else b"x",)) for number, key in enumerate(KEYS)]
        failures = await client.run_all(script, calls)
    assert len(failures) == 40
    assert not any(failure.is_outage for failure in failures)


async def test_limits_are_shared_on_every_kind(servers):
    hashed = hashing(b"secret")
    async with opened(servers.url) as client, opened(servers.url) as other:
        for number in range(10):
            stores = [RedisLimits(client, hashed), RedisLimits(other, hashed)] * 5
            found = [await store.hit(f"k{number}", Rate(5, 3600)) for store in stores]
            assert sum(each.is_allowed for each in found) == 5


async def test_whoever_has_subscribed_is_woken(servers):
    async with (
        opened(servers.url) as client,
        subscribe(servers.url, "changes") as one,
        subscribe(servers.url, "changes") as two,
        subscribe(servers.url, "others") as three,
    ):
        assert not await one.wait(0.05)
        for _ in range(5):
            await client.publish("changes")
            assert await one.wait(PATIENT)
            assert await two.wait(PATIENT)
        assert not await three.wait(0.05)


async def test_many_at_once_find_out_once_where_the_servers_are(servers):
    async with opened(servers.url) as client:
        assert await asyncio.gather(*[client.get(b"nothing") for _ in range(50)]) == [None] * 50


async def test_closed_connections_are_opened_again(servers):
    async with opened(servers.url) as client:
        assert await works(client)
        await client.disconnect()
        assert await client.run(SET, b"one", b"2")
        assert await client.get(b"one") == b"2"


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:{}/0",
        "redis+sentinel://127.0.0.1:{}/kurz",
        "redis+cluster://127.0.0.1:{}",
        "redis://no.such.host.invalid:{}",
        "unix:///no/such/socket-{}",
    ],
)
async def test_an_outage_is_told_by_every_kind(url):
    url = url.format(free_port())
    async with opened(url, TIMEOUT_SECONDS) as client:
        for _ in range(3):
            with pytest.raises(RedisUnavailable):
                await client.get(b"key")
            with pytest.raises(RedisUnavailable):
                await client.run(SET, b"key", b"")
            with pytest.raises(RedisUnavailable):
                await client.publish("channel")
            assert len(await client.run_all(SET, [(b"key", (b"",))] * 3)) == 3
    with pytest.raises(RedisUnavailable):
        async with subscribe(url, "channel"):
            pytest.fail("nobody is there")


@pytest.mark.parametrize("kind", [ValkeyCluster, *in_the_long_run(ValkeySentinels)])
async def test_a_new_master_is_found(kind):
    with kind() as servers:
        async with opened(servers.url, TIMEOUT_SECONDS) as client:
            assert await works(client)
            killed = servers.kill_master()
            started = time.monotonic()
            slowest = 0.0
            while time.monotonic() - started < 1:
                requested_at = time.monotonic()
                found = [await _or_none(client.get(key)) for key in KEYS[:10]]
                slowest = max(slowest, time.monotonic() - requested_at)
                assert None in found
            assert slowest < slack(1)  # a failover takes longer, and nobody waits for it
            assert await works(client)
            async with subscribe(servers.url, "changes") as subscription:
                await client.publish("changes")
                assert await subscription.wait(PATIENT)
            killed.start()
            assert await works(client)


async def test_a_cluster_answers_for_the_servers_that_are_well():
    with ValkeyCluster(cluster_require_full_coverage="no", cluster_replica_no_failover="yes") as it:
        async with opened(it.url, 0.2) as client:
            assert await works(client)
            hung = it.masters()[0]
            os.kill(hung.pid, signal.SIGSTOP)
            try:
                requested_at = time.monotonic()
                found = [await _or_none(client.get(key)) for key in KEYS * 5]
                seconds = time.monotonic() - requested_at
            finally:
                os.kill(hung.pid, signal.SIGCONT)
            assert found.count(None) > 50
            assert found.count(b"value") > 150
            # A few wait for the one that hangs, until it is left alone.
            assert seconds < slack(5)
            assert await works(client)


async def _or_none(asked: Awaitable[bytes | None]) -> bytes | None:
    try:
        return await asked
    except RedisUnavailable:
        return None


async def test_a_slot_is_followed_to_where_it_goes():
    with ValkeyCluster() as cluster:
        async with opened(cluster.url) as client:
            assert await works(client)
            key = KEYS[0]
            slot = key_slot(key)
            old = next(each for each in cluster.masters() if _has(each, key))
            new = next(each for each in cluster.masters() if each is not old)
            old_id, new_id = (each.ask("CLUSTER MYID").split()[1] for each in (old, new))
            old.ask(f"DEL {key.decode()}")
            new.ask(f"CLUSTER SETSLOT {slot} IMPORTING {old_id}")
            old.ask(f"CLUSTER SETSLOT {slot} MIGRATING {new_id}")
            # It is on its way: what is not there any more is at the new one.
            assert await client.run_all(SET, [(key, (b"on its way",))]) == []
            assert await client.get_all(KEYS[:2]) == [b"on its way", b"value"]
            for server in (new, old):
                server.ask(f"CLUSTER SETSLOT {slot} NODE {new_id}")
            assert await client.get_all(KEYS[:2]) == [b"on its way", b"value"]
            assert await client.run_all(SET, [(key, (b"arrived",))]) == []
            assert await client.get(key) == b"arrived"


def _has(server: ValkeyServer, key: bytes) -> bool:
    return server.ask(f"CLUSTER COUNTKEYSINSLOT {key_slot(key)}") == ":1\r\n"


async def test_a_master_that_became_a_replica_is_left():
    with ValkeySentinels() as servers:
        async with opened(servers.url, TIMEOUT_SECONDS) as client:
            assert await works(client)
            old = servers.master()
            servers.sentinels[0].ask("SENTINEL FAILOVER kurz")
            await asyncio.to_thread(servers._wait, "failover", lambda: servers.master() is not old)
            assert await works(client)


async def test_a_sentinel_that_is_behind_is_not_believed():
    with ValkeySentinels() as servers:
        replica = next(each for each in servers.data_servers if each is not servers.master())
        port = str(replica.port).encode()
        behind = b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n" % (len(port), port)
        async with answering(behind) as place:
            url = servers.url.replace("://", f"://{place},")
            async with opened(url) as client, subscribe(url, "changes") as subscription:
                assert await client.run(SET, b"key", b"value")
                await client.publish("changes")
                assert await subscription.wait(PATIENT)


async def test_a_subscription_notices_that_its_server_is_gone():
    with ValkeyServer() as server:
        async with subscribe(server.url, "changes") as subscription:
            server.kill()
            with pytest.raises(RedisUnavailable):
                await subscription.wait(PATIENT)


@pytest.mark.long
async def test_a_subscription_notices_that_its_server_hangs():
    with ValkeyServer() as server:
        async with subscribe(server.url, "changes") as subscription:
            # One that is only quiet goes on.
            assert not await subscription.wait(2.5 * QUIET_SECONDS)
            os.kill(server.pid, signal.SIGSTOP)
            try:
                with pytest.raises(RedisUnavailable):
                    await subscription.wait(PATIENT)
            finally:
                os.kill(server.pid, signal.SIGCONT)


async def test_passwords_and_databases_are_used():
    with ValkeyServer() as server:
        server.ask("CONFIG SET requirepass p@ss")
        place = f"127.0.0.1:{server.port}"
        async with opened(f"redis://:p%40ss@{place}/3") as client:
            await client.run(SET, b"key", b"three")
            assert await client.get(b"key") == b"three"
        async with opened(f"redis://:p%40ss@{place}/0") as client:
            assert await client.get(b"key") is None
        async with opened(f"redis://:wrong@{place}/3") as client:
            with pytest.raises(RedisUnavailable):
                await client.get(b"key")
