"""Runs the application: one process, one event loop, uvicorn."""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from kurz.errors import SettingRefused


def bind(host: str, port: int) -> socket.socket:
    """The listening socket, or `SettingRefused` with what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise SettingRefused(
            f"Cannot listen on {host}:{port} ({error.strerror}). Choose another place with --host"
            " and --port, or KURZ_HOST and KURZ_PORT."
        ) from None
    return listener


class _Server(uvicorn.Server):
    """uvicorn's server, which also tells when it listens."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Uvicorn's own raises the signal again at the end: nobody could close the database."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What exists now lives as long as the process: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        self._on_start()


async def serve(
    app: Any,
    listener: socket.socket,
    on_start: Callable[[], None],
) -> None:
    """Serves until SIGTERM or SIGINT, and finishes what is under way."""
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # ours are read in `app`, for a tenth of the cost
        timeout_graceful_shutdown=10,
    )
    await _Server(config, on_start).serve(sockets=[listener])
