"""The `kurz` command: its subcommands, and how errors end it."""

import sys
from typing import Annotated

import typer

import kurz
from kurz.cli import doctor, links, serve
from kurz.errors import Kind, KurzError, SchemaOutdated, SettingRefused

# What a script can tell apart: 2 is wrong usage; 69 and 78 are "unavailable" and "config" of
# sysexits.h.
EXIT_CODES = {
    Kind.INVALID: 2,
    Kind.NOT_FOUND: 3,
    Kind.CONFLICT: 4,
    Kind.GONE: 5,
    Kind.UNAUTHENTICATED: 6,
    Kind.FORBIDDEN: 6,
    Kind.LIMITED: 7,
    Kind.UNAVAILABLE: 69,
}
EXIT_CONFIG = 78

app = typer.Typer(
    name="kurz",
    help="kurz, a self-hosted URL shortener.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
serve.register(app)
links.register(app)
doctor.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kurz {kurz.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """kurz, a self-hosted URL shortener."""


def main() -> None:
    try:
        app()
    except KurzError as error:
        typer.echo(f"kurz: {error.detail}", err=True)
        is_config = isinstance(error, (SettingRefused, SchemaOutdated))
        sys.exit(EXIT_CONFIG if is_config else EXIT_CODES[error.kind])
    except BrokenPipeError:  # `kurz list | head`
        sys.stderr.close()
        sys.exit(0)
