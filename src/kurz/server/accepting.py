"""Accepts several connections in one turn of the event loop. uvloop accepts one: while requests to
the API make turns long, visitors would wait one turn for each connection that came before."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kurz.server.capacity import Capacity

PER_TURN = 64  # each takes 50 µs


class Acceptor:
    """`connect` is called for every connection that uvloop accepts. It then accepts those that wait
    behind it, but only as many as there is room for."""

    def __init__(self, connect: Callable[..., asyncio.Protocol], capacity: Capacity) -> None:
        self._connect = connect
        self._capacity = capacity
        self._listeners: Sequence[socket.socket] = ()
        self._accepted_at = 0.0
        self._connecting: set[asyncio.Task[Any]] = set()

    def start(self, listeners: Sequence[socket.socket]) -> None:
        self._listeners = listeners

    def stop(self) -> None:
        self._listeners = ()

    async def finish(self) -> None:
        """Returns when every accepted connection has been made, so that it can be told to end."""
        self.stop()
        while self._connecting:
            await asyncio.wait(self._connecting)

    def connect(self, **arguments: Any) -> asyncio.Protocol:
        loop = asyncio.get_running_loop()
        now = loop.time()  # in whole milliseconds: if turns are shorter, one connection is enough
        if now != self._accepted_at:
            self._accepted_at = now
            loop.call_soon(self._accept_more, partial(self._connect, **arguments))
        return self._connect(**arguments)

    def _accept_more(self, connect: Callable[[], asyncio.Protocol]) -> None:
        loop = asyncio.get_running_loop()
        room = self._capacity.most - self._capacity.open - len(self._connecting)
        for listener in self._listeners:
            for _ in range(min(room, PER_TURN)):
                try:
                    accepted, _ = listener.accept()
                except OSError:  # none is waiting, or there is no file left
                    break
                connecting = loop.create_task(loop.connect_accepted_socket(connect, accepted))
                self._connecting.add(connecting)
                connecting.add_done_callback(self._forget)

    def _forget(self, connecting: asyncio.Task[Any]) -> None:
        self._connecting.discard(connecting)
        if not connecting.cancelled():
            connecting.exception()  # its client has already left
