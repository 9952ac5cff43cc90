"""TLS in front of a server that has none, as stunnel does: a real handshake, then every byte."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self

from servers.process import HOST

CHUNK_SIZE = 65_536


class TlsProxy:
    """`handshakes` is how many clients were content with the certificate."""

    def __init__(self, upstream_port: int, context: ssl.SSLContext) -> None:
        self.port = 0
        self.handshakes = 0
        self._upstream_port = upstream_port
        self._context = context
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start)
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def connections(self) -> int:
        return len(self._clients)

    def _run(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(act(), self._loop).result()

    async def _start(self) -> None:
        self._loop.set_exception_handler(lambda *_: None)  # of clients that refuse the certificate
        self._server = await asyncio.start_server(self._serve, HOST, 0, ssl=self._context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        task.add_done_callback(self._clients.discard)
        self.handshakes += 1
        upstream_reader, upstream_writer = await asyncio.open_connection(HOST, self._upstream_port)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(
                [
                    asyncio.create_task(_pass_on(reader, upstream_writer)),
                    asyncio.create_task(_pass_on(upstream_reader, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        upstream_writer.transport.abort()
        writer.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(CHUNK_SIZE):
            writer.write(chunk)
            await writer.drain()
