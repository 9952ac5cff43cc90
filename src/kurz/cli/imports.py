"""`kurz admin allow-imports` and `limit-imports`: who may import large files over the API."""

from typing import TYPE_CHECKING

import typer

from kurz.cli.session import DataDir, Email, edit_account, read_settings

if TYPE_CHECKING:
    from pathlib import Path

commands = typer.Typer()


@commands.command("allow-imports")
def allow_imports(email: Email, data_dir: DataDir = None) -> None:
    """Let a user import large files. Each can have up to KURZ_LIMIT_IMPORT_ROWS_ALLOWED rows."""
    _set(email, data_dir, may_import_many=True)


@commands.command("limit-imports")
def limit_imports(email: Email, data_dir: DataDir = None) -> None:
    """Limit a user's imports again. Each file can have up to KURZ_LIMIT_IMPORT_ROWS rows."""
    _set(email, data_dir, may_import_many=False)


def _set(email: str, data_dir: "Path | None", *, may_import_many: bool) -> None:
    from kurz.links.imports import ImportLimits

    account = edit_account(email, data_dir, may_import_many=may_import_many)
    settings = read_settings(data_dir=data_dir)
    limits = ImportLimits(settings.limit_import_rows, settings.limit_import_rows_allowed)
    typer.echo(f"{account.email} can import up to {limits.rows_of(account):,} rows from one file.")
