"""Wake-ups through publish and subscribe. They carry no data: that is in the change log."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from redis.asyncio.connection import AbstractConnection

from kurz.cache.client import RedisUnavailable
from kurz.cache.connect import open_topology
from kurz.cache.topology import FAILURES, Topology
from kurz.redis_url import parse

TIMEOUT_SECONDS = 1.0  # to subscribe; nobody waits for it
QUIET_SECONDS = 2.0  # after which a server is pinged


class Subscription:
    def __init__(self, connection: AbstractConnection) -> None:
        self._connection = connection
        self._received_at = time.monotonic()
        self._is_pinged = False

    async def wait(self, seconds: float) -> bool:
        """Whether there was a wake-up within this many seconds. `RedisUnavailable`: no more will
        come."""
        ends_at = time.monotonic() + seconds
        try:
            while (left := ends_at - time.monotonic()) > 0:
                answer = await self._connection.read_response(timeout=min(left, QUIET_SECONDS))
                if answer is None:
                    await self._ask_if_quiet()
                    continue
                self._received_at = time.monotonic()
                self._is_pinged = False
                if answer[0] == b"message":
                    return True
        except FAILURES as error:
            raise RedisUnavailable(error) from error
        return False

    async def _ask_if_quiet(self) -> None:
        quiet_seconds = time.monotonic() - self._received_at
        if quiet_seconds > 2 * QUIET_SECONDS and self._is_pinged:
            raise TimeoutError("the server no longer answers")
        if quiet_seconds > QUIET_SECONDS and not self._is_pinged:
            self._is_pinged = True
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._connection.send_command("PING", check_health=False)


@asynccontextmanager
async def subscribe(
    url: str, channel: str, *, timeout_seconds: float = TIMEOUT_SECONDS
) -> AsyncIterator[Subscription]:
    """At any server of a Cluster, otherwise at the master. `RedisUnavailable` if no server
    answers."""
    topology = open_topology(parse(url), timeout_seconds, connections=1)
    connection: AbstractConnection | None = None
    try:
        try:
            async with asyncio.timeout(timeout_seconds):
                await topology.get(channel.encode())
            connection = await _join(topology, channel, timeout_seconds)
        except FAILURES as error:
            raise RedisUnavailable(error) from error
        yield Subscription(connection)
    finally:
        with suppress(*FAILURES):
            if connection is not None:
                await connection.disconnect(nowait=True)
        with suppress(*FAILURES):
            await topology.close()


async def _join(topology: Topology, channel: str, timeout_seconds: float) -> AbstractConnection:
    """A connection that has subscribed at the first server that answers."""
    failure: Exception = TimeoutError()
    for server in random.sample(list(topology.servers), len(topology.servers)):
        connection: AbstractConnection = server.connection_pool.make_connection()  # type: ignore[no-untyped-call]
        try:
            async with asyncio.timeout(timeout_seconds):
                await connection.connect()  # type: ignore[no-untyped-call]
                await connection.send_command("SUBSCRIBE", channel)
                await connection.read_response()
        except FAILURES as error:
            failure = error
            await connection.disconnect(nowait=True)
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        else:
            return connection
    raise failure
