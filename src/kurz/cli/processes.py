"""What the processes of `kurz serve` do: the supervisor before it forks, workers, and jobs."""

import asyncio
import socket
from collections.abc import Coroutine
from pathlib import Path

import structlog

from kurz import logs
from kurz.bootstrap import make_first_admin, open_kurz, prepare
from kurz.server.children import Tether
from kurz.server.lifeline import ending
from kurz.server.scoreboard import Scoreboard
from kurz.server.serve import serve
from kurz.serving import Board, open_jobs, open_serving
from kurz.settings import Settings


def get_ready(settings: Settings) -> tuple[Path | None, str | None]:
    """Makes or upgrades the schema and the first administrator. Gives the backup made before and
    the token of a set-up link, if there are any. No thread or connection is left of it."""

    async def run() -> tuple[Path | None, str | None]:
        backup = await prepare(settings, upgrades_postgres=False)
        async with open_kurz(settings) as kurz:
            return backup, await make_first_admin(kurz)

    return asyncio.run(run())


def run_worker(
    settings: Settings, listener: socket.socket, scoreboard: Scoreboard, tether: Tether
) -> None:
    """Serves until it is told to end. `tether.slot` is its row in a scoreboard."""
    _log_as(settings, **({"worker": tether.slot} if settings.workers > 1 else {}))
    _run(_work(settings, listener, Board(scoreboard, tether.slot), tether))


def run_jobs(settings: Settings, tether: Tether) -> None:
    """Does what belongs into exactly one process, until it is told to end."""
    _log_as(settings, process="jobs")
    _run(_do_jobs(settings, tether))


async def _work(settings: Settings, listener: socket.socket, board: Board, tether: Tether) -> None:
    async with open_kurz(settings) as kurz, open_serving(kurz, board) as serving:
        await serve(
            serving.app,
            listener,
            tether.on_ready,
            tether.lifeline,
            tick=serving.tick,
            connect=serving.connect,
            keep_alive_seconds=settings.keep_alive_seconds,
        )
        structlog.get_logger().info("stopped", **kurz.database.counts())


async def _do_jobs(settings: Settings, tether: Tether) -> None:
    end = asyncio.Event()
    async with open_kurz(settings) as kurz, open_jobs(kurz):
        with ending(tether.lifeline, end.set, end.set):
            tether.on_ready()
            await end.wait()


def _log_as(settings: Settings, **process: object) -> None:
    logs.configure(settings.log_level, settings.log_format)
    logs.name_process(**process)


def _run(work: Coroutine[None, None, None]) -> None:
    """Runs on uvloop, where it exists."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)
