"""Wake-ups by PostgreSQL's LISTEN, on its own connection. They are sent outside the transactions of
writes: with a NOTIFY inside, these would commit one after the other."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from kurz.rounds import wait_at_most

CHANNEL = "kurz_changes"
APPLICATION = "kurz feed"  # in pg_stat_activity
CHECK_SECONDS = 2.0  # of silence, before the server is pinged
ANSWER_SECONDS = 1.0


async def listen(
    connect: Callable[[], Awaitable[asyncpg.Connection]], on_wake: Callable[[], None]
) -> None:
    """A `Listen` of `feed/remote`. It must be connected to the primary: a standby sends no
    notifications."""
    connection = await connect()
    has_ended = asyncio.Event()
    try:
        connection.add_termination_listener(lambda _: has_ended.set())
        async with asyncio.timeout(ANSWER_SECONDS):
            await connection.add_listener(CHANNEL, lambda *_: on_wake())
        on_wake()
        while True:
            await wait_at_most(has_ended, CHECK_SECONDS)
            await connection.execute("SELECT 1", timeout=ANSWER_SECONDS)
    finally:
        connection.terminate()
