"""`kurz trash`: lists, restores or permanently deletes links in the trash."""

import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.links import EVERYTHING, Reference, act_on, command, restore, view_of
from kurz.cli.session import AsJson, DataDir, note, with_kurz
from kurz.cli.workspace_lookup import get_workspace
from kurz.links.errors import FieldRefused
from kurz.links.model import Filter, Link, LinkPage, Scope, Sort, Status

if TYPE_CHECKING:
    from kurz.links.ending.trash import Emptied
    from kurz.wiring.core import Kurz

IN_TRASH = Filter(status=Status.DELETED, sort=Sort.UPDATED_DOWN)

Workspace = Annotated[
    str | None,
    typer.Option("--workspace", "-w", help="Only this workspace's trash (slug or ID)."),
]

trash = typer.Typer(
    name="trash",
    help="List, restore or permanently delete links in the trash.",
    invoke_without_command=True,
)
trash.command()(restore)


@trash.callback()
def list_trash(
    context: typer.Context,
    workspace: Workspace = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of links.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue after an earlier page.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List links in the trash, newest first, or restore, delete or empty it."""
    if context.invoked_subcommand is not None:
        if workspace or cursor or as_json or data_dir:  # otherwise another trash might be emptied
            name = context.invoked_subcommand
            raise FieldRefused(f"Put options after the command: kurz trash {name} …")
        return

    async def work(kurz: "Kurz") -> tuple[list[dict[str, Any]], LinkPage, datetime]:
        scope = await _scope(kurz, workspace)
        page = await kurz.links.list(scope, IN_TRASH, cursor=cursor, limit=limit)
        return [await view_of(kurz, link) for link in page.links], page, kurz.clock.now()

    views, page, now = with_kurz(data_dir, work)
    if as_json:
        shown = {"links": views, "total": page.total, "is_total_exact": page.is_total_exact}
        output.print_json(shown | {"next_cursor": page.next_cursor})
        return
    if not views:
        output.print_hint("The trash is empty.")
        return
    output.print_trash(views, now)
    output.print_hint(f"{len(views)} of {_number(page)} in the trash")
    if page.next_cursor:
        given = [] if workspace is None else ["--workspace", workspace]
        given += ["--limit", str(limit), "--cursor", page.next_cursor]
        output.print_hint("More: " + command(data_dir, "trash", *given))


@trash.command()
def delete(link: Reference, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Permanently delete a link in the trash."""

    async def work(kurz: "Kurz", found: Link) -> Link:
        await note(kurz, "purge-link", f"link {kurz.links.public_id(found)}")
        await kurz.trash.purge(kurz.links.public_id(found), EVERYTHING)
        return found

    def show(item: Mapping[str, Any], _: datetime) -> None:
        typer.echo(f"{item['short_url']} was permanently deleted.")

    act_on(link, work, as_json, data_dir, show)


@trash.command()
def empty(
    workspace: Workspace = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Permanently delete all links in the trash."""

    async def count(kurz: "Kurz") -> LinkPage:
        return await kurz.links.list(await _scope(kurz, workspace), IN_TRASH, limit=1)

    async def work(kurz: "Kurz") -> "Emptied":
        scope = await _scope(kurz, workspace)
        of = None if scope.workspace_id is None else f"workspace {scope.workspace_id}"
        await note(kurz, "empty-trash", of)
        return await kurz.trash.empty(scope)

    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise FieldRefused(
                "There is no terminal to ask for confirmation. Use --yes to permanently"
                " delete the links."
            )
        number = _number(with_kurz(data_dir, count))
        typer.confirm(f"Permanently delete {number}?", abort=True, err=True)
    emptied = with_kurz(data_dir, work, doing="Deleting")
    noun = "link" if emptied.purged == 1 else "links"
    sentence = f"{emptied.purged:,} {noun} permanently deleted."
    output.print_result({"purged": emptied.purged}, sentence, as_json=as_json)


async def _scope(kurz: "Kurz", workspace: str | None) -> Scope:
    return EVERYTHING if workspace is None else Scope((await get_workspace(kurz, workspace)).id)


def _number(page: LinkPage) -> str:
    least = "" if page.is_total_exact else "at least "
    return f"{least}{page.total:,} {'link' if page.total == 1 else 'links'}"
