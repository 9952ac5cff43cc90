"""What the processes do: the supervisor of `kurz serve` before it forks, workers, and jobs."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import structlog

from kurz import logs
from kurz.cli.clock_warning import clock_warning
from kurz.clock import SteadyClock
from kurz.errors import StoreUnavailable
from kurz.jobs.boot_clock import BootClock
from kurz.rounds import wait_at_most
from kurz.server.children import Tether
from kurz.server.lifeline import ending
from kurz.server.proxy_note import ProxyNote
from kurz.server.scoreboard import Scoreboard
from kurz.server.serve import TICK_SECONDS, serve
from kurz.settings.model import Settings
from kurz.storage.followers.timekeeper import TimeKeeper
from kurz.storage.jobs.last_written import last_written
from kurz.transfer.tuning import favour_small_memory, favour_throughput
from kurz.wiring.core import Kurz, make_first_admin, open_kurz
from kurz.wiring.data_folder import check_data_folder
from kurz.wiring.engine import prepare
from kurz.wiring.jobs import open_jobs
from kurz.wiring.loader import open_loader, own_journals
from kurz.wiring.outages import explained
from kurz.wiring.worker import open_serving
from kurz.wiring.worker_numbers import Board


@dataclass(frozen=True)
class Clocks:
    """The clocks of all processes of a server. The supervisor creates them before it forks, so that
    a process that starts later uses the same reference."""

    server: SteadyClock
    boot: BootClock


class Prepared(NamedTuple):
    backup: Path | None  # made before the schema was upgraded
    set_up_token: str | None  # of a set-up link, if there is no administrator yet
    warnings: list[str]


def get_ready(settings: Settings, clocks: Clocks) -> Prepared:
    """Creates or upgrades the schema, the folder of journals and the first administrator, and sets
    the clocks. It leaves no thread or connection behind."""

    async def run() -> Prepared:
        backup = await prepare(settings, upgrades_postgres=False)
        async with open_kurz(settings, clocks.server) as kurz:
            keeper = TimeKeeper(clocks.server, kurz.engine.time_source(kurz.database))
            await keeper.start()
            await keeper.stop()
            now = clocks.server.now()
            clocks.boot.jump(now)
            own_journals(kurz).create()
            behind = clock_warning(now, await kurz.database.read(last_written))
            is_read_only = settings.read_only == "on"
            set_up_token = None if is_read_only else await make_first_admin(kurz)
            unwritable = None if is_read_only else await _unwritable(kurz)
            return Prepared(backup, set_up_token, [*filter(None, (behind, unwritable))])

    check_data_folder(settings)
    ProxyNote(settings.proxy_note_path).write(None)  # of another run
    with explained(settings):
        return asyncio.run(run())


async def _unwritable(kurz: Kurz) -> str | None:
    """Why nothing can be written. The server starts: links redirect, and a standby may be promoted
    at any moment."""
    try:
        await kurz.database.check()
    except StoreUnavailable as error:
        return (await kurz.engine.explain(error)).detail
    return None


def run_worker(
    settings: Settings,
    listener: socket.socket,
    scoreboard: Scoreboard,
    clocks: Clocks,
    tether: Tether,
) -> None:
    """Serves until it must end. `tether.slot` is its row in the scoreboard."""
    _log_as(settings, **({"worker": tether.slot} if settings.workers > 1 else {}))
    _run(_work(settings, listener, Board(scoreboard, tether.slot), clocks, tether))


def run_jobs(settings: Settings, scoreboard: Scoreboard, clocks: Clocks, tether: Tether) -> None:
    """Does the work of the jobs process until it must end."""
    _let_others_start_first()
    favour_small_memory()
    _log_as(settings, process="jobs")
    board = Board(scoreboard, tether.slot)
    _run(_do_jobs(settings, [], board, clocks, tether.on_ready, tether.lifeline))


def _let_others_start_first() -> None:
    """A worker that has something to do need not wait until this process rests. With a lower
    priority, it might not run for long while it holds the write lock of SQLite."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def run_jobs_alone(
    settings: Settings, journals: Sequence[Path], on_ready: Callable[[], None]
) -> None:
    """The same without a supervisor, for the journals in these folders too."""
    favour_small_memory()
    _log_as(settings, process="jobs")
    _run(_do_jobs(settings, journals, None, None, on_ready, None))


def load_journals(settings: Settings, journals: Sequence[Path]) -> int:
    """Counts the clicks in the journals by now, and returns how many there were."""

    async def run() -> int:
        async with open_kurz(settings) as kurz:
            own_journals(kurz).check()  # says why they cannot be counted
            async with open_loader(kurz, journals) as loader:
                return await loader.load_all()

    favour_throughput()
    _log_as(settings, process="jobs")
    with explained(settings):
        return asyncio.run(run())


async def _work(
    settings: Settings, listener: socket.socket, board: Board, clocks: Clocks, tether: Tether
) -> None:
    async with (
        open_kurz(settings, server_clock=clocks.server) as kurz,
        open_serving(kurz, board) as serving,
    ):
        await serve(
            serving.app,
            listener,
            tether.on_ready,
            tether.lifeline,
            tick=serving.tick,
            shortcut=serving.shortcut,
            capacity=serving.capacity,
            on_stop=serving.on_stop,
            keep_alive_seconds=settings.keep_alive_seconds,
        )
        structlog.get_logger().info("stopped", **kurz.database.counts())


async def _do_jobs(
    settings: Settings,
    journals: Sequence[Path],
    board: Board | None,
    clocks: Clocks | None,
    on_ready: Callable[[], None],
    lifeline: int | None,
) -> None:
    end = asyncio.Event()
    server_clock, boot_clock = (clocks.server, clocks.boot) if clocks else (None, BootClock())
    async with (
        open_kurz(settings, server_clock=server_clock, is_background=True) as kurz,
        open_jobs(kurz, boot_clock, board, journals) as tick,
    ):
        with ending(lifeline, end.set, end.set):
            if lifeline is None:  # no supervisor handles Ctrl+C
                asyncio.get_running_loop().add_signal_handler(signal.SIGINT, end.set)
            on_ready()
            while not end.is_set():
                tick()
                await wait_at_most(end, TICK_SECONDS)


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
