"""Runs the application in a worker: one event loop, uvicorn."""

import asyncio
import gc
import math
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

import structlog
import uvicorn

from kurz.server.accepting import NO_SHORTCUT, Acceptor, Shortcut
from kurz.server.capacity import PAUSE_SECONDS, Capacity, Occupant
from kurz.server.connection import Connection
from kurz.server.lifeline import ending
from kurz.server.newcomers import Newcomer
from kurz.server.turns import PipelineTurns

KEEP_ALIVE_SECONDS = 5.0
ANSWER_SECONDS = 10  # for requests in progress when the server stops
TICK_SECONDS = 1.0
QUEUE = 4096  # connections that wait to be accepted; Linux allows no more by default
FULL_SECONDS = 0.025  # between two checks for room

log = structlog.get_logger()


class _Server(uvicorn.Server):
    """uvicorn's server, which also reports when it listens, watches its connections, and stops
    accepting for a moment when it is full."""

    def __init__(
        self,
        config: uvicorn.Config,
        on_start: Callable[[], None],
        on_stop: Callable[[], None],
        tick: Callable[[], Awaitable[None]],
        lifeline: int | None,
        capacity: Capacity,
        shortcut: Shortcut,
    ) -> None:
        super().__init__(config)
        self._capacity = capacity
        connect = partial(
            cast("Callable[..., Connection]", config.http),
            config=config,
            server_state=self.server_state,
            app_state={},
        )
        connections = cast("set[Any]", self.server_state.connections)
        self._acceptor = Acceptor(connect, capacity, connections, shortcut)
        self._flush = shortcut.flush
        capacity.on_full = self._pause
        self._listeners: list[socket.socket] = []
        self._pausing: asyncio.Task[None] | None = None
        self._on_start = on_start
        self._on_stop = on_stop
        self._tick = tick
        self._lifeline = lifeline
        self._is_hurried = False

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        watching = asyncio.create_task(self._watch())
        try:
            await super().serve(sockets)
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn's own raises the signal again at the end, before the database could be closed."""
        with ending(self._lifeline, self._stop, self._hurry):
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._listeners = sockets or []
        await super().startup([])
        for listener in self._listeners:
            listener.settimeout(0)
            listener.listen(QUEUE)
        self._acceptor.start(self._listeners)
        # What exists now lives as long as the process: the garbage collector need not check it
        # again.
        gc.collect()
        gc.freeze()
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Those that are connected finish what they have begun."""
        if self._pausing is not None:
            self._pausing.cancel()
            with suppress(asyncio.CancelledError):
                await self._pausing
        await self._acceptor.finish()
        await super().shutdown(sockets)
        # The journal is closed next: a click that is answered after that would be lost.
        for connection in list(self.server_state.connections):
            cast("Connection | Newcomer", connection).transport.abort()
        self._acceptor.close()

    def _pause(self) -> None:
        """Leaves new connections in the system's queue, or to other workers, until there is
        room."""
        if self._pausing is None and not self.should_exit:
            self._acceptor.stop()
            self._pausing = asyncio.create_task(self._accept_again())

    async def _accept_again(self) -> None:
        await asyncio.sleep(FULL_SECONDS)  # also where there is room, but no file
        await self._wait_for_room()
        self._pausing = None
        self._acceptor.start(self._listeners)

    async def _wait_for_room(self) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + PAUSE_SECONDS
        occupants = cast("set[Occupant]", self.server_state.connections)
        # Polled: usually there is room because a connection has become old enough to close.
        while not self._capacity.has_room(occupants, now := loop.time()) and now < until:  # noqa: ASYNC110
            await asyncio.sleep(FULL_SECONDS)

    def _stop(self) -> None:
        self.should_exit = True
        self._on_stop()

    def _hurry(self) -> None:
        """Somebody is waiting at a terminal: idle connections get no more time."""
        self._is_hurried = True
        self._stop()

    async def _watch(self) -> None:
        """Ends the connections whose time is over, even while the server is stopping."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(TICK_SECONDS)
            now = loop.time()  # a tick that takes long must not count as idleness
            try:
                try:
                    await self._tick()
                finally:
                    self._end_connections(now)
            except Exception:
                log.exception("tick failed")

    def _end_connections(self, now: float) -> None:
        self._flush()  # what is answered is not idle
        for connection in cast("list[Connection | Newcomer]", [*self.server_state.connections]):
            if connection.deadline < now:
                connection.expire()
            elif self._is_hurried:
                connection.close_if_idle()


async def serve(
    app: Any,
    listener: socket.socket,
    on_start: Callable[[], None],
    lifeline: int | None = None,
    *,
    tick: Callable[[], Awaitable[None]],
    capacity: Capacity | None = None,
    shortcut: Shortcut = NO_SHORTCUT,
    on_stop: Callable[[], None] = lambda: None,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
) -> None:
    """Serves until SIGTERM or until the other end of `lifeline` is closed, and finishes the current
    requests. `capacity` counts the connections, and `shortcut` answers what needs no application.
    `tick` is called every second; `on_stop` when stopping begins, to end what would take long."""
    capacity = capacity or Capacity()
    config = uvicorn.Config(
        app,
        http=partial(  # type: ignore[arg-type]
            Connection,
            shortcut=shortcut.answer,
            capacity=capacity,
            turns=PipelineTurns(),
            keep_alive_seconds=keep_alive_seconds,
        ),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=QUEUE,
        proxy_headers=False,  # ours are read in `app`, for a tenth of the cost
        # An idle connection ends by itself; a request that is answered later than this is cut off.
        timeout_graceful_shutdown=math.ceil(keep_alive_seconds) + ANSWER_SECONDS,
    )
    server = _Server(config, on_start, on_stop, tick, lifeline, capacity, shortcut)
    await server.serve(sockets=[listener])
