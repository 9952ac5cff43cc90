"""`kurz archive …`: lists the archive, and restores links."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output, values
from kurz.cli.progress import RowCounter
from kurz.cli.session import AsJson, DataDir, note, with_kurz
from kurz.cli.workspace_lookup import own_hosts
from kurz.errors import KurzError
from kurz.links.ending.archives import Obstacle

if TYPE_CHECKING:
    from kurz.transfer.archive_format import ArchiveEntry
    from kurz.transfer.restoring import ArchivedFile, Restored
    from kurz.wiring.core import Kurz

File = Annotated[str, typer.Argument(metavar="FILE", help="An archive file, as shown by `list`.")]
Foreign = Annotated[
    bool,
    typer.Option(
        "--foreign", help="Include files not signed by this installation, if you trust them."
    ),
]

_REASONS = {
    Obstacle.EXISTS: "it already exists",
    Obstacle.TAKEN: "another link has this code or URL",
    Obstacle.NO_WORKSPACE: "its workspace was deleted",
    Obstacle.NO_OWNER: "its owner's account was deleted",
    Obstacle.OWNER_BANNED: "its owner is banned",
    Obstacle.REFUSED: "a blocklist or ban covers its destination",
    Obstacle.INVALID: "not a valid link",
}

archive = typer.Typer(name="archive", help="Browse the archive and restore links.")


@archive.command("list")
def list_files(
    code: Annotated[
        str | None, typer.Option(help="Only files that contain a link with this code.")
    ] = None,
    foreign: Foreign = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List archive files, oldest first."""

    async def work(kurz: "Kurz") -> tuple[Sequence["ArchivedFile"], datetime]:
        from kurz.wiring.archive import open_archive

        archived = open_archive(kurz)
        files = await archived.list(code, is_foreign=foreign, pass_over=_pass_over)
        return files, kurz.clock.now()

    files, now = with_kurz(data_dir, work)
    if as_json:
        found = [
            {"name": it.name, "links": it.links, "bytes": it.size, "created_at": it.created_at}
            for it in files
        ]
        output.print_json({"files": found})
        return
    rows = [
        (
            "?" if file.links is None else f"{file.links:,}",
            f"{file.size:,}",
            output.relative(file.created_at, now),
            file.name,
        )
        for file in files
    ]
    output.print_counted(("links", "bytes", "created", "file"), rows, "file")


def _pass_over(error: KurzError) -> None:
    _print_error("skipped", error)


def _print_error(what: str, error: KurzError) -> None:
    typer.secho(f"{what}: {output.printable(error.detail)}", err=True, fg="yellow")


@archive.command("show")
def show_file(
    file: File, foreign: Foreign = False, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the links in an archive file."""

    async def work(kurz: "Kurz") -> Iterator["ArchiveEntry"]:
        from kurz.wiring.archive import open_archive

        archived = open_archive(kurz)
        return await archived.read(file, is_foreign=foreign, pass_over=_pass_over)

    entries = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"links": [_view(entry) for entry in entries]})
        return
    rows = [
        (
            _name(entry),
            f"{entry.archived.link.redirect_count:,}",
            _day(entry.archived.link.created_at),
            _day(entry.archived.link.expires_at),
            output.printable(entry.archived.link.original_url),
        )
        for entry in entries
    ]
    output.print_counted(("link", "clicks", "created", "expired", "destination"), rows, "link")


@archive.command("restore")
def restore_links(
    file: File,
    code: Annotated[
        list[str] | None, typer.Option(help="Only the link with this code; repeatable.")
    ] = None,
    expires: Annotated[
        datetime | None,
        typer.Option(
            parser=values.instant,
            metavar="TIME",
            help="New expiry date. If omitted, links never expire, except temporary ones.",
        ),
    ] = None,
    foreign: Foreign = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Restore links with their original IDs, codes and statistics."""
    results: list[_Outcome] = []
    refused: list[KurzError] = []
    counting = RowCounter("links")

    def refuse(error: KurzError) -> None:
        counting.clear()
        _print_error("not restored", error)
        refused.append(error)

    async def work(kurz: "Kurz") -> None:
        from kurz.wiring.archive import open_archive

        archived = open_archive(kurz)
        await note(kurz, "restore-archive", f"file {file}", codes=code or [], foreign=foreign)
        with counting:
            async for result in archived.restore(
                file,
                code or (),
                expires,
                is_foreign=foreign,
                own_hosts=own_hosts(kurz),
                pass_over=refuse,
            ):
                results.append(_outcome_of(result))  # one by one: it may be interrupted
                counting.add(1)

    try:
        with_kurz(data_dir, work)
    except KurzError:
        if results:  # before it was interrupted
            _tell(results, as_json=as_json)
        raise
    _tell(results, as_json=as_json)
    if refused or any(it.obstacle for it in results):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Only what is shown: all links of a file may not fit into memory. `path` is printable."""

    path: str
    short_code: str
    workspace: str
    obstacle: Obstacle | None
    detail: str | None


def _outcome_of(restored: "Restored") -> _Outcome:
    entry, result = restored.entry, restored.result
    obstacle = result if isinstance(result, Obstacle) else None
    code = entry.archived.link.short_code
    return _Outcome(_name(entry), code, entry.workspace, obstacle, restored.detail)


def _tell(results: Sequence[_Outcome], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"links": [_outcome_view(it) for it in results]})
    else:
        _print_results(results)


def _print_results(results: Sequence[_Outcome]) -> None:
    for it in results:
        if it.obstacle:
            why = f": {output.printable(it.detail)}" if it.detail else ""
            what, colour = f"not restored: {_REASONS[it.obstacle]}{why}", "yellow"
        else:
            what, colour = "restored", "green"
        typer.echo(f"{it.path}  {typer.style(what, fg=colour)}")
    done = sum(it.obstacle is None for it in results)
    output.print_hint(f"{done:,} of {len(results):,} restored")


def _outcome_view(outcome: _Outcome) -> dict[str, Any]:
    return {
        "short_code": outcome.short_code,
        "workspace": outcome.workspace,
        "outcome": "conflict" if outcome.obstacle else "restored",
        "reason": None if outcome.obstacle is None else str(outcome.obstacle),
        "detail": outcome.detail,
    }


def _view(entry: "ArchiveEntry") -> dict[str, Any]:
    link = entry.archived.link
    return {
        "short_code": link.short_code,
        "workspace": entry.workspace,
        "original_url": link.original_url,
        "redirect_count": link.redirect_count,
        "days": len(entry.archived.days),
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "deleted_at": link.deleted_at,
    }


def _name(entry: "ArchiveEntry") -> str:
    """The path of the short URL."""
    code = entry.archived.link.short_code
    return output.printable(f"/@{entry.workspace}/{code}" if entry.workspace else f"/{code}")


def _day(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%d}"
