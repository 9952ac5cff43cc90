"""Which server has a key. If several servers must be asked, that is done in the background, by one
task at a time: requests wait for it at most as long as for an answer."""

import asyncio
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from redis.asyncio import Redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, MovedError, RedisError, ResponseError
from redis.exceptions import ConnectionError as RedisConnectionError

from kurz.breaker import Breaker
from kurz.redis_url import HostPort

LEARN_SECONDS = 0.5  # for the answer of one server
LEARN_EVERY_SECONDS = 1.0  # at most this often

LOST = (RedisConnectionError, RuntimeError)  # the last is uvloop's, for a write after the end
FAILURES = (RedisError, OSError, ValueError, *LOST)  # ValueError: what redis-py cannot parse
MISUNDERSTANDINGS = (TypeError, LookupError, AttributeError)  # an answer of another shape

Open = Callable[[HostPort], Redis]
Argument = bytes | str | int


class MasterUnusable(RedisConnectionError):
    """The master that Sentinels name cannot be used. `__cause__` says why."""

    def __init__(self, host_port: HostPort) -> None:
        host, port = host_port
        super().__init__(f"the master at {host}:{port}")


async def tell(server: Redis, *command: Argument) -> Any:
    return await server.execute_command(*command)  # type: ignore[no-untyped-call]


class Topology(ABC):
    @property
    @abstractmethod
    def servers(self) -> Collection[Redis]:
        """The servers in use; each passes on what is published."""

    @abstractmethod
    def peek(self, key: bytes) -> Redis | None:
        """The server that has the key, as far as is known."""

    async def get(self, key: bytes) -> Redis:
        """The same, or an error after trying to find out."""
        found = self.peek(key)
        if found is None:
            raise RedisConnectionError("no server could name the one to use")
        return found

    def may_try(self, server: Redis) -> bool:  # noqa: ARG002
        """False: it has failed recently, while others may work."""
        return True

    def trust(self, server: Redis) -> None:  # noqa: ARG002
        """It has answered."""
        return

    def doubt(self, server: Redis | None, error: Exception) -> None:  # noqa: ARG002
        """A failure, at that server if one was asked: perhaps the servers have changed."""
        return

    def follow(self, error: AskError) -> Redis | None:  # noqa: ARG002
        """The server that an answer points to."""
        return None

    @abstractmethod
    async def close(self) -> None: ...


class OneServer(Topology):
    def __init__(self, server: Redis) -> None:
        self._server = server

    @property
    def servers(self) -> Collection[Redis]:
        return (self._server,)

    def peek(self, key: bytes) -> Redis:  # noqa: ARG002
        return self._server

    async def close(self) -> None:
        await self._server.aclose()


class _Learnt(Topology):
    """Servers that other servers name. Each is opened once, as long as it is in use. `_trouble` is
    why the last attempt to find them failed."""

    def __init__(self, open_server: Open) -> None:
        self._open_server = open_server
        self._trouble: Exception | None = None
        self._servers: dict[HostPort, Redis] = {}
        self._task: asyncio.Task[None] | None = None
        self._began_at = float("-inf")

    @property
    def servers(self) -> Collection[Redis]:
        return self._servers.values()

    async def get(self, key: bytes) -> Redis:
        found = self.peek(key)
        task = self._begin() if found is None else None
        if task is not None:
            await asyncio.wait((task,))  # which continues if a request gives up
        try:
            return found or await super().get(key)
        except RedisConnectionError as error:
            raise error from self._trouble

    def doubt(self, server: Redis | None, error: Exception) -> None:  # noqa: ARG002
        self._begin()

    async def close(self) -> None:
        self._began_at = float("inf")  # commands that fail later start nothing
        try:
            if self._task is not None:
                self._task.cancel()
                await asyncio.wait((self._task,))
        finally:  # also if this is cancelled
            await self._drop_all_but(())

    @abstractmethod
    async def _learn(self) -> None:
        """Asks one after the other until one knows. Never raises."""

    def _begin(self) -> asyncio.Task[None] | None:
        """The task that finds out; None: it has only just ended."""
        if self._task is not None and not self._task.done():
            return self._task
        now = time.monotonic()
        if now - self._began_at < LEARN_EVERY_SECONDS:
            return None
        self._began_at = now
        self._task = asyncio.create_task(self._learn())
        return self._task

    def _server_at(self, host_port: HostPort) -> Redis:
        server = self._servers.get(host_port)
        if server is None:
            server = self._servers[host_port] = self._open_server(host_port)
        return server

    async def _drop_all_but(self, host_ports: Collection[HostPort]) -> None:
        for host_port in self._servers.keys() - set(host_ports):
            with suppress(*FAILURES):
                await self._servers[host_port].aclose()
            self._servers.pop(host_port, None)  # not before: a cancelled task leaves it to `close`


