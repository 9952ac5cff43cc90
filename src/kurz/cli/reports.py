"""`kurz admin reports …`: what people reported, and what becomes of it."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.links import command
from kurz.cli.session import AsJson, DataDir, with_kurz
from kurz.links.errors import FieldRefused
from kurz.safety.audit import OPERATOR
from kurz.safety.reports import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kurz.bootstrap import Kurz
    from kurz.safety.reports import Report

ReportId = Annotated[int, typer.Argument(metavar="NUMBER", min=1, help="As `list` shows it.")]
Note = Annotated[str | None, typer.Option(help="Why, for administrators.")]

reports = typer.Typer(
    name="reports", help="Look at reports of abuse, and decide.", invoke_without_command=True
)


def register(admin: typer.Typer) -> None:
    reports.callback()(default)
    reports.command("list")(list_reports)
    reports.command("show")(show)
    reports.command("uphold")(uphold)
    reports.command("dismiss")(dismiss)
    admin.add_typer(reports)


def default(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Look at reports of abuse, and decide. Without a command: list the open ones."""
    if context.invoked_subcommand is None:
        list_reports(State.OPEN, 50, as_json, data_dir)
    elif as_json or data_dir:  # else it might be about other reports
        raise FieldRefused(
            f"Put options behind the command: kurz admin reports {context.invoked_subcommand} …"
        )


def list_reports(
    state: Annotated[State, typer.Option(help="Which ones.")] = State.OPEN,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many.")] = 50,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List reports: open ones from the oldest on, decided ones from the latest on."""

    async def work(kurz: "Kurz") -> "tuple[Sequence[Report], int, datetime]":
        found = await kurz.abuse.store.list(state, limit=limit)
        return found, await kurz.abuse.store.count(state), kurz.clock.now()

    found, total, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"reports": [_view(report) for report in found], "total": total})
        return
    if not found:
        output.print_hint(f"No report is {state}.")
        return
    rows = [
        (
            str(report.id),
            output.relative(report.reported_at, now),
            report.category,
            report.short_url,
            report.location,
        )
        for report in found
    ]
    output.print_table(("number", "reported", "as", "link", "leads to"), rows)
    output.print_hint(f"{len(found)} of {total:,} that are {state}")
    if state is State.OPEN:
        first = str(found[0].id)
        output.print_hint("Look at one: " + command(data_dir, "admin", "reports", "show", first))


def show(report: ReportId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a report: what somebody wrote, and where the link led."""

    async def work(kurz: "Kurz") -> "tuple[Report, datetime]":
        return await kurz.abuse.get(report), kurz.clock.now()

    found, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json(_view(found))
        return
    _print(found, now)
    if found.state is State.OPEN:
        number = str(found.id)
        output.print_hint(
            "Take the link down: " + command(data_dir, "admin", "reports", "uphold", number)
        )
        output.print_hint("Leave it: " + command(data_dir, "admin", "reports", "dismiss", number))


def uphold(
    report: ReportId,
    ban_host: Annotated[
        bool, typer.Option("--ban-host", help="Ban the host too that the link led to.")
    ] = False,
    note: Note = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Agree: the link is banned, and every open report of it decided."""

    async def work(kurz: "Kurz") -> "Report":
        return await kurz.abuse.uphold(report, note, OPERATOR, bans_host=ban_host)

    found = with_kurz(data_dir, work)
    if as_json:
        output.print_json(_view(found))
        return
    also = ", and so is the host that it led to" if ban_host else ""
    typer.echo(f"{found.short_url} is banned{also}.")


def dismiss(
    report: ReportId, note: Note = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Disagree: the link stays as it is."""

    async def work(kurz: "Kurz") -> "Report":
        return await kurz.abuse.dismiss(report, note, OPERATOR)

    found = with_kurz(data_dir, work)
    if as_json:
        output.print_json(_view(found))
    else:
        typer.echo(f"Report {found.id} is dismissed; {found.short_url} stays as it is.")


def _view(report: "Report") -> dict[str, Any]:
    hidden = ("reporter", "link_id")
    return {name: value for name, value in asdict(report).items() if name not in hidden}


def _print(report: "Report", now: datetime) -> None:
    rows = [
        ("report", str(report.id)),
        ("state", report.state),
        ("link", report.short_url),
        ("led to", report.location),
        ("reported", output.relative(report.reported_at, now)),
        ("as", report.category),
        ("message", report.message),
        ("contact", report.contact),
        ("decided", report.decided_at and output.relative(report.decided_at, now)),
        ("note", report.note),
    ]
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        if text:
            lines = [output.printable(line) for line in text.split("\n")]
            indented = ("\n" + " " * (width + 2)).join(lines)
            typer.echo(typer.style(f"{label:<{width}}", dim=True) + "  " + indented)
