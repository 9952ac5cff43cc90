"""Wake-ups between machines, through a server that all of them reach."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from kurz.breaker import Breaker, root_cause
from kurz.rounds import wait_at_most

REST_SECONDS = 0.02  # between two wake-ups: many writes share one
SEND_SECONDS = 1.0
FIRST_RETRY_SECONDS = 0.1
MAX_RETRY_SECONDS = 1.0

# Sends one wake-up to all listeners.
Send = Callable[[], Awaitable[None]]
# Calls back once it listens, because something may have been missed, and for every wake-up. Runs
# until it is cancelled or raises: the connection is lost, which may only show as silence.
Listen = Callable[[Callable[[], None]], Awaitable[None]]

log = structlog.get_logger()


class RemoteWaker:
    """Connects again after a loss. While the server is down, wake-ups are lost."""

    def __init__(self, send: Send, listen: Listen) -> None:
        self._send = send
        self._listen = listen
        self._breaker = Breaker("wake-ups")
        self._on_wake: Callable[[], None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._is_connected = False
        self._sending: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._hurry = asyncio.Event()
        self.lost_connections = 0

    async def start(self, on_wake: Callable[[], None]) -> None:
        self._on_wake = on_wake
        if self._listening is None:
            self._hurry.clear()
            self._listening = asyncio.create_task(self._keep_listening())

    def wake(self) -> None:
        self._is_wanted = True
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._keep_sending())

    async def stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening
            self._listening = None
        self._hurry.set()
        if self._sending is not None:
            await self._sending

    async def _keep_sending(self) -> None:
        while self._is_wanted:
            self._is_wanted = False  # later writes need another one
            if self._breaker.may_try():
                await self._send_one()
            await wait_at_most(self._hurry, REST_SECONDS)

    async def _send_one(self) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send()
        except Exception as error:  # noqa: BLE001  whatever it is: the log is read without it
            self._breaker.note_failure(error)
        else:
            self._breaker.note_success()

    async def _keep_listening(self) -> None:
        retry_seconds = FIRST_RETRY_SECONDS
        while True:
            try:
                await self._listen(self._woken)
            except Exception as error:  # noqa: BLE001  as above
                if self._is_connected or not self.lost_connections:
                    reason = root_cause(error)
                    log.warning("no wake-ups: changes are polled once a second", reason=reason)
            retry_seconds = min(2 * retry_seconds, MAX_RETRY_SECONDS)
            if self._is_connected:
                retry_seconds = FIRST_RETRY_SECONDS
            self._is_connected = False
            self.lost_connections += 1
            await asyncio.sleep(retry_seconds)

    def _woken(self) -> None:
        if not self._is_connected and self.lost_connections:
            log.info("wake-ups available again")
        self._is_connected = True
        if self._on_wake is not None:
            self._on_wake()
