"""What commands on the local store share: the settings, and an open kurz."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kurz.cli import server_address
from kurz.cli.progress import Stopwatch
from kurz.settings.load import load
from kurz.settings.model import Settings

if TYPE_CHECKING:
    from kurz.people.accounts import Account
    from kurz.wiring.core import Kurz

T = TypeVar("T")

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the embedded database.")
]
Email = Annotated[str, typer.Argument(help="The account's e-mail address.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def read_settings(**flags: object) -> Settings:
    return load(flags).settings


def with_kurz(
    data_dir: Path | None, work: Callable[["Kurz"], Awaitable[T]], *, doing: str | None = None
) -> T:
    """Runs `work` on the store the settings name; it may be in use by a server. `doing` is what a
    terminal shows if that takes long; without it, the work prints or asks something itself."""
    import asyncio

    from kurz.wiring.core import open_kurz
    from kurz.wiring.outages import explained

    settings = read_settings(data_dir=data_dir)

    async def run() -> T:
        async with open_kurz(settings) as kurz:
            return await work(kurz)

    with explained(settings), Stopwatch(doing) if doing else nullcontext():
        return asyncio.run(run())


async def note(kurz: "Kurz", action: str, subject: str | None = None, **details: object) -> None:
    """Writes to the audit log what the operator is about to do."""
    from kurz.safety.audit import OPERATOR

    await kurz.audit.record(OPERATOR, action, subject, details)


def edit_account(email: str, data_dir: Path | None, **changes: bool) -> "Account":
    async def work(kurz: "Kurz") -> "Account":
        account = await kurz.accounts.get_by_email(email)
        await note(kurz, "edit-account", f"account {account.id}", **changes)
        return await kurz.accounts.edit(account.id, changes)

    return with_kurz(data_dir, work)


def shown_base_url(settings: Settings) -> str:
    """What short URLs start with: the base URL, or where the server of the data folder listens, or
    would by these settings."""
    if settings.base_url is not None:
        return settings.base_url
    known = server_address.read(settings.data_dir)
    if known is not None:
        return known
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def shown_dashboard_url(settings: Settings) -> str:
    """What addresses of pages start with."""
    return settings.dashboard_url or shown_base_url(settings)
