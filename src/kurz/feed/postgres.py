"""Wake-ups by PostgreSQL's LISTEN, on a connection of its own. They are sent outside of the writes'
transactions: with a NOTIFY in them, those would commit one after the other."""

import asyncio
import contextlib
from collections.abc import Callable

import asyncpg

CHANNEL = "kurz_changes"
APPLICATION = "kurz feed"  # in pg_stat_activity
CONNECT_SECONDS = 2.0
CHECK_SECONDS = 2.0  # of silence, before the server is asked whether it is there
ANSWER_SECONDS = 1.0


async def listen(url: str, on_wake: Callable[[], None]) -> None:
    """A `Listen` of `feed/remote`. Of several servers the one that takes writes: on a standby
    nothing is ever heard."""
    connection = await asyncpg.connect(
        url,
        timeout=CONNECT_SECONDS,
        command_timeout=ANSWER_SECONDS,
        target_session_attrs="primary",
        server_settings={"application_name": APPLICATION},
    )
    has_ended = asyncio.Event()
    try:
        connection.add_termination_listener(lambda _: has_ended.set())
        await connection.add_listener(CHANNEL, lambda *_: on_wake())
        on_wake()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await has_ended.wait()
            await connection.execute("SELECT 1")
    finally:
        connection.terminate()
