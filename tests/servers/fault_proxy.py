"""A TCP proxy on loopback that spoils what goes between clients and a server, as a test says."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Self

from servers.faults import BlackHole, Cut, CutAt, Delay, Duplicate, Garbage, Mode, Swallow, Swap
from servers.process import HOST, free_port
from servers.resp import Replies

CHUNK_SIZE = 65_536
# SO_LINGER on, for 0 s: to close is to send RST and to throw away what has not been sent.
NO_LINGER = struct.pack("ii", 1, 0)


class FaultProxy:
    """Passes everything on until told otherwise. A mode is in force when its call returns, for the
    connections there are and the ones to come, until the next is called.

    A reply is what RESP takes for one, a push included; of another protocol, each chunk received.
    `upstream_port` may be set at any time: connections that exist stay with their server.
    """

    def __init__(self, upstream_port: int) -> None:
        self.upstream_port = upstream_port
        self.port = 0
        self.accepted = 0  # connections
        self.requests = 0  # chunks from clients, swallowed ones as well
        self.replies = 0  # given to clients, whole or spoilt
        self._mode = Mode()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._links: dict[_Link, asyncio.Task[None]] = {}

    def pass_on(self) -> None:
        self._enter(Mode())

    def delay(self, seconds: float) -> None:
        """Each reply arrives that much later, and in order."""
        self._enter(Delay(seconds))

    def cut(self) -> None:
        """Resets all connections, and each new one as soon as it is there."""
        self._enter(Cut())

    def black_hole(self) -> None:
        """Swallows everything, both ways, and tells nobody of an end. Connections that have seen
        this mode stay dead after it, as if a router had forgotten them; later ones work."""
        self._enter(BlackHole())

    def swallow(self, word: bytes) -> None:
        """As `black_hole`, for connections on which a client says this word from now on."""
        self._enter(Swallow(word))

    def cut_at(self, *words: bytes, is_heard: bool, stays: bool = False) -> None:
        """Resets the connection on which the last of these words is said, one after the other. Does
        the server get that one, so that only its reply is lost? Do new connections fail, too?"""
        self._enter(CutAt(words, is_heard=is_heard, stays=stays))

    def garbage(self) -> None:
        """Random bytes arrive for each reply, as many."""
        self._enter(Garbage())

    def duplicate(self) -> None:
        """Each reply arrives twice."""
        self._enter(Duplicate())

    def duplicate_one(self, is_chosen: Callable[[bytes], bool] = bool) -> None:
        """One reply arrives twice: the next that is chosen, on whichever connection. Whoever goes
        on reading there takes each reply for the answer to the question after its own."""
        self._enter(Duplicate(is_chosen, times=1))

    def swap(self) -> None:
        """Each two successive replies change places, on one connection or between two. The first
        waits for the second, at most until the mode ends."""
        self._enter(Swap())

    def start(self) -> None:
        listener: socket.socket | None = None
        while listener is None:
            with contextlib.suppress(OSError):  # another program was given the port
                listener = socket.create_server((HOST, free_port()))
        self.port = listener.getsockname()[1]
        self._thread.start()
        self._run(self._listen(listener))

    def stop(self) -> None:
        """Resets all connections; nothing listens on the port after this."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _enter(self, mode: Mode) -> None:
        self._run(self._switch(mode))

    def _run(self, action: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(action, self._loop).result()

    async def _switch(self, mode: Mode) -> None:
        before, self._mode = self._mode, mode
        if mode.swallows:
            for link in self._links:
                link.is_dead = True
        before.end()
        if mode.resets:
            await self._reset()

    async def _listen(self, listener: socket.socket) -> None:
        self._server = await asyncio.start_server(self._accept, sock=listener)

    async def _close(self) -> None:
        # A server of asyncio that is closed leaves sockets open that it has accepted in that turn
        # of the loop. So it accepts no more at first, and those are opened, reset and closed.
        assert self._server is not None
        for listener in self._server.sockets:
            self._loop.remove_reader(listener.fileno())
        await self._switch(Cut())
        while opening := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(opening)
        await asyncio.sleep(0)
        self._server.close()

    async def _reset(self) -> None:
        await asyncio.sleep(0)  # a task that is cancelled before it began would close nothing
        tasks = list(self._links.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        if self._mode.resets:
            _abort(writer)
            return
        link = _Link(self, reader, writer, is_dead=self._mode.swallows)
        task = asyncio.create_task(link.carry())
        self._links[link] = task
        task.add_done_callback(lambda _: self._links.pop(link))


class _Link:
    """A client's connection and the one to the server, which a link that is born dead has not."""

    def __init__(
        self,
        proxy: FaultProxy,
        reader: asyncio.StreamReader,
        client: asyncio.StreamWriter,
        *,
        is_dead: bool,
    ) -> None:
        self.is_dead = is_dead
        self._is_cut_at_reply = False
        self._proxy = proxy
        self._reader = reader
        self._client = client
        self._server: asyncio.StreamWriter | None = None
        self._received: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def carry(self) -> None:
        """Returns when both sides have ended, or one has reset the connection. A dead connection
        goes on until it is cancelled."""
        try:
            with contextlib.suppress(OSError):
                await self._carry_all()
                await self._close()
            if self.is_dead:
                await asyncio.Event().wait()
        finally:
            for writer in self._writers():
                _abort(writer)

    def give(self, reply: bytes) -> None:
        if not self.is_dead and not self._client.is_closing():
            self._proxy.replies += 1
            self._client.write(reply)

    async def _carry_all(self) -> None:
        if self.is_dead:
            await self._carry_requests()
            return
        reader, self._server = await asyncio.open_connection(HOST, self._proxy.upstream_port)
        ways = [self._carry_requests(), self._receive_replies(reader), self._carry_replies()]
        tasks = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self) -> None:
        """Closes both sides once everything has been sent."""
        if not self.is_dead:
            for writer in self._writers():
                writer.close()
            for writer in self._writers():
                await writer.wait_closed()

    def _writers(self) -> list[asyncio.StreamWriter]:
        return [writer for writer in (self._client, self._server) if writer is not None]

    async def _carry_requests(self) -> None:
        while chunk := await self._reader.read(CHUNK_SIZE):
            self._proxy.requests += 1
            mode = self._proxy._mode
            self.is_dead = self.is_dead or mode.kills(chunk)
            if mode.cuts(chunk):
                if not mode.is_heard:
                    raise ConnectionResetError
                self._is_cut_at_reply = True
            if self._server is not None and not self.is_dead:
                self._server.write(chunk)
                await self._server.drain()
        if self._server is not None and not self.is_dead:
            self._server.write_eof()

    async def _receive_replies(self, reader: asyncio.StreamReader) -> None:
        """Cuts and dates what comes; the empty reply is the end."""
        replies, now = Replies(), asyncio.get_running_loop().time
        while chunk := await reader.read(CHUNK_SIZE):
            for reply in replies.feed(chunk):
                self._received.put_nowait((now(), reply))
        if rest := replies.rest():
            self._received.put_nowait((now(), rest))
        self._received.put_nowait((now(), b""))

    async def _carry_replies(self) -> None:
        now = asyncio.get_running_loop().time
        reply = b"none yet"
        while reply:
            received_at, reply = await self._received.get()
            while (wait := received_at + self._proxy._mode.delay_seconds - now()) > 0:
                await self._proxy._mode.wait(wait)
            if self._is_cut_at_reply:
                raise ConnectionResetError
            if reply and not self.is_dead:
                self._proxy._mode.take(self, reply)
                await self._client.drain()
        if not self.is_dead:
            self._client.write_eof()


def _abort(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    writer.transport.abort()
