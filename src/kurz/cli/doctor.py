"""`kurz doctor`: what is configured, reachable and missing."""

import time
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.progress import TerminalLine
from kurz.cli.session import AsJson, DataDir
from kurz.settings.load import LoadedSettings, load, variable
from kurz.settings.model import fields
from kurz.settings.values import show_duration

if TYPE_CHECKING:
    from kurz.cli.finding import DoctorFinding

_SYMBOLS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}

Deep = Annotated[
    bool,
    typer.Option("--deep", help="Read all links, journals and backups, to find damage."),
]

commands = typer.Typer()


class _Steps(TerminalLine):
    """`checking links 120,000 of 480,000`, or `checking the database file  12 s`."""

    def __init__(self) -> None:
        super().__init__()
        self._what = ""
        self._started = 0.0

    def tell(self, what: str, done: int = 0, total: int = 0) -> None:
        if what != self._what:
            self._what, self._started = what, time.monotonic()
        if not self.is_due():
            return
        if total:
            self.show(typer.style(f"{what}  {_bar(done, total)}", dim=True))
        else:
            self.show(typer.style(f"{what}  {time.monotonic() - self._started:.0f} s", dim=True))


def _bar(done: int, total: int) -> str:
    share = min(done / total, 1.0)
    return f"[{'#' * round(share * 20):<20}] {share:4.0%}"


@commands.command()
def doctor(deep: Deep = False, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check what is configured, reachable and missing; with --deep, also what is stored."""
    from kurz.cli.findings import examine

    loaded = load({"data_dir": data_dir})
    findings = examine(loaded)
    if deep:
        from kurz.cli.deep_findings import examine_deeply

        with _Steps() as steps:
            findings += examine_deeply(loaded.settings, steps.tell)
    if as_json:
        output.print_json(
            {"findings": [asdict(item) for item in findings], "settings": shown(loaded)}
        )
    else:
        _print(findings, loaded)
    if any(item.verdict == "error" for item in findings):
        raise typer.Exit(1)


def shown(loaded: LoadedSettings) -> dict[str, dict[str, Any]]:
    """Every setting with its value and source; secrets are only said to be set."""
    return {
        item.name: {
            "value": "(set)"
            if item.metadata["is_secret"] and getattr(loaded.settings, item.name)
            else _plain(getattr(loaded.settings, item.name)),
            "source": loaded.sources[item.name],
        }
        for item in fields()
    }


def _print(findings: "list[DoctorFinding]", loaded: LoadedSettings) -> None:
    width = max(len(item.about) for item in findings)
    for item in findings:
        symbol, colour = _SYMBOLS[item.verdict]
        typer.echo(f"{typer.style(symbol, fg=colour)} {item.about:<{width}}  {item.says}")
    typer.echo("\nSettings that differ from their defaults:")
    differing = {name: item for name, item in shown(loaded).items() if item["source"] != "default"}
    for name, given in differing.items():
        typer.echo(f"  {variable(name):<28} {given['value']}  (from {given['source']})")
    if not differing:
        typer.echo("  none")


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, timedelta):
        return show_duration(value)
    return value if isinstance(value, (int, str, type(None))) else str(value)