class Sentinels(_Learnt):
    """The master, as named by the first Sentinel whose answer that server confirms."""

    def __init__(self, sentinels: list[Redis], service: str, open_server: Open) -> None:
        super().__init__(open_server)
        self._sentinels = sentinels
        self._service = service
        self._master: Redis | None = None

    @property
    def servers(self) -> Collection[Redis]:
        """Not a server that a Sentinel wrongly names as the master: a replica passes nothing on."""
        return () if self._master is None else (self._master,)

    def peek(self, key: bytes) -> Redis | None:  # noqa: ARG002
        return self._master

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            for sentinel in self._sentinels:
                await sentinel.aclose()

    async def _learn(self) -> None:
        trouble: Exception | None = None
        for sentinel in tuple(self._sentinels):
            try:
                async with asyncio.timeout(LEARN_SECONDS):
                    found = await tell(
                        sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service
                    )
                if found is None:
                    raise RedisConnectionError(f"Sentinel knows no service “{self._service}”")
                host_port = found[0].decode(), int(found[1])
                await self._check_master(host_port)
                self._master = self._server_at(host_port)
                self._sentinels.remove(sentinel)
                self._sentinels.insert(0, sentinel)
                await self._drop_all_but({host_port})
            except (*FAILURES, *MISUNDERSTANDINGS) as error:
                if not isinstance(trouble, MasterUnusable):  # which says more
                    trouble = error
            else:
                self._trouble = None
                return
        self._trouble = trouble

    async def _check_master(self, host_port: HostPort) -> None:
        try:
            async with asyncio.timeout(LEARN_SECONDS):
                role = await tell(self._server_at(host_port), "ROLE")
            if role[0] != b"master":
                raise RedisConnectionError("it is not a master yet, or any more")
        except FAILURES as error:
            raise MasterUnusable(host_port) from error


class Cluster(_Learnt):
    """One server for each of the slots. redis-py's own client learns them within a request, closes
    every connection on the way, and waits a quarter of a second while a slot has no server."""

    def __init__(self, seeds: tuple[HostPort, ...], open_server: Open) -> None:
        super().__init__(open_server)
        self._seeds = seeds
        self._slots: list[Redis | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._breakers: dict[Redis, Breaker] = {}

    def peek(self, key: bytes) -> Redis | None:
        return self._slots[key_slot(key)]

    def may_try(self, server: Redis) -> bool:
        breaker = self._breakers.get(server)
        return breaker is None or breaker.may_try()

    def trust(self, server: Redis) -> None:
        if self._breakers:
            breaker = self._breakers.pop(server, None)
            if breaker is not None:
                breaker.note_success()

    def doubt(self, server: Redis | None, error: Exception) -> None:
        super().doubt(server, error)
        if server is not None and not isinstance(error, ResponseError):
            breaker = self._breakers.setdefault(server, Breaker("server of a Redis Cluster"))
            breaker.note_failure(error)

    def follow(self, error: AskError) -> Redis | None:
        if isinstance(error, MovedError):
            self.doubt(None, error)
        return self._server_at((error.host, error.port))

    async def _learn(self) -> None:
        # In random order: a server that was cut off from the others must not be asked first every
        # time.
        host_ports = list({*self._servers, *self._seeds})
        random.shuffle(host_ports)
        for host_port in host_ports:
            try:
                async with asyncio.timeout(LEARN_SECONDS):
                    ranges = await tell(self._server_at(host_port), "CLUSTER", "SLOTS")
                await self._use(ranges, host_port[0])
            except (*FAILURES, *MISUNDERSTANDINGS) as error:
                self._trouble = error
            else:
                self._trouble = None
                return

    async def _use(self, ranges: list[tuple[int, int, list[bytes]]], asked_host: str) -> None:
        """A server that does not know its own host is at the address that was asked."""
        slots: list[Redis | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        used = set()
        for first, last, (host, port, *_), *_ in ranges:
            host_port = host.decode() if host else asked_host, int(port)
            used.add(host_port)
            slots[first : last + 1] = [self._server_at(host_port)] * (last + 1 - first)
        if used:
            self._slots = slots
            await self._drop_all_but(used)
            in_use = set(self.servers)
            self._breakers = {
                server: breaker for server, breaker in self._breakers.items() if server in in_use
            }
