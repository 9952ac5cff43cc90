"""How `soak_load.py` talks to a server: connections that stay open, as from a proxy, new ones, as
from browsers, and some that are closed too early."""

import asyncio
import contextlib
import json
import random
import time
from collections import deque
from typing import Any, NamedTuple, cast

from redirect_load import AGENT, zipf

REUSED_SECONDS = 2.0  # the server closes idle connections after 5
DEADLINE_SECONDS = 15.0
NEW_SHARE = 0.1  # of requests come on a new connection
AGENTS = 500  # few enough that all of them come again before anything is judged


class Answer(NamedTuple):
    status: int
    head: bytes
    body: bytes

    @property
    def location(self) -> str:
        """As in the head: kurz writes the name in lower case."""
        return self.head.partition(b"\r\nlocation: ")[2].partition(b"\r\n")[0].decode()

    def json(self) -> Any:
        return json.loads(self.body)


class Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self.used_at = time.monotonic()
        self.is_closed = False
        self._waiting = b""
        self._answer: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def send(self, data: bytes) -> None:
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        head, end, body = self._waiting.partition(b"\r\n\r\n")
        if not end or self._answer is None:
            return
        _, _, length = head.lower().partition(b"\r\ncontent-length:")
        if len(body) >= int(length.partition(b"\r\n")[0] or 0):
            self._waiting = b""
            self.used_at = time.monotonic()
            if not self._answer.done():
                self._answer.set_result(Answer(int(head[9:12]), head, body))

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("closed"))

    def close(self) -> None:
        self._transport.close()


class Visitors:
    """They have addresses of their own, because the server trusts `X-Forwarded-For` from this
    machine, and programs of which a few are common."""

    def __init__(self, port: int, addresses: int) -> None:
        self._port = port
        self._addresses = addresses
        self._agents = [AGENT.format(120 + it % 20, 6000 + it) for it in zipf(AGENTS, 50_000)]
        self._idle: deque[Connection] = deque()

    def request(self, method: str, path: str, body: Any = None, token: str | None = None) -> bytes:
        number = random.randrange(self._addresses)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: go.example.com\r\n"
            f"User-Agent: {random.choice(self._agents)}\r\n"
            f"X-Forwarded-For: 198.{18 + number // 65536}.{number // 256 % 256}.{number % 256}\r\n"
            "Accept: */*\r\nAccept-Language: en-GB,en;q=0.9\r\n"
            f"Referer: https://news.example.org/{number % 500}\r\n"
        )
        if token is not None:
            head += f"Authorization: Bearer {token}\r\n"
        if body is None:
            return f"{head}\r\n".encode()
        data = json.dumps(body)
        return (
            f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n{data}"
        ).encode()

    async def ask(self, request: bytes) -> Answer:
        """Raises `OSError` or `TimeoutError` if there is no answer."""
        is_new = random.random() < NEW_SHARE
        connection = None if is_new else self._take()
        async with asyncio.timeout(DEADLINE_SECONDS):
            connection = connection or await self.connect()
            try:
                answer = await connection.ask(request)
            except BaseException:
                connection.close()
                raise
        if is_new:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    async def connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", self._port)
        return connection

    async def leave_early(self, request: bytes, size: int, seconds: float = 0.0) -> None:
        """Sends that much of the request, and closes the connection without having read."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(DEADLINE_SECONDS):
                connection = await self.connect()
            connection.send(request[:size])
            await asyncio.sleep(seconds)
            connection.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection | None:
        """The one that was used last; those that are idle for long are closed."""
        oldest = time.monotonic() - REUSED_SECONDS
        while self._idle and self._idle[0].used_at < oldest:
            self._idle.popleft().close()
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None
