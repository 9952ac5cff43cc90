"""A small web server on loopback that behaves as a test says, and remembers who came."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Self

MAX_SENT = 8 * 1024 * 1024  # where something endless ends all the same


class Heard(NamedTuple):
    method: str
    target: str
    head: str


Manner = Callable[[Heard, asyncio.StreamWriter], Awaitable[None]]


class WebServer:
    """`manners` has a manner for each path; `fallback` is for all the others."""

    def __init__(
        self,
        address: str,
        port: int = 0,
        *,
        fallback: Manner | None = None,
        secure: ssl.SSLContext | None = None,
    ) -> None:
        self.address = address
        self.port = port
        self.manners: dict[str, Manner] = {}
        self.heard: list[Heard] = []
        self.visits = 0  # connections, whatever is said on them
        self._fallback = fallback or says(404)
        self._secure = secure
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def lines(self) -> list[str]:
        """The requests that came, without their fields."""
        return [f"{it.method} {it.target}" for it in self.heard]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve, self.address, self.port, ssl=self._secure
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            heard = Heard(method, target, head)
            self.heard.append(heard)
            await self.manners.get(target, self._fallback)(heard, writer)
        writer.close()
        self._writers.discard(writer)


def says(status: int, *fields: str, body: bytes = b"") -> Manner:
    async def answer(heard: Heard, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *fields, "", ""]
        writer.write("\r\n".join(lines).encode() + (b"" if heard.method == "HEAD" else body))
        await writer.drain()

    return answer


def redirects(location: str, status: int = 302) -> Manner:
    return says(status, f"Location: {location}")


def by_method(head: Manner, get: Manner) -> Manner:
    async def answer(heard: Heard, writer: asyncio.StreamWriter) -> None:
        await (head if heard.method == "HEAD" else get)(heard, writer)

    return answer


async def resets(_: Heard, writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hangs_up(_: Heard, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def says_nothing(_: Heard, writer: asyncio.StreamWriter) -> None:
    await writer.wait_closed()


class Endless:
    """A manner: goes on with the same piece until the other side has had enough. `sent` is what was
    taken, by all who came."""

    def __init__(self, start: bytes, piece: bytes) -> None:
        self.sent = 0
        self._start = start
        self._piece = piece

    async def __call__(self, _: Heard, writer: asyncio.StreamWriter) -> None:
        raw = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 1024)
        writer.write(self._start)
        while self.sent < MAX_SENT:
            writer.write(self._piece)
            await writer.drain()
            self.sent += len(self._piece)
