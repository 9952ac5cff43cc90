"""Accepts connections, several in one turn of the event loop, and answers the first request of each
by the shortcut where that is possible."""

import asyncio
import select
import socket
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import structlog

from kurz.server.capacity import Capacity
from kurz.server.listening import LOCAL_CLIENT
from kurz.server.newcomers import RECEIVED_BYTES, Newcomer

PER_TURN = 16  # each takes about 40 µs
EVENTS = 64  # sockets that are handled in one turn
LOG_SECONDS = 60.0

log = structlog.get_logger()


class Shortcut(NamedTuple):
    """`answer` gets the chunks of a connection; see `Connection`. `flush` sends at once what it has
    answered."""

    answer: Callable[..., int] | None
    flush: Callable[[], None]


NO_SHORTCUT = Shortcut(None, lambda: None)


class Acceptor:
    """`connect` creates ordinary connections (`server.connection`). `connections` is where the
    server keeps those that are open.

    The sockets are polled by an epoll of its own, which the event loop polls: adding and removing a
    socket takes half of the time that uvloop needs. On systems without epoll, every connection is
    an ordinary one from the start."""

    def __init__(
        self,
        connect: Callable[[], Any],
        capacity: Capacity,
        connections: set[Any],
        shortcut: Shortcut = NO_SHORTCUT,
        *,
        has_epoll: bool = hasattr(select, "epoll"),
    ) -> None:
        self._connect = connect
        self._capacity = capacity
        self._connections = connections
        self._answer, self._flush = shortcut if has_epoll else NO_SHORTCUT
        self._listeners: dict[int, socket.socket] = {}
        self._newcomers: dict[int, Newcomer] = {}
        self._connecting: set[asyncio.Task[Any]] = set()
        self._epoll = select.epoll() if has_epoll else None
        self._is_polled = False
        self._is_draining = False
        self._log_at = 0.0

    def start(self, listeners: Iterable[socket.socket]) -> None:
        """`listeners` do not block."""
        loop = asyncio.get_running_loop()
        if self._epoll is not None and not self._is_polled:
            self._is_polled = True
            loop.add_reader(self._epoll.fileno(), self._handle, self._epoll)
        for listener in listeners:
            self._listeners[listener.fileno()] = listener
            if self._epoll is None:
                loop.add_reader(listener.fileno(), self._accept_from, listener)
            else:
                self._epoll.register(listener.fileno(), select.EPOLLIN)

    def stop(self) -> None:
        """Accepts no more, for now or for good. Newcomers are still read."""
        for number in self._listeners:
            if self._epoll is None:
                asyncio.get_running_loop().remove_reader(number)
            else:
                self._epoll.unregister(number)
        self._listeners.clear()

    async def finish(self) -> None:
        """Accepts no more. Returns when every accepted connection is in `connections`, so that it
        can be told to end."""
        self.stop()
        self._is_draining = True
        while self._connecting:
            await asyncio.wait(self._connecting)

    def close(self) -> None:
        if self._epoll is not None:
            if self._is_polled:
                asyncio.get_running_loop().remove_reader(self._epoll.fileno())
            self._epoll.close()

    def _handle(self, epoll: select.epoll) -> None:
        for number, _ in epoll.poll(0, EVENTS):
            listener = self._listeners.get(number)
            if listener is not None:
                self._accept_from(listener)
            elif (newcomer := self._newcomers.get(number)) is not None:
                self._read_from(newcomer)

    def _accept_from(self, listener: socket.socket) -> None:
        now = asyncio.get_running_loop().time()
        # What `listener.accept` does, without its 2 µs for enumerations.
        accept: Callable[[], tuple[int, Any]] = listener._accept  # type: ignore[attr-defined]  # noqa: SLF001
        kind = (int(listener.family), int(listener.type), listener.proto)
        for _ in range(PER_TURN):
            try:
                number, address = accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._note_failure(error)
                return
            accepted = socket.SocketType(*kind, number)
            room = self._capacity.most - self._capacity.open - len(self._connecting)
            if self._answer is None or room <= 0:
                self._connect_to(accepted)
            else:
                self._admit(accepted, address, now)
            if room <= 1:
                return  # it decides whether others are accepted

    def _admit(self, accepted: socket.SocketType, address: Any, now: float) -> None:
        try:
            data = accepted.recv(RECEIVED_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            self._connect_to(accepted)
            return
        except OSError:
            data = b""
        if not data:  # its client has left
            accepted.close()
            return
        client = address[:2] if isinstance(address, tuple) else LOCAL_CLIENT
        newcomer = Newcomer(accepted, client, now, self._forget, self._take_over)
        self._capacity.enter(newcomer, self._connections, now)
        try:
            is_taken = len(data) < RECEIVED_BYTES and self._answer(newcomer, data)  # type: ignore[misc]
        except BaseException:
            newcomer.close()
            raise
        if not is_taken or newcomer.is_waiting:
            newcomer.let_go()
            self._connect_to(accepted, data, parked=newcomer.parked)
        elif self._epoll is not None and not newcomer.is_last:
            number = accepted.fileno()
            self._newcomers[number] = newcomer
            self._connections.add(newcomer)
            self._epoll.register(number, select.EPOLLIN)

    def _read_from(self, newcomer: Newcomer) -> None:
        """Its second request needs an ordinary connection."""
        self._flush()
        if newcomer.is_closing:
            return
        try:
            data = newcomer.socket.recv(RECEIVED_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self._hand_over(newcomer, data)
        else:
            newcomer.close()

    def _take_over(self, newcomer: Newcomer, unsent: bytes) -> None:
        self._hand_over(newcomer, b"", unsent)

    def _hand_over(self, newcomer: Newcomer, data: bytes, unsent: bytes = b"") -> None:
        number = newcomer.socket.fileno()
        if self._epoll is not None and number in self._newcomers:
            self._epoll.unregister(number)
        newcomer.let_go()
        connecting = self._connect_to(newcomer.socket, data, unsent, is_last=newcomer.is_last)
        # A server that stops waits until it has no connection.
        self._connections.add(newcomer)
        connecting.add_done_callback(lambda _: self._connections.discard(newcomer))

    def _forget(self, newcomer: Newcomer) -> None:
        if self._newcomers.pop(newcomer.socket.fileno(), None) is not None:
            self._connections.discard(newcomer)
        self._capacity.leave(was_closed_early=newcomer.is_closed_early)

    def _connect_to(
        self,
        accepted: socket.SocketType,
        data: bytes = b"",
        unsent: bytes = b"",
        *,
        is_last: bool = False,
        parked: tuple[int, asyncio.Task[Any]] | None = None,
    ) -> asyncio.Task[Any]:
        loop = asyncio.get_running_loop()
        begin = partial(self._begin, data, unsent, is_last=is_last, parked=parked)
        whole = socket.socket(fileno=accepted.detach())
        connecting = loop.create_task(loop.connect_accepted_socket(begin, whole))
        self._connecting.add(connecting)
        connecting.add_done_callback(self._connected)
        return connecting

    def _begin(self, data: bytes, unsent: bytes, **facts: Any) -> Any:
        connection = self._connect()
        if data or unsent:
            connection.begin_with(data, unsent, **facts)
        if self._is_draining:
            connection.shutdown()
        return connection

    def _connected(self, connecting: asyncio.Task[Any]) -> None:
        self._connecting.discard(connecting)
        error = None if connecting.cancelled() else connecting.exception()
        if error is not None and not isinstance(error, OSError):  # of a client that has left
            log.error("connection failed", exc_info=error)

    def _note_failure(self, error: OSError) -> None:
        """The process or the system has no file left. Those that wait are accepted later."""
        self._capacity.failed += 1
        now = time.monotonic()
        if now >= self._log_at:
            self._log_at = now + LOG_SECONDS
            log.error(
                "connections cannot be accepted", detail=str(error), failed=self._capacity.failed
            )
        self._capacity.on_full()
