"""A server in this process, as a worker runs it."""

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from kurz.server.app import App
from kurz.server.listening import bind
from kurz.server.serve import serve
from kurz.wiring.core import Kurz
from kurz.wiring.worker import open_serving


@asynccontextmanager
async def open_app(kurz: Kurz) -> AsyncIterator[App]:
    """The application over these parts, without a socket."""
    async with open_serving(kurz) as parts:
        yield parts.app


@asynccontextmanager
async def serving(kurz: Kurz) -> AsyncIterator[int]:
    """Gives its port."""
    lifeline, other_end = os.pipe()
    listener = bind("127.0.0.1", 0)
    started = asyncio.Event()
    async with open_serving(kurz) as parts:
        server = asyncio.create_task(
            serve(
                parts.app,
                listener,
                started.set,
                lifeline,
                tick=parts.tick,
                shortcut=parts.shortcut,
                keep_alive_seconds=60,
            )
        )
        await started.wait()
        gc.unfreeze()  # this process goes on afterwards
        try:
            yield listener.getsockname()[1]
        finally:
            os.close(other_end)
            await server
            os.close(lifeline)
            listener.close()
