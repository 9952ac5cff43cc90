"""`kurz serve`, `kurz jobs` and `kurz migrate`."""

import gc
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli import server_address
from kurz.cli.progress import Stopwatch
from kurz.cli.session import DataDir, read_settings
from kurz.settings.load import load, warnings_about

if TYPE_CHECKING:
    import socket

    from kurz.cli.processes import Clocks
    from kurz.server.scoreboard import Scoreboard
    from kurz.server.supervisor import ProcessPlan
    from kurz.settings.model import Settings
    from kurz.wiring.engine import Engine


CLOSE_SECONDS = 5  # for the store and the journal

commands = typer.Typer()


@commands.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Public address of kurz, such as https://go.example.com."),
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Number of worker processes.")] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Links work, but nothing can be changed.")
    ] = False,
    from_backup: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Restore this backup into an empty data folder first; only with --read-only.",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Start the server."""
    flags = {
        "host": host,
        "port": port,
        "base_url": base_url,
        "workers": workers,
        "data_dir": data_dir,
        "read_only": "on" if read_only else None,
    }
    loaded = load(flags)
    for warning in warnings_about(loaded):
        _warn(warning)
    if from_backup is not None:
        _restore(loaded.settings, from_backup)
    supervise(loaded.settings, flags)


def _warn(sentence: str | None) -> None:
    if sentence is not None:
        typer.secho(f"Warning: {sentence}", fg="yellow", err=True)


