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
    invoke_without_command=True,
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
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback does the work
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """kurz, a self-hosted URL shortener."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError:
        _fail("An argument is not valid text in this terminal's encoding.")
        sys.exit(EXIT_CODES[Kind.INVALID])
    try:
        sys.exit(app(standalone_mode=False))
    except KurzError as error:
        _fail(error.detail)
        is_config = isinstance(error, (SettingRefused, SchemaOutdated))
        sys.exit(EXIT_CONFIG if is_config else EXIT_CODES[error.kind])
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" See `{context.command_path} --help`." if context else ""
        _fail(error.format_message().rstrip(".") + "." + hint)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except BrokenPipeError:  # `kurz list | head`
        sys.stderr.close()
        sys.exit(0)


def _fail(sentence: str) -> None:
    typer.echo(f"{typer.style('kurz:', fg='red', bold=True)} {sentence}", err=True)
