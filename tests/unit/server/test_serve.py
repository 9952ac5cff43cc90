"""The listening socket, and what a worker survives."""

import asyncio
import errno
import gc
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from structlog.testing import capture_logs

from kurz.server.capacity import Capacity
from kurz.server.listening import bind
from kurz.server.serve import serve

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def test_answers_in_pieces_leave_at_once_also_without_uvloop():
    listener = bind("127.0.0.1", 0)
    accepted: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    server = await asyncio.start_server(lambda _, writer: accepted.put(writer), sock=listener)
    async with server:
        _, client = await asyncio.open_connection(*listener.getsockname())
        writer = await accepted.get()
        sock = writer.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        for end in (client, writer):
            end.close()
            await end.wait_closed()


class Scarce(socket.socket):
    """A listening socket of a process that sometimes has too many open files to accept."""

    failures = 0

    def _accept(self) -> tuple[int, Any]:
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return cast("tuple[int, Any]", super()._accept())  # type: ignore[misc]


async def nothing() -> None: ...


class Worker:
    """It has room for no connection: it pauses after the first one."""

    def __init__(self, listener: Scarce) -> None:
        self.listener = listener
        self.asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, _: Any, __: Any, send: Callable[[Any], Awaitable[None]]) -> None:
        self.asked.set()
        await self.may_answer.wait()
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def ask(self) -> bytes:
        reader, writer = await asyncio.open_connection(*self.listener.getsockname())
        writer.write(GET)
        status = await reader.readline()
        writer.close()
        return status


@asynccontextmanager
async def running(tick: Callable[[], Awaitable[None]] = nothing) -> AsyncIterator[Worker]:
    """At the end, it is told to stop."""
    worker = Worker(Scarce(fileno=bind("127.0.0.1", 0).detach()))
    started, capacity = asyncio.Event(), Capacity(0)
    lifeline, other_end = os.pipe()
    serving = asyncio.create_task(
        serve(
            worker,
            worker.listener,
            started.set,
            lifeline,
            tick=tick,
            capacity=capacity,
            keep_alive_seconds=0.5,
        )
    )
    await started.wait()
    try:
        yield worker
    finally:
        os.close(other_end)
        async with asyncio.timeout(10):
            await serving
        os.close(lifeline)
        gc.unfreeze()  # what a worker has frozen


async def test_a_worker_without_files_accepts_again_when_it_has_some():
    async with running() as worker:
        worker.listener.failures = 3
        with capture_logs() as lines:
            for _ in range(2):
                assert await asyncio.wait_for(worker.ask(), 10)
    assert worker.listener.failures == 0
    assert [line["log_level"] for line in lines] == ["error"]


async def test_a_worker_without_files_stops_with_its_last_answers():
    async with running() as worker:
        worker.may_answer.clear()
        asking = asyncio.create_task(worker.ask())
        await asyncio.wait_for(worker.asked.wait(), 5)
        worker.listener.failures = 1000
        _, late = await asyncio.open_connection(*worker.listener.getsockname())
        late.write(GET)
        while worker.listener.failures == 1000:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        asyncio.get_running_loop().call_later(0.5, worker.may_answer.set)
    assert b" 200 " in await asking
    assert 900 < worker.listener.failures < 1000  # it does not try all the time
    late.close()


async def test_idle_connections_end_in_time_also_where_a_tick_fails():
    async def fail() -> None:
        raise ValueError

    with capture_logs() as lines:
        async with running(fail) as worker:
            reader, writer = await asyncio.open_connection(*worker.listener.getsockname())
            for _ in range(2):
                writer.write(GET)
                assert b" 200 " in await reader.readline()
                assert await reader.readuntil(b"\r\n\r\n")
            assert await asyncio.wait_for(reader.read(), 5) == b""
            writer.close()
    assert {(line["log_level"], line["exc_info"]) for line in lines} == {("error", True)}
