"""The commands kurz uses, for every kind of Redis."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha1
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import AskError, MovedError, NoScriptError, RedisError, ResponseError

from kurz.cache.pool import Pool
from kurz.cache.topology import FAILURES, LOST, Argument, Topology, tell
from kurz.redis_url import RedisKind
from kurz.time_limits import AnswerTimeout

Call = tuple[bytes, tuple[Argument, ...]]  # the key, and the script's other arguments
_Command = tuple[bytes, tuple[Argument, ...]]  # the key, and all the words


class LeftAlone(RedisError):
    """One of several servers is known not to answer, and was not asked."""


class RedisUnavailable(Exception):
    """No answer, not in time, or an error instead."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        # An error is an answer too; a server that was not asked gives none.
        self.is_outage = not isinstance(cause, ResponseError | LeftAlone)


@dataclass(frozen=True, slots=True)
class Script:
    text: str
    digest: str

    @classmethod
    def of(cls, text: str) -> "Script":
        return cls(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


class RedisClient:
    """Every command takes at most `timeout_seconds`, or raises `RedisUnavailable`. A connection
    with an unread answer is closed, so that no other caller gets that answer."""

    def __init__(self, kind: RedisKind, topology: Topology, timeout_seconds: float) -> None:
        self.kind = kind
        self._topology = topology
        self._timeout_seconds = timeout_seconds

    async def get(self, key: bytes) -> bytes | None:
        found: bytes | None = await self._send(key, "GET", key)
        return found

    async def get_all(self, keys: Sequence[bytes]) -> list[bytes | RedisUnavailable | None]:
        """Many at once: this takes a fifth of the CPU time of single commands. Never raises."""
        return await self._send_all([(key, ("GET", key)) for key in keys])

    async def answers(self) -> bool:
        """Whether the server answers at the moment."""
        try:
            await self.get(b"kurz:ready")
        except RedisUnavailable:
            return False
        return True

    async def run(self, script: Script, key: bytes, *arguments: Argument) -> Any:
        """By the script's digest; a new or restarted server must first get the script."""
        try:
            return await self._send(key, "EVALSHA", script.digest, 1, key, *arguments)
        except NoScriptError:
            return await self._send(key, "EVAL", script.text, 1, key, *arguments)

    async def run_all(self, script: Script, calls: Sequence[Call]) -> list[RedisUnavailable]:
        """Many at once; those of the same key in their order. Returns the failures, and never
        raises."""
        found = await self._send_all(
            [(key, ("EVALSHA", script.digest, 1, key, *arguments)) for key, arguments in calls]
        )
        failures = []
        for (key, arguments), result in zip(calls, found, strict=True):
            if isinstance(result, NoScriptError):
                try:
                    await self.run(script, key, *arguments)
                except RedisUnavailable as failure:
                    failures.append(failure)
            elif isinstance(result, RedisUnavailable):
                failures.append(result)
        return failures

    async def publish(self, channel: str) -> None:
        """Wakes all subscribers. Any server of a Cluster passes it on to all; a server that is down
        is skipped."""
        try:
            async with AnswerTimeout(self._timeout_seconds):
                await self._topology.get(channel.encode())
                servers = list(self._topology.servers)
                random.shuffle(servers)
                for server in servers[1:]:
                    with suppress(*LOST):
                        await tell(server, "PUBLISH", channel, b"")
                        return
                await tell(servers[0], "PUBLISH", channel, b"")
        except FAILURES as error:
            raise self._failure(None, error) from error

    async def disconnect(self) -> None:
        """Closes every connection, at the latest after its next answer; the next command opens
        another."""
        try:
            async with AnswerTimeout(self._timeout_seconds):
                for server in tuple(self._topology.servers):
                    await cast("Pool", server.connection_pool).renew()
        except FAILURES as error:
            raise RedisUnavailable(error) from error

    async def close(self) -> None:
        await self._topology.close()

    def _check(self, server: Redis) -> None:
        if not self._topology.may_try(server):
            raise LeftAlone

    def _failure(self, server: Redis | None, error: Exception) -> RedisUnavailable:
        if not isinstance(error, LeftAlone):
            self._topology.doubt(server, error)
        return RedisUnavailable(error)

    async def _send(self, key: bytes, *command: Argument) -> Any:
        server = None
        try:
            async with AnswerTimeout(self._timeout_seconds):
                server = self._topology.peek(key) or await self._topology.get(key)
                self._check(server)
                try:
                    answer = await tell(server, *command)
                except AskError as error:
                    answer = await self._follow(error, *command)
        except NoScriptError:
            raise
        except FAILURES as error:
            raise self._failure(server, error) from error
        self._topology.trust(server)
        return answer

    async def _follow(self, error: AskError, *command: Argument) -> Any:
        """Where the slot has moved, or is moving to."""
        server = self._topology.follow(error)
        if server is None:
            raise error
        if isinstance(error, MovedError):
            return await tell(server, *command)
        pipeline = server.pipeline(transaction=False)
        pipeline.execute_command("ASKING")
        pipeline.execute_command(*command)
        return (await pipeline.execute())[1]

    async def _send_all(self, commands: Sequence[_Command]) -> list[Any]:
        """One answer for each; a failure or an unknown script is an answer too."""
        by_server: dict[Redis, list[int]] = {}
        try:
            async with AnswerTimeout(self._timeout_seconds):
                for number, (key, _) in enumerate(commands):
                    server = self._topology.peek(key) or await self._topology.get(key)
                    by_server.setdefault(server, []).append(number)
        except FAILURES as error:
            return [self._failure(None, error)] * len(commands)
        answers: list[Any] = [None] * len(commands)

        async def ask(server: Redis, numbers: Sequence[int]) -> None:
            found = await self._send_there(server, [commands[number] for number in numbers])
            for number, answer in zip(numbers, found, strict=True):
                answers[number] = answer

        await asyncio.gather(*(ask(server, numbers) for server, numbers in by_server.items()))
        return answers

    async def _send_there(self, server: Redis, commands: Sequence[_Command]) -> list[Any]:
        """In one round trip; commands for another server one by one."""
        pipeline = server.pipeline(transaction=False)
        for _, command in commands:
            pipeline.execute_command(*command)
        try:
            self._check(server)
            async with AnswerTimeout(self._timeout_seconds):
                answers = await pipeline.execute(raise_on_error=False)
        except FAILURES as error:
            return [self._failure(server, error)] * len(commands)
        self._topology.trust(server)
        for number, answer in enumerate(answers):
            if isinstance(answer, AskError):
                answers[number] = await self._answer(*commands[number])
            elif isinstance(answer, Exception) and not isinstance(answer, NoScriptError):
                answers[number] = self._failure(server, answer)
        return answers

    async def _answer(self, key: bytes, command: tuple[Argument, ...]) -> Any:
        try:
            return await self._send(key, *command)
        except (RedisUnavailable, NoScriptError) as failure:
            return failure
