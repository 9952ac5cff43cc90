"""Connections to Redis: none is left open or taken away from others, whatever is cancelled."""

import asyncio
from collections.abc import Iterator

import pytest

from kurz.cache.connect import open_redis
from kurz.cache.pool import Pool
from kurz.cache.subscription import subscribe
from servers.valkey import ValkeyCluster, ValkeySentinels, ValkeyServer
from support.feed import until
from support.sockets import open_sockets

PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
AnyRedis = ValkeyServer | ValkeySentinels | ValkeyCluster


@pytest.fixture(scope="module", params=[ValkeyServer, ValkeySentinels, ValkeyCluster])
def servers(request: pytest.FixtureRequest) -> Iterator[AnyRedis]:
    with request.param() as servers:
        yield servers


@pytest.mark.parametrize("is_connected", [False, True])
async def test_a_client_that_is_closed_beside_a_command_leaves_no_connection(servers, is_connected):
    before = open_sockets()
    clients = []  # kept: what is forgotten is closed
    for turns in range(12):
        clients.append(open_redis(servers.url, timeout_seconds=PATIENT))
        if is_connected:
            await clients[-1].get(b"key")
        asking = asyncio.create_task(clients[-1].get(b"key"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await clients[-1].close()
        await asyncio.wait((asking,))
        asking.exception()
    await until(lambda: open_sockets() == before)


async def test_a_subscription_whose_closing_is_cancelled_leaves_no_connection(servers):
    before = open_sockets()
    listening = []

    async def listen(has_begun: asyncio.Event) -> None:
        async with subscribe(servers.url, "channel", timeout_seconds=PATIENT):
            has_begun.set()
            await asyncio.sleep(PATIENT)

    for turns in range(12):
        has_begun = asyncio.Event()
        listening.append(asyncio.create_task(listen(has_begun)))
        await has_begun.wait()
        listening[-1].cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        listening[-1].cancel()
    await asyncio.wait(listening)
    await until(lambda: open_sockets() == before)


async def test_a_command_that_is_cancelled_as_it_ends_gives_its_connection_back(valkey):
    pool = Pool.from_url(valkey.url, max_connections=2)
    for _ in range(4):
        ours = [await pool.get_connection() for _ in range(2)]
        await pool.renew()  # what is returned is closed
        ending = [asyncio.create_task(pool.release(connection)) for connection in ours]
        await asyncio.sleep(0)
        ending[-1].cancel()
        await asyncio.wait(ending)
    async with asyncio.timeout(PATIENT):
        await pool.release(await pool.get_connection())
    await pool.aclose()


async def test_nobody_waits_for_the_end_of_a_returned_connection(valkey):
    pool = Pool.from_url(valkey.url, max_connections=1, socket_connect_timeout=PATIENT)
    connection = await pool.get_connection()
    connection.mark_for_reconnect()  # type: ignore[no-untyped-call]
    connection.socket_connect_timeout = 0  # redis-py also limits the time of closing by it
    await pool.release(connection)
    assert not connection.is_connected
    connection.socket_connect_timeout = PATIENT
    assert await pool.get_connection() is connection
    assert connection.is_connected
    await pool.release(connection)
    await pool.aclose()
