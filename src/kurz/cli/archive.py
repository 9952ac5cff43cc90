"""`kurz archive …`: what is in the archive, and the way back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output, values
from kurz.cli.places import own_hosts
from kurz.cli.session import AsJson, DataDir, note, with_kurz
from kurz.errors import KurzError
from kurz.links.archives import Obstacle

if TYPE_CHECKING:
    from kurz.bootstrap import Kurz
    from kurz.transfer.archive_format import Entry
    from kurz.transfer.restoring import ArchivedFile, Restored

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


def register(app: typer.Typer) -> None:
    archive.command("list")(list_files)
    archive.command("show")(show_file)
    archive.command("restore")(restore_links)
    app.add_typer(archive)


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
        from kurz.archiving import open_archive

        archived = await open_archive(kurz)
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
    output.print_table(("links", "bytes", "created", "file"), rows)
    output.print_hint(f"{len(rows)} file{'' if len(rows) == 1 else 's'}")


def _pass_over(error: KurzError) -> None:
    typer.secho(f"skipped: {error.detail}", err=True, fg="yellow")


def show_file(
    file: File, foreign: Foreign = False, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """List the links in an archive file."""

    async def work(kurz: "Kurz") -> Iterator["Entry"]:
        from kurz.archiving import open_archive

        return await (await open_archive(kurz)).read(file, is_foreign=foreign)

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
    output.print_table(("link", "clicks", "created", "expired", "destination"), rows)
    output.print_hint(f"{len(rows)} link{'' if len(rows) == 1 else 's'}")


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
            help="New expiry date. If omitted, expired links never expire again, except"
            " temporary ones.",
        ),
    ] = None,
    foreign: Foreign = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Restore links with their original IDs, codes and statistics."""
    results: list[Restored] = []

    async def work(kurz: "Kurz") -> None:
        from kurz.archiving import open_archive

        archived = await open_archive(kurz)
        await note(kurz, "restore-archive", f"file {file}", codes=code or [], foreign=foreign)
        async for result in archived.restore(
            file, code or (), expires, is_foreign=foreign, own_hosts=own_hosts(kurz)
        ):
            kept = replace(result, entry=_without_days(result.entry))
            results.append(kept)  # one by one: the restore may be interrupted

    try:
        with_kurz(data_dir, work)
    except KurzError:
        if results:  # before it was cut off
            _tell(results, as_json=as_json)
        raise
    _tell(results, as_json=as_json)
    if any(isinstance(it.result, Obstacle) for it in results):
        raise typer.Exit(1)


def _tell(results: Sequence["Restored"], *, as_json: bool) -> None:
    if as_json:
        output.print_json({"links": [_outcome(it) for it in results]})
    else:
        _print_results(results)


def _print_results(results: Sequence["Restored"]) -> None:
    for it in results:
        if isinstance(it.result, Obstacle):
            why = f": {output.printable(it.detail)}" if it.detail else ""
            what, colour = f"not restored: {_REASONS[it.result]}{why}", "yellow"
        else:
            what, colour = "restored", "green"
        typer.echo(f"{_name(it.entry)}  {typer.style(what, fg=colour)}")
    done = sum(not isinstance(it.result, Obstacle) for it in results)
    output.print_hint(f"{done:,} of {len(results):,} restored")


def _outcome(restored: "Restored") -> dict[str, Any]:
    is_back = not isinstance(restored.result, Obstacle)
    return {
        "short_code": restored.entry.archived.link.short_code,
        "workspace": restored.entry.workspace,
        "outcome": "restored" if is_back else "conflict",
        "reason": None if is_back else str(restored.result),
        "detail": restored.detail,
    }


def _without_days(entry: "Entry") -> "Entry":
    """Only what is shown: a thousand links with all their counts would not fit into memory."""
    return replace(entry, archived=replace(entry.archived, days=()))


def _view(entry: "Entry") -> dict[str, Any]:
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


def _name(entry: "Entry") -> str:
    """As it stood behind the host."""
    code = entry.archived.link.short_code
    return output.printable(f"/@{entry.workspace}/{code}" if entry.workspace else f"/{code}")


def _day(instant: datetime | None) -> str:
    return "" if instant is None else f"{instant:%Y-%m-%d}"
