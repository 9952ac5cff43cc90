"""`kurz export` and `kurz import`."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kurz.cli.links import OnlyWorkspace
from kurz.cli.progress import RowCounter
from kurz.cli.session import AsJson, DataDir, note, read_settings, with_kurz
from kurz.cli.transfer_output import ImportReport, opened_output
from kurz.cli.workspace_lookup import get_workspace, id_of, own_hosts
from kurz.links.model import Scope, Strategy
from kurz.links.transfers import ImportTarget, OneTarget, Summary, Targets, TransferFormat

if TYPE_CHECKING:
    from kurz.people.workspaces import Workspace
    from kurz.settings.model import Settings
    from kurz.wiring.core import Kurz

CHUNK_BYTES = 256 * 1024

FormatOption = Annotated[
    TransferFormat | None,
    typer.Option("--format", help="csv or jsonl; taken from the file name if omitted."),
]

commands = typer.Typer()


@commands.command("export")
def export_links(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to write to; - is standard output.")
    ] = "-",
    workspace: OnlyWorkspace = None,
    format_: FormatOption = None,
    with_trash: Annotated[
        bool, typer.Option("--with-trash", help="Include links in the trash.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Export links to a CSV or JSON Lines file."""
    from kurz.transfer.tuning import favour_throughput

    chosen = _format(format_, file, TransferFormat.CSV)
    favour_throughput()

    async def work(kurz: "Kurz") -> int:
        slugs = {item.id: item.slug for item in await kurz.workspaces.list_all()}
        only = None if workspace is None else (await get_workspace(kurz, workspace)).id
        with RowCounter("links") as counting, opened_output(file) as target:
            async for chunk in kurz.exporter.run(
                chosen, Scope(only), slugs, with_trash=with_trash, tell=counting.add
            ):
                target.write(chunk)
        return counting.count

    count = with_kurz(data_dir, work)
    where = "" if file == "-" else f" in {file}"
    typer.secho(f"{count:,} {'link' if count == 1 else 'links'}{where}", err=True, dim=True)


@commands.command("import")
def import_links(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to read; - is standard input.")],
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace",
            "-w",
            help="Workspace for all rows (slug or ID). If omitted, the one in each row.",
        ),
    ] = None,
    format_: FormatOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen. Writes nothing.")
    ] = False,
    report: Annotated[
        Path | None, typer.Option(help="Write the result of every row to this file, as JSON Lines.")
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Import links from a CSV or JSON Lines file."""
    from kurz.transfer.tuning import favour_throughput

    is_gzipped = file.endswith(".gz")  # like the files of the archive
    chosen = _format(format_, file.removesuffix(".gz"), None)
    source = _open(file)
    if file != "-" and report is not None and report.exists() and report.samefile(file):
        raise typer.BadParameter("--report would overwrite the file to import")
    favour_throughput()
    _prepare(read_settings(data_dir=data_dir), dry_run)

    async def work(kurz: "Kurz") -> Summary:
        targets = await _targets(kurz, workspace)
        if not dry_run:
            details = {} if workspace is None else {"workspace": workspace}
            await note(kurz, "import-links", f"file {file}", **details)
        with ImportReport(report, as_json=as_json, is_dry=dry_run) as telling:
            try:
                async for results in kurz.importer.run(
                    _chunks(source, is_gzipped=is_gzipped),
                    chosen,
                    targets,
                    own_hosts=own_hosts(kurz),
                    is_dry=dry_run,
                ):
                    telling.add(results)
            except BaseException:  # Ctrl+C too
                telling.interrupted()
                raise
        return telling.summary

    if not with_kurz(data_dir, work).is_whole:
        raise typer.Exit(1)


def _format(
    given: TransferFormat | None, file: str, default: TransferFormat | None
) -> TransferFormat:
    from kurz.transfer.format import format_of

    found = given or format_of(file) or (default if file == "-" else None)
    if found is None:
        raise typer.BadParameter("specify the format: --format csv or --format jsonl")
    return found


def _open(file: str) -> BinaryIO:
    import sys

    from kurz.transfer.errors import FileRefused

    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise FileRefused(f"{file} cannot be read: {error.strerror}.") from None


def _chunks(source: BinaryIO, *, is_gzipped: bool) -> AsyncIterator[bytes]:
    from kurz.transfer.archive_format import plain_lines

    return plain_lines(_read(source)) if is_gzipped else _read(source)


async def _read(source: BinaryIO) -> AsyncIterator[bytes]:
    import asyncio

    while chunk := await asyncio.to_thread(source.read, CHUNK_BYTES):
        yield chunk


def _prepare(settings: "Settings", dry_run: bool) -> None:
    """Creates the database if there is none. A dry run does not upgrade one."""
    import asyncio

    from kurz.wiring.engine import Engine, prepare

    if not (dry_run and Engine(settings).is_there):
        asyncio.run(prepare(settings, upgrades_postgres=False))


async def _targets(kurz: "Kurz", workspace: str | None) -> Targets:
    if workspace is None:
        return _TargetPerRow(kurz)
    return OneTarget(_target(kurz.settings, await get_workspace(kurz, workspace)))


def _target(settings: "Settings", workspace: "Workspace | None") -> ImportTarget:
    return ImportTarget(
        workspace_id=id_of(workspace),
        strategy=Strategy(settings.code_strategy if workspace is None else workspace.strategy),
        redirect_status=settings.redirect_status,
    )


class _TargetPerRow:
    """Each row goes where its `workspace` column says; without one, to the root."""

    def __init__(self, kurz: "Kurz") -> None:
        self._kurz = kurz

    async def find(self, workspace: str) -> ImportTarget | None:
        name = workspace or self._kurz.settings.root_workspace
        if not name:
            return _target(self._kurz.settings, None)
        found = await self._kurz.workspaces.find_by_slug(name.lower())
        return None if found is None else _target(self._kurz.settings, found)
