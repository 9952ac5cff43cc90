"""A connection without a socket, driven step by step."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from kurz.server.capacity import Capacity
from kurz.server.connection import Connection
from kurz.server.turns import PipelineTurns

SHORT = b"GET /short HTTP/1.1\r\nHost: a\r\n\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n"
COLD = b"GET /cold HTTP/1.1\r\nHost: a\r\n\r\n"
EXPORT = b"GET /export HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.is_reading_now = True
        self.is_ended = self.is_closed = self.is_aborted = False
        self.on_write: Callable[[bytes], None] = lambda _: None

    def write(self, data: Any) -> None:
        assert not self.is_ended, "written after the end"
        self.written += data
        self.on_write(data)

    def write_eof(self) -> None:
        self.is_ended = True

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_reading_now = False

    def resume_reading(self) -> None:
        self.is_reading_now = True

    @property
    def statuses(self) -> list[int]:
        return [int(part[:3]) for part in self.written.split(b"HTTP/1.1 ")[1:]]


class Stage:
    """A connection whose application answers when it is told to, and whose shortcut takes every
    chunk that is `SHORT`, at the end of the loop's turn. One that is `COLD` it puts aside until
    `found` is told, and then takes it if that is True. The answer to `EXPORT` begins at once."""

    def __init__(
        self, capacity: Capacity | None = None, turns: PipelineTurns | None = None
    ) -> None:
        self.found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.offered: list[tuple[bytes, int]] = []
        self.scopes: list[dict[str, Any]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.paths: list[str] = []
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", log_config=None, ws="none"
        )
        self.wire = Wire()
        self.connection = Connection(
            config,
            ServerState(),
            {},
            shortcut=self._shortcut,
            capacity=capacity,
            turns=turns,
        )
        self.connection.connection_made(self.wire)

    async def receive(self, *chunks: bytes) -> None:
        for chunk in chunks:
            assert self.wire.is_reading_now, "nobody reads"
            self.connection.data_received(chunk)
        await self.settle()

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    def _shortcut(self, connection: Connection, data: bytes, began: int = 0) -> bool:
        self.offered.append((data, began))
        if data == COLD and not began:
            connection.park(data, 1234, asyncio.ensure_future(self._find()))
            return True
        is_taken = data == SHORT or (data == COLD and self.found.result())
        if is_taken:
            asyncio.get_running_loop().call_soon(connection.transport.write, b"HTTP/1.1 302 \r\n")
        return is_taken

    async def _find(self) -> bool:
        return await self.found

    async def _app(
        self,
        scope: dict[str, Any],
        receive: Callable[[], Awaitable[dict[str, Any]]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        self.paths.append(scope["path"])
        self.scopes.append(scope)
        if scope["method"] == "POST":
            message = await receive()
            while message.get("more_body"):
                message = await receive()
            if message["type"] == "http.disconnect":
                return
        if scope["path"] == "/export":
            headers = [(b"content-length", b"2")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"a", "more_body": True})
            await self.may_answer.wait()
            await send({"type": "http.response.body", "body": b"b"})
            return
        await self.may_answer.wait()
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
