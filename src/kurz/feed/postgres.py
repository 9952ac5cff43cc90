"""Wake-ups by PostgreSQL's LISTEN and NOTIFY, on their own connection. They are sent outside the
transactions of writes: with a NOTIFY inside, these would commit one after the other."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from kurz import __version__
from kurz.rounds import wait_at_most

CHANNEL = "kurz_changes"
APPLICATION = f"kurz {__version__} feed"  # in pg_stat_activity
CHECK_SECONDS = 2.0  # of silence, before the server is pinged
ANSWER_SECONDS = 1.0


class PostgresWakeUps:
    """The `Send` and `Listen` of `feed/remote`. `connect` must lead to the primary: a standby sends
    no notifications. `send_elsewhere` is for processes that do not listen, and after a lost
    connection."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[asyncpg.Connection]],
        send_elsewhere: Callable[[], Awaitable[None]],
    ) -> None:
        self._connect = connect
        self._send_elsewhere = send_elsewhere
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()  # the connection takes one command at a time

    async def send(self) -> None:
        connection = self._connection
        if connection is None:
            await self._send_elsewhere()
            return
        async with self._turn:
            await connection.execute(f"NOTIFY {CHANNEL}")  # one round trip, without BEGIN

    async def listen(self, on_wake: Callable[[], None]) -> None:
        """What this process sends does not wake it: it knows its own writes."""
        connection = await self._connect()
        has_ended = asyncio.Event()
        own_pid = connection.get_server_pid()

        def receive(_: object, pid: int, *__: object) -> None:
            if pid != own_pid:
                on_wake()

        try:
            connection.add_termination_listener(lambda _: has_ended.set())
            async with asyncio.timeout(ANSWER_SECONDS):
                await connection.add_listener(CHANNEL, receive)
            self._connection = connection
            on_wake()
            while True:
                await wait_at_most(has_ended, CHECK_SECONDS)
                async with self._turn:
                    await connection.execute("SELECT 1", timeout=ANSWER_SECONDS)
        finally:
            self._connection = None
            connection.terminate()