@commands.command()
def jobs(
    journals: Annotated[
        list[Path] | None,
        typer.Option(
            "--journals",
            metavar="FOLDER",
            exists=True,
            file_okay=False,
            help="Another folder of journals to count, such as that of a lost instance.",
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option(help="Count the clicks in the journals, then exit.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Run the background jobs without serving requests."""
    from kurz.cli.processes import load_journals, run_jobs_alone

    settings = read_settings(data_dir=data_dir)
    if once:
        with Stopwatch("Counting clicks"):
            clicks = load_journals(settings, journals or [])
        typer.echo(f"{clicks} {'click' if clicks == 1 else 'clicks'} counted.")
    else:
        run_jobs_alone(
            settings, journals or [], lambda: typer.echo("Running. Press Ctrl+C to stop.")
        )


@commands.command()
def migrate(data_dir: DataDir = None) -> None:
    """Create or upgrade the database schema."""
    import asyncio

    from kurz.storage.engine.migrate import Migrations
    from kurz.wiring.engine import prepare
    from kurz.wiring.outages import explained

    settings = read_settings(data_dir=data_dir)
    with explained(settings), Stopwatch("Upgrading the database"):
        backup = asyncio.run(prepare(settings, upgrades_postgres=True))
    if backup is not None:
        typer.echo(f"Database backup: {backup}")
    typer.echo(f"The schema is up to date ({Migrations().head}).")


def _restore(settings: "Settings", file: str) -> None:
    from kurz.cli.backup import restore
    from kurz.errors import BackupRefused

    if settings.read_only != "on":
        raise BackupRefused(
            "--from-backup requires --read-only. To run a server that can change links, run kurz"
            " restore, then kurz serve."
        )
    restore(file, data_dir=settings.data_dir)


def supervise(
    settings: "Settings",
    flags: Mapping[str, object],
    wall_ns: Callable[[], int] = time.time_ns,
) -> None:
    """Prepares everything while it is the only process, then starts the others. `wall_ns` is the
    machine's clock."""
    gc.disable()  # modules are never freed: searching them for garbage takes a tenth of the start
    from kurz import logs, metrics
    from kurz.cli.processes import Clocks, get_ready
    from kurz.clicks.dropped import DroppedClicks
    from kurz.clock import SteadyClock
    from kurz.jobs.boot_clock import BootClock
    from kurz.server.capacity import few_files, raise_file_limit
    from kurz.server.listening import bind
    from kurz.server.scoreboard import Scoreboard
    from kurz.server.supervisor import JOBS_SLOT, SLOTS, Supervisor
    from kurz.server.systemd import notify

    logs.configure(settings.log_level, settings.log_format)
    _warn(few_files(settings.max_connections, raise_file_limit()))  # all processes inherit it
    listener = bind(settings.host, settings.port)
    clocks = Clocks(SteadyClock(wall_ns), BootClock())
    prepared = get_ready(settings, clocks)
    for warning in prepared.warnings:
        _warn(warning)
    if prepared.backup is not None:
        typer.echo(f"The database was upgraded. Backup: {prepared.backup}")
    gc.enable()

    scoreboard = Scoreboard(metrics.NAMES, SLOTS)
    # In the row of a process that drops no clicks itself: the total continues from there.
    dropped = DroppedClicks(settings.dropped_clicks_path).read()
    scoreboard.row(JOBS_SLOT).write({"journal_dropped": dropped, metrics.DROPPED_BEFORE: dropped})

    def reload() -> "ProcessPlan":
        # The socket stays, and so does everything that depends on its address.
        fresh = replace(load(flags).settings, host=settings.host, port=settings.port)
        logs.configure(fresh.log_level, fresh.log_format)
        return _plan(fresh, listener, scoreboard, clocks)

    Supervisor(
        _plan(settings, listener, scoreboard, clocks),
        listener,
        reload=reload,
        on_ready=lambda: _announce(settings, listener, prepared.set_up_token),
        notify=partial(notify, os.environ.get("NOTIFY_SOCKET")),  # systemd's, not a setting
    ).run()


def _plan(
    settings: "Settings", listener: "socket.socket", scoreboard: "Scoreboard", clocks: "Clocks"
) -> "ProcessPlan":
    from kurz.cli.processes import run_jobs, run_worker
    from kurz.jobs.clicks.loader import STOP_SECONDS
    from kurz.outbound.geo import check_countries
    from kurz.server.serve import ANSWER_SECONDS
    from kurz.server.supervisor import ProcessPlan
    from kurz.wiring.archive import open_files
    from kurz.wiring.reaper import schedule_of
    from kurz.wiring.scheduled_backups import check_backups
    from kurz.wiring.screen import open_list_provider

    # What the jobs process would refuse: otherwise no click would be counted until someone notices.
    check_countries(settings.geoip_db)
    schedule_of(settings)
    open_files(settings)
    check_backups(settings)
    open_list_provider(settings).prepare()  # compiles them, if they have changed
    return ProcessPlan(
        settings.workers,
        work=partial(run_worker, settings, listener, scoreboard, clocks),
        jobs=partial(run_jobs, settings, scoreboard, clocks),
        stop_seconds=settings.keep_alive_seconds + ANSWER_SECONDS + CLOSE_SECONDS,
        jobs_stop_seconds=STOP_SECONDS + CLOSE_SECONDS,
    )


def _announce(settings: "Settings", listener: "socket.socket", set_up_token: str | None) -> None:
    from kurz.server.listening import address_of, local_address_of
    from kurz.wiring.engine import Engine

    engine = Engine(settings)
    address = address_of(listener)
    base = settings.base_url or local_address_of(listener)
    is_other = settings.base_url is not None or base != address
    server_address.write(settings.data_dir, base)
    pages = settings.dashboard_url or base
    lines = [
        ("kurz", f"{base}  (listening on {address})" if is_other else base),
        ("dashboard", f"{pages}/app  (API: {pages}/api/docs)"),
        ("database", engine.name) if engine.folder is None else ("data", _data(engine)),
        ("access", "read-only" if settings.read_only == "on" else _access(settings)),
    ]
    if settings.workers > 1:
        lines.append(("workers", str(settings.workers)))
    if set_up_token is not None:
        url = f"{pages}/app/setup#{set_up_token}"
        lines.append(("set-up", f"{url}  (works once; creates the administrator)"))
    for label, text in (*lines, ("stop", "Ctrl+C")):
        typer.echo(f"{typer.style(f'{label:<10}', bold=True)}{text}")


def _access(settings: "Settings") -> str:
    is_public = settings.access == "public"
    if settings.root_workspace is not None:
        accounts = "anyone can create an account" if is_public else "accounts by invitation only"
        members = f"only members of {settings.root_workspace} can create links at the root"
        return f"{settings.access}: {accounts}; {members}"
    if is_public:
        return (
            f"public: anyone can create links, which expire after {settings.temporary_link_hours} h"
        )
    return "private: creating links requires an account"


def _data(engine: "Engine") -> str:
    if engine.has_write_ahead_log:
        return str(engine.folder)
    return f"{engine.folder}  ({engine.name} {engine.version}, no write-ahead log: see kurz doctor)"
