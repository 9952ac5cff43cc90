"""`kurz check`: whether a link's destination answers, now."""

import itertools
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output, values
from kurz.cli.links import EVERYTHING, Reference, find_link, view_of
from kurz.cli.reaper_output import Bar
from kurz.cli.session import AsJson, DataDir, with_kurz
from kurz.links.model import DestinationStatus

if TYPE_CHECKING:
    from kurz.safety.checks import Check, Finding
    from kurz.wiring.core import Kurz

WAIT_SECONDS = 180
POLL_SECONDS = 0.2
EXIT_NO_ANSWER = 69  # "unavailable" of sysexits.h
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SYMBOLS = {
    DestinationStatus.OK: ("✓", "green"),
    DestinationStatus.BROKEN: ("✗", "red"),
    DestinationStatus.UNKNOWN: ("?", "yellow"),
    DestinationStatus.NOT_CHECKED: ("–", "yellow"),
}
_REASONS = {
    "answered": "the site answered",
    "no-answer": "no answer",
    "no-name": "the host name no longer exists",
    "too-many-redirects": "too many redirects",
    "leads-back": "it redirects back to this server",
    "not-public": "the address is not public, so it was not requested",
    "name-servers": "the name servers did not answer",
}

commands = typer.Typer()


@commands.command()
def check(
    link: Reference,
    wait: Annotated[
        int | None,
        typer.Option(
            parser=values.seconds, metavar="TIME", help="How long to wait; 3m by default."
        ),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Check a link's destination now. The running server does it; this command waits."""

    async def work(kurz: "Kurz") -> "tuple[dict[str, Any], Check | None, datetime]":
        found = await find_link(kurz, link)
        seconds = WAIT_SECONDS if wait is None else wait
        last = await _ask(kurz, kurz.links.public_id(found), seconds)
        return await view_of(kurz, await find_link(kurz, link)), last, kurz.clock.now()

    item, last, now = with_kurz(data_dir, work)
    if last is None:
        output.print_hint(
            "No result yet. A site is requested at most once a minute, and only while kurz is"
            " running. The check stays scheduled; see the result with `kurz show`."
        )
        raise typer.Exit(EXIT_NO_ANSWER)
    if as_json:
        output.print_json(item | {"check": _view(last)})
    else:
        _print(item, last.finding, now)
    if last.finding.result is DestinationStatus.BROKEN:
        raise typer.Exit(1)


async def _ask(kurz: "Kurz", public_id: int, seconds: float) -> "Check | None":
    """The next result; None: there was none in that time."""
    import asyncio
    import time

    from kurz.wiring.checks import open_link_checks

    checks = open_link_checks(kurz)
    before, _ = await checks.ask(public_id, EVERYTHING)
    until, frames = time.monotonic() + seconds, itertools.cycle(_FRAMES)
    with Bar() as bar:
        while time.monotonic() < until:
            link, found = await checks.last(public_id, EVERYTHING)
            if found and link.last_checked_at != before.last_checked_at:
                return found[0]
            bar.draw(0, 0, f"{next(frames)} checking {link.location}")
            await asyncio.sleep(POLL_SECONDS)
    return None


def _view(last: "Check") -> dict[str, Any]:
    finding = output.fields_of(last.finding, "result", "reason", "http_status")
    return {"checked_at": last.checked_at} | finding


def _print(item: Mapping[str, Any], finding: "Finding", now: datetime) -> None:
    symbol, colour = _SYMBOLS[finding.result]
    what = _REASONS[finding.reason]
    if finding.http_status is not None:
        what += f" with {finding.http_status}"
    typer.echo(f"{typer.style(symbol, fg=colour)} {finding.result}: {what}")
    output.print_link(item, now)
