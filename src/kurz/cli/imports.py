"""`kurz admin allow-imports` and `limit-imports`: who may import large files over the API."""

from typing import TYPE_CHECKING

import typer

from kurz.cli.session import DataDir, Email, note, with_kurz

if TYPE_CHECKING:
    from pathlib import Path

    from kurz.wiring.core import Kurz


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
    async def work(kurz: "Kurz") -> tuple[str, int]:
        from kurz.links.imports import ImportLimits

        account = await kurz.accounts.get_by_email(email)
        await note(kurz, "edit-account", f"account {account.id}", may_import_many=may_import_many)
        account = await kurz.accounts.set_imports(account.id, may_import_many=may_import_many)
        settings = kurz.settings
        limits = ImportLimits(settings.limit_import_rows, settings.limit_import_rows_allowed)
        return account.email, limits.rows_of(account)

    stored_email, rows = with_kurz(data_dir, work)
    typer.echo(f"{stored_email} can import up to {rows:,} rows from one file.")
