"""`kurz backup`: makes, checks and restores backups."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from kurz.cli import output
from kurz.cli.progress import TerminalLine
from kurz.cli.session import AsJson, DataDir, note, read_settings, with_kurz

if TYPE_CHECKING:
    from kurz.settings.model import Settings
    from kurz.storage.links.verifying import VerifiedLinks
    from kurz.transfer.backup.manifest import Manifest
    from kurz.wiring.backup import BackupWriter, MadeBackup
    from kurz.wiring.backup_storage import BackupTarget
    from kurz.wiring.core import Kurz

NICENESS = 10
_CREATE = "create"
_UNKNOWN = """
Everyone has to sign in again, and links to set passwords or join workspaces no longer work.
Changes that were made after the backup are lost. Check these, and repeat them if needed:
  bans of links, hosts and accounts
  API keys that were deleted, and members who were removed
  passwords and roles that were changed: the earlier ones are valid again
  links, accounts and custom domains that were deleted
  click limits: clicks after the backup are not counted"""


class _BackupGroup(TyperGroup):
    """`kurz backup FILE` means `kurz backup create FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [_CREATE, *args]
        return super().parse_args(ctx, args)


backup = typer.Typer(
    name="backup",
    cls=_BackupGroup,
    subcommand_metavar="FILE | COMMAND [ARGS]...",
    no_args_is_help=True,
    help="Back up the database, the click journals and the secret.",
)

File = Annotated[
    str, typer.Argument(metavar="FILE", help="The backup: a path, or s3://bucket/key.")
]


@backup.command(_CREATE)
def create(
    file: File,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing backup.")] = False,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable",
            help="Make it restorable to SQLite and PostgreSQL; the default on PostgreSQL.",
        ),
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Make a backup, even while the server is running. `kurz backup FILE` is the same."""
    import asyncio

    from kurz.wiring.backup import BackupWriter
    from kurz.wiring.backup_storage import open_target
    from kurz.wiring.engine import Engine
    from kurz.wiring.portable import PortableWriter

    settings = read_settings(data_dir=data_dir)
    is_portable = portable or Engine(settings).file is None
    target = open_target(settings, file, is_forced=force)
    target.check()

    async def work(kurz: "Kurz") -> "MadeBackup":
        await note(kurz, "make-backup", file)
        with _Progress() as progress:
            kind = PortableWriter if is_portable else BackupWriter
            writer = kind(settings, tell=progress.tell)
            return await asyncio.to_thread(_create_gently, writer, target, kurz.clock.now())

    made = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"file": file, "bytes": made.size, **_view(made.manifest)})
    else:
        typer.echo(f"{file}  {_size(made.size)}, checked")
        _print(made.manifest)
    if made.links is not None:
        _warn_about(made.links)


@backup.command("verify")
def verify(file: File, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check every byte of a backup, and show what it contains."""
    from kurz.wiring.backup_checking import verify_backup
    from kurz.wiring.backup_storage import open_target

    settings = read_settings(data_dir=data_dir)
    with _Progress() as progress:
        found = verify_backup(settings, open_target(settings, file), progress.tell)
    links = found.links
    if as_json:
        checked = None if links is None else links.links - links.unknown
        damaged = None if links is None else links.damaged
        view = _view(found.manifest) | {"checked_links": checked, "damaged_links": damaged}
        output.print_json({"file": file, **view})
    else:
        typer.echo(f"{file}  intact")
        _print(found.manifest)
        if links is None:
            typer.echo(f"The checksums of links were not compared: {found.skipped}.")
    if links is not None and not links.is_good:
        _warn_about(links)
        raise typer.Exit(1)


@backup.command("restore")
def restore(file: File, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Restore a backup into an empty data folder, or an empty PostgreSQL database."""
    from kurz.clock import SystemClock
    from kurz.wiring.backup_storage import open_target
    from kurz.wiring.restore import BackupRestorer

    settings = read_settings(data_dir=data_dir)
    with _Progress() as progress:
        restorer = BackupRestorer(settings, tell=progress.tell)
        manifest = restorer.restore(open_target(settings, file), SystemClock().now())
    if as_json:
        folder = str(settings.data_dir)
        output.print_json({"file": file, "data_dir": folder, **_view(manifest)})
        return
    typer.echo(f"{file}  restored to {settings.data_dir}{_with_server(settings)}")
    _print(manifest)
    typer.echo(_UNKNOWN)
    if not manifest.has_secret and settings.secret is None:
        typer.echo(
            "The backup does not contain the secret. Set KURZ_SECRET to that of the old server."
        )


def _warn_about(links: "VerifiedLinks") -> None:
    """A backup with damaged links is better than none, but somebody must know."""
    from kurz.cli.deep_findings import count, name_damaged

    if links.is_good:
        return
    if not links.has_key:
        sentence = "the key of the checksums is damaged, so the links could not be checked."
    else:
        names = "".join(f"\n  {sentence}" for sentence in name_damaged(links))
        sentence = f"this backup has {count(links.damaged, 'damaged link')}.{names}"
    hint = "Keep older backups, and run: kurz doctor --deep"
    typer.echo(f"Warning: {sentence}\n{hint}", err=True)


def is_meant(argument: str, data_dir: Path | None) -> bool:
    """Whether `kurz restore` got a backup, not a link: codes have no dots and slashes, and without
    a database there are no links."""
    if argument.startswith("s3://"):
        return True
    from kurz.wiring.engine import Engine

    try:
        is_file = Path(argument).is_file()
    except (OSError, ValueError):  # a URL that is too long for a path
        return False
    is_path = any(mark in argument for mark in "./")
    return is_file and (is_path or not Engine(read_settings(data_dir=data_dir)).is_there)


def _create_gently(writer: "BackupWriter", target: "BackupTarget", now: datetime) -> "MadeBackup":
    """A server on the same machine comes first. Not earlier: nothing is written to the database
    any more, so nobody waits for this process."""
    with suppress(OSError):
        os.nice(NICENESS)  # of this thread, and of those that it starts
    return writer.create(target, now)


class _Progress(TerminalLine):
    """`copying 120 of 480 MiB`."""

    def tell(self, what: str, done_bytes: int, total_bytes: int) -> None:
        if self.is_due():
            total = max(done_bytes, total_bytes) >> 20
            self.show(typer.style(f"{what} {done_bytes >> 20:,} of {total:,} MiB", dim=True))


def _print(manifest: "Manifest") -> None:
    rows = [
        ("created", f"{manifest.created_at:%Y-%m-%d %H:%M:%S} UTC"),
        ("content", manifest.kind),
        ("version", manifest.kurz),
        ("schema", manifest.schema),
        ("links", f"{manifest.links:,}"),
        ("accounts", f"{manifest.accounts:,}"),
        ("workspaces", f"{manifest.workspaces:,}"),
        ("clicks counted", f"{manifest.clicks:,}"),
        ("journals", f"{manifest.journals:,} ({_size(manifest.journal_bytes)})"),
        ("secret", "included" if manifest.has_secret else "not included"),
    ]
    if manifest.damaged_links:
        rows.append(("damaged links", f"{manifest.damaged_links:,}"))
    output.print_fields(rows)


def _view(manifest: "Manifest") -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.structs.asdict(manifest)
    return found


def _with_server(settings: "Settings") -> str:
    from kurz.wiring.engine import Engine

    engine = Engine(settings)
    return f" and {engine.name}" if engine.file is None else ""


def _size(number: int) -> str:
    if number < 1024**2:
        return f"{number / 1024:,.1f} KiB"
    return f"{number / 1024**2:,.1f} MiB"
