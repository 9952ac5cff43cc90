"""The `kurz` command: its subcommands, and how errors end it."""

import io
import os
import sys
from typing import Annotated

import typer

import kurz
from kurz.cli import (
    admin,
    archive,
    backup,
    checks,
    completion,
    doctor,
    links,
    qr,
    serve,
    stats,
    transfer,
    trash,
)
from kurz.errors import Kind, KurzError, SchemaOutdated, SettingRefused
from kurz.terminals import wants_colours

# Exit codes for scripts: 2 is wrong usage; 69, 74 and 78 are "unavailable", "I/O error" and
# "config" of sysexits.h.
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
EXIT_OUTPUT = 74

app = typer.Typer(
    name="kurz",
    help="kurz, a self-hosted URL shortener.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for group in (
    *(
        module.commands
        for module in (serve, links, checks, stats, transfer, qr, doctor, completion)
    ),
    trash.trash,
    archive.archive,
    backup.backup,
    admin.admin,
):
    app.add_typer(group)


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
    _prepare_terminal()
    try:
        code = app(standalone_mode=False, color=_color())
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)
    except KurzError as error:
        _fail(error.detail)
        is_config = isinstance(error, (SettingRefused, SchemaOutdated))
        sys.exit(EXIT_CONFIG if is_config else EXIT_CODES[error.kind])
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        hint = f" See `{context.command_path} --help`." if context else ""
        sentence = " ".join(error.format_message().split())
        _fail(sentence + ("" if sentence.endswith((".", "?")) else ".") + hint)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except SystemExit as leaving:
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        _leave_quietly()  # typer makes a failure of it
    except BrokenPipeError:
        _leave_quietly()
    except OSError as error:
        _discard_output()
        _fail(f"The output cannot be written: {error.strerror}.")
        sys.exit(EXIT_OUTPUT)


def _prepare_terminal() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a character that cannot be encoded is shown as ?
            stream.reconfigure(errors="replace")
    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError:
        _fail("An argument is not valid text in the terminal's encoding.")
        sys.exit(EXIT_CODES[Kind.INVALID])


def _leave_quietly() -> None:
    """`kurz list | head`: the reader has ended, which is not an error."""
    _discard_output()
    sys.exit(0)


def _discard_output() -> None:
    """Discards the last flush of the interpreter."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str) -> None:
    text = f"{typer.style('kurz:', fg='red', bold=True)} {sentence}"
    typer.echo(text, err=True, color=_color())


def _color() -> bool | None:
    """False where nobody wants colours; None: wherever there is a terminal."""
    return None if wants_colours() else False
