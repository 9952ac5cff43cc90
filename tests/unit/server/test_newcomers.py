"""Connections before their second request: the shortcut answers the first without a transport."""

import asyncio
import contextlib
import errno
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kurz.server.accepting import Acceptor, Shortcut
from kurz.server.capacity import Capacity
from kurz.server.listening import bind
from kurz.server.newcomers import RECEIVED_BYTES
from kurz.server.serve import serve

ANSWER = b"HTTP/1.1 302 Found\r\nlocation: https://example.com/\r\ncontent-length: 0\r\n\r\n"
GET = b"GET /code HTTP/1.1\r\nhost: localhost\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nhost: localhost\r\n\r\n"
COLD = b"GET /cold HTTP/1.1\r\nhost: localhost\r\n\r\n"
OTHER = b"GET /other HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Desk:
    """A shortcut that answers two requests, the second of them with the connection's end. It sends
    its answers at the end of the turn, as the fast lane does. A third one is parked first, for
    `seconds`."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self.clients: list[Any] = []
        self.answer_bytes = ANSWER
        self.seconds = 0.0
        self.parked: list[int] = []  # when they came; and once more, when they are offered again
        self._waiting: list[tuple[Any, bool]] = []

    def answer(self, client: Any, data: bytes, began: int = 0) -> int:
        if data == COLD and not began:
            self.parked.append(time.perf_counter_ns())
            client.park(data, self.parked[-1], asyncio.create_task(asyncio.sleep(self.seconds)))
            return 2
        if data == COLD:
            self.parked.append(began)
        elif data not in (GET, LAST):
            return 0
        self.clients.append(client)
        if data == LAST:
            client.is_last = True
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append((client.transport, data == LAST))
        client.deadline = asyncio.get_running_loop().time() + self._idle_seconds
        return 1

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        for transport, is_last in waiting:
            transport.write(self.answer_bytes)
            if is_last:
                transport.close()


class Site:
    """A running server with a shortcut; its application answers everything with 200."""

    def __init__(self, idle_seconds: float) -> None:
        self.listener = bind("127.0.0.1", 0)
        self.desk = Desk(idle_seconds)
        self.capacity = Capacity()
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, _: Any, __: Any, send: Callable[[Any], Any]) -> None:
        self.asked.set()
        await self.may_answer.wait()
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def visit(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.listener.getsockname())

    def transports(self) -> list[str]:
        return [type(client).__name__ for client in self.desk.clients]


async def nothing() -> None: ...


@contextlib.asynccontextmanager
async def running(idle_seconds: float = 0.5) -> AsyncIterator[Site]:
    site, started = Site(idle_seconds), asyncio.Event()
    lifeline, other_end = os.pipe()
    serving = asyncio.create_task(
        serve(
            site,
            site.listener,
            started.set,
            lifeline,
            tick=nothing,
            capacity=site.capacity,
            shortcut=Shortcut(site.desk.answer, site.desk.flush),
            keep_alive_seconds=idle_seconds,
        )
    )
    await started.wait()
    try:
        yield site
    finally:
        os.close(other_end)
        async with asyncio.timeout(10):
            await serving
        os.close(lifeline)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with running() as site:
        yield site


@pytest.fixture
async def patient_site() -> AsyncIterator[Site]:
    """However busy the machine is, a client never seems to be idle."""
    async with running(idle_seconds=60) as site:
        yield site


async def head(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)


async def test_a_second_request_gets_an_ordinary_connection(site):
    reader, writer = await site.visit()
    for request, status in ((GET, b" 302 "), (GET, b" 302 "), (OTHER, b" 200 "), (GET, b" 302 ")):
        writer.write(request)
        assert status in await head(reader)
    assert site.transports() == ["Newcomer", "Connection", "Connection"]
    assert site.capacity.open == 1
    writer.close()


async def test_what_the_shortcut_declines_gets_an_ordinary_connection(site):
    reader, writer = await site.visit()
    writer.write(OTHER + GET)
    assert b" 200 " in await head(reader)
    assert b" 200 " in await head(reader)  # a pipeline is not taken apart
    assert site.transports() == []
    writer.close()


@pytest.mark.parametrize("cut", [1, 20, len(OTHER) - 1])
async def test_a_request_in_two_pieces_is_read_whole(site, cut):
    reader, writer = await site.visit()
    writer.write(OTHER[:cut])
    await asyncio.sleep(0.05)
    writer.write(OTHER[cut:])
    assert b" 200 " in await head(reader)
    writer.close()


async def test_a_long_first_chunk_is_read_whole(site):
    reader, writer = await site.visit()
    long = OTHER[:-2] + b"x: " + b"y" * RECEIVED_BYTES + b"\r\n\r\n"
    writer.write(long)
    assert b" 200 " in await head(reader)
    writer.close()


@pytest.mark.parametrize("request_", [GET, LAST, OTHER], ids=["first", "last", "declined"])
async def test_a_client_that_sends_its_end_gets_its_answer_and_the_end(site, request_):
    reader, writer = await site.visit()
    writer.write(request_)
    writer.write_eof()
    assert await head(reader)
    assert await asyncio.wait_for(reader.read(), 5) == b""
    assert site.capacity.open == 0
    writer.close()


@pytest.mark.parametrize("seconds", [0, 0.1])
async def test_what_was_parked_is_offered_again_with_the_time_of_its_arrival(site, seconds):
    """Otherwise a visitor who guesses codes would not be charged for a miss."""
    site.desk.seconds = seconds
    reader, writer = await site.visit()
    writer.write(COLD)
    assert b" 302 " in await head(reader)
    arrived, offered = site.desk.parked
    assert arrived == offered
    assert site.transports() == ["Connection"]
    writer.close()


async def test_what_was_parked_is_answered_before_the_connection_ends(site):
    site.desk.seconds = 0.1
    reader, writer = await site.visit()
    writer.write(COLD)
    writer.write_eof()
    assert await asyncio.wait_for(reader.read(), 5) == ANSWER
    writer.close()


async def test_a_shortcut_that_fails_keeps_no_connection(site):
    def fail(_: object, __: bytes) -> int:
        raise ValueError("a defect")

    capacity = Capacity()
    acceptor = Acceptor(lambda: None, capacity, set(), Shortcut(fail, lambda: None))
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(GET)
        with pytest.raises(ValueError, match="a defect"):
            acceptor._admit(ours, ("127.0.0.1", 1), 0.0)
        assert theirs.recv(1) == b""
    assert capacity.open == 0
    acceptor.close()


@pytest.mark.parametrize("number", [2, 200])
async def test_a_pipeline_before_the_end_is_answered_whole(site, number):
    """The end arrives while most of what was read before is not parsed yet."""
    for _ in range(5):
        with socket.create_connection(site.listener.getsockname(), timeout=5) as client:
            client.sendall(OTHER * number)
            client.shutdown(socket.SHUT_WR)
            got = await asyncio.to_thread(read_all, client)
        assert got.count(b" 200 OK") == number
    assert site.capacity.open == 0


def read_all(client: socket.socket) -> bytes:
    got = b""
    while chunk := client.recv(65536):
        got += chunk
    return got


async def test_the_last_answer_ends_the_connection(site):
    reader, writer = await site.visit()
    writer.write(LAST)
    assert await asyncio.wait_for(reader.read(), 0.4) == ANSWER
    assert site.capacity.open == 0
    writer.close()


async def test_an_idle_newcomer_ends_in_time(site):
    reader, writer = await site.visit()
    writer.write(GET)
    assert await asyncio.wait_for(reader.read(), 5) == ANSWER
    assert site.capacity.open == 0
    writer.close()


@pytest.mark.parametrize("request_", [GET, LAST], ids=["first", "last"])
async def test_an_answer_that_does_not_fit_is_sent_on(patient_site, request_):
    site = patient_site
    site.desk.answer_bytes = ANSWER + bytes(20_000_000)  # no system buffers that much
    reader, writer = await site.visit()
    writer.write(request_)
    got = await asyncio.wait_for(reader.readexactly(len(site.desk.answer_bytes)), 60)
    assert got == site.desk.answer_bytes
    if request_ == LAST:
        assert await asyncio.wait_for(reader.read(), 60) == b""
    else:
        site.desk.answer_bytes = ANSWER
        writer.write(GET)
        assert b" 302 " in await head(reader)
    writer.close()


async def test_a_client_that_has_left_costs_nothing(site):
    for request in (b"", GET, LAST):
        with socket.create_connection(site.listener.getsockname()) as client:
            client.sendall(request)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    await asyncio.sleep(0.3)
    assert site.capacity.open == 0


async def test_a_request_that_comes_while_the_server_stops_is_answered():
    async with running() as site:
        reader, writer = await site.visit()
        writer.write(GET)
        assert b" 302 " in await head(reader)
        site.may_answer.clear()

        async def ask_late() -> bytes:
            await asyncio.sleep(0.15)  # the server has begun to stop
            writer.write(OTHER)
            await site.asked.wait()
            site.may_answer.set()
            return await head(reader)

        asking = asyncio.create_task(ask_late())
    answer = await asking
    assert b" 200 " in answer
    assert b"connection: close" in answer
    writer.close()


async def test_newcomers_make_room_for_others(site):
    site.capacity.most = 4
    visits = [await site.visit() for _ in range(12)]
    for reader, writer in visits:
        writer.write(GET)
        assert b" 302 " in await head(reader)
    assert site.capacity.open <= site.capacity.most + 1
    assert site.capacity.closed_early >= 7
    for _, writer in visits:
        writer.close()


async def test_failures_to_accept_are_counted():
    class Scarce(socket.socket):
        def _accept(self) -> tuple[int, Any]:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    capacity, pauses = Capacity(), []
    capacity.on_full = lambda: pauses.append(1)
    acceptor = Acceptor(lambda: None, capacity, set())
    with Scarce(fileno=bind("127.0.0.1", 0).detach()) as listener:
        acceptor._accept_from(listener)
    assert (capacity.failed, pauses) == (1, [1])
    acceptor.close()
