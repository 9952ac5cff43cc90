"""`kurz admin quota` and `kurz admin workspace quota`: how many links may be created in a month."""

from typing import TYPE_CHECKING, Annotated

import typer

from kurz.cli.session import DataDir, Email, note, with_kurz
from kurz.cli.workspace_lookup import get_workspace
from kurz.people.quotas import UNLIMITED, account_quota

if TYPE_CHECKING:
    from kurz.wiring.core import Kurz

MOST = 10**12
_UNLIMITED, _DEFAULT = "unlimited", "default"


def quota(
    email: Email,
    links: Annotated[
        str | None,
        typer.Argument(
            help="Links per month, `unlimited` or `default`. Shows the quota if omitted."
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or set how many links a user can create per month."""
    wanted = None if links in (None, _DEFAULT) else _number(links)

    async def work(kurz: "Kurz") -> tuple[int | None, int]:
        account = await kurz.accounts.get_by_email(email)
        if links is not None:
            await note(kurz, "set-quota", f"account {account.id}", links_per_month=links)
            account = await kurz.accounts.set_quota(account.id, wanted)
        return account.links_per_month, kurz.settings.links_per_month

    own, default = with_kurz(data_dir, work)
    source = " (the default)" if own is None else ""
    typer.echo(f"{email}: {_shown(account_quota(own, default))}{source}")


def workspace_quota(
    workspace: Annotated[str, typer.Argument(help="The workspace's slug or ID.")],
    links: Annotated[
        str | None,
        typer.Argument(help="Links per month, or `unlimited`. Shows the quota if omitted."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or set how many links can be created in a workspace per month."""
    wanted = None if links is None else _number(links)

    async def work(kurz: "Kurz") -> tuple[str, int | None]:
        found = await get_workspace(kurz, workspace)
        if wanted is not None:
            limit = None if wanted == UNLIMITED else wanted
            await note(kurz, "set-quota", f"workspace {found.id}", links_per_month=limit)
            found = await kurz.teams.edit(found.id, {"links_per_month": limit})
        return found.slug, found.links_per_month

    slug, limit = with_kurz(data_dir, work)
    typer.echo(f"@{slug}: {_shown(limit)}")


def _number(text: str | None) -> int:
    if text == _UNLIMITED:
        return UNLIMITED
    if text is None or not (text.isascii() and text.isdigit()) or int(text[:13]) > MOST:
        raise typer.BadParameter(
            f"a quota must be a number up to {MOST}, or a word listed in --help"
        )
    return int(text)


def _shown(limit: int | None) -> str:
    return _UNLIMITED if limit is None else f"{limit} links per month"
