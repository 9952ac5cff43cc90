"""`kurz serve` and `kurz migrate`."""

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli.session import DataDir, read_settings
from kurz.settings import load, warnings_about

if TYPE_CHECKING:
    import socket

    from kurz.settings import Settings


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(migrate)


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Address people reach kurz under, such as https://go.example.com."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Start the server."""
    flags = {"host": host, "port": port, "base_url": base_url, "data_dir": data_dir}
    loaded = load(flags)
    for warning in warnings_about(loaded):
        typer.secho(f"Warning: {warning}", fg="yellow", err=True)
    _run(_serve(loaded.settings))


def migrate(data_dir: DataDir = None) -> None:
    """Make or upgrade the database's schema."""
    import asyncio

    from kurz.bootstrap import prepare
    from kurz.storage.migrate import Migrations

    settings = read_settings(data_dir=data_dir)
    backup = asyncio.run(prepare(settings, upgrades_postgres=True))
    if backup is not None:
        typer.echo(f"Backup of the database before: {backup}")
    typer.echo(f"The schema is up to date ({Migrations().head}).")


def _run(work: Coroutine[None, None, None]) -> None:
    """Runs on uvloop, which exists for every system but Windows."""
    try:
        import uvloop
    except ImportError:
        import asyncio

        asyncio.run(work)
    else:
        uvloop.run(work)


async def _serve(settings: "Settings") -> None:
    import structlog

    from kurz import logs
    from kurz.bootstrap import make_first_admin, open_app, open_kurz, prepare
    from kurz.server.serve import bind, serve

    logs.configure(settings.log_level, settings.log_format)
    listener = bind(settings.host, settings.port)
    backup = await prepare(settings, upgrades_postgres=False)
    if backup is not None:
        typer.echo(f"The database was upgraded. A copy from before: {backup}")
    async with open_kurz(settings) as kurz, open_app(kurz) as app:
        setup_token = await make_first_admin(kurz)
        await serve(app, listener, lambda: _announce(settings, listener, setup_token))
        structlog.get_logger().info("stopped", **kurz.database.counts())


def _announce(settings: "Settings", listener: "socket.socket", setup_token: str | None) -> None:
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    hours = settings.temporary_link_hours
    store = "PostgreSQL" if settings.database_url else _embedded_store(settings)
    access = {
        "public": f"public: anybody may make links, which live {hours} h",
        "private": "private: nobody may make links without an account",
    }[settings.access]
    base = settings.base_url or address
    lines = [
        ("kurz", f"{base}" + (f"  (listening on {address})" if settings.base_url else "")),
        ("API", f"{base}/api/docs"),
        ("database" if settings.database_url else "data", store),
        ("access", access),
    ]
    if setup_token is not None:
        lines.append(("set-up", f"{base}/app/setup#{setup_token}  (once, for the administrator)"))
    for label, text in (*lines, ("stop", "Ctrl+C")):
        typer.echo(f"{typer.style(f'{label:<9}', bold=True)}{text}")


def _embedded_store(settings: "Settings") -> str:
    from kurz.storage.sqlite import can_use_wal, default_driver

    folder = str(settings.data_dir.resolve())
    if can_use_wal(default_driver.sqlite_version_info):
        return folder
    return (
        f"{folder}  (SQLite {default_driver.sqlite_version}, no write-ahead log: see kurz doctor)"
    )
