"""`kurz admin reports …`: reports of abuse, and decisions about them."""

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kurz.cli import output
from kurz.cli.links import command
from kurz.cli.session import AsJson, DataDir, with_kurz
from kurz.links.errors import FieldRefused
from kurz.safety.abuse_reports import ReportState
from kurz.safety.audit import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kurz.safety.abuse_reports import AbuseReport
    from kurz.wiring.core import Kurz

ReportId = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, help="The report's number, as shown by `list`.")
]
Note = Annotated[str | None, typer.Option(help="Note for administrators.")]

reports = typer.Typer(name="reports", help="Review abuse reports.", invoke_without_command=True)


@reports.callback()
def default(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Review abuse reports. Without a command, lists the open ones."""
    if context.invoked_subcommand is None:
        list_reports(ReportState.OPEN, 50, as_json, data_dir)
    elif as_json or data_dir:  # otherwise it might be about other reports
        raise FieldRefused(
            f"Put options after the command: kurz admin reports {context.invoked_subcommand} …"
        )


@reports.command("list")
def list_reports(
    state: Annotated[
        ReportState, typer.Option(help="Only reports in this state.")
    ] = ReportState.OPEN,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of reports.")] = 50,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List reports: open ones oldest first, decided ones newest first."""

    async def work(kurz: "Kurz") -> "tuple[Sequence[AbuseReport], int, datetime]":
        return *await kurz.abuse.page(state, limit=limit), kurz.clock.now()

    found, total, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json({"reports": [_view(report) for report in found], "total": total})
        return
    if not found:
        output.print_hint(f"There are no reports with the state “{state}”.")
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
    output.print_table(("number", "reported", "category", "link", "destination"), rows)
    output.print_hint(f"{len(found)} of {total:,} {state} reports")
    if state is ReportState.OPEN:
        first = str(found[0].id)
        output.print_hint("Show one: " + command(data_dir, "admin", "reports", "show", first))


@reports.command()
def show(report: ReportId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Show a report with its message and the link's destination."""

    async def work(kurz: "Kurz") -> "tuple[AbuseReport, datetime]":
        return await kurz.abuse.get(report), kurz.clock.now()

    found, now = with_kurz(data_dir, work)
    if as_json:
        output.print_json(_view(found))
        return
    _print(found, now)
    if found.state is ReportState.OPEN:
        number = str(found.id)
        output.print_hint(
            "Ban the link: " + command(data_dir, "admin", "reports", "uphold", number)
        )
        output.print_hint(
            "Keep the link: " + command(data_dir, "admin", "reports", "dismiss", number)
        )


@reports.command()
def uphold(
    report: ReportId,
    ban_host: Annotated[
        bool, typer.Option("--ban-host", help="Also ban the host of the link's destination.")
    ] = False,
    note: Note = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Uphold a report: ban the link and close all its open reports."""

    async def work(kurz: "Kurz") -> "AbuseReport":
        return await kurz.abuse.uphold(report, note, OPERATOR, bans_host=ban_host)

    found = with_kurz(data_dir, work)
    also = ", and so is the host of its destination" if ban_host else ""
    output.print_result(_view(found), f"{found.short_url} is banned{also}.", as_json=as_json)


@reports.command()
def dismiss(
    report: ReportId, note: Note = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Dismiss a report: the link stays as it is."""

    async def work(kurz: "Kurz") -> "AbuseReport":
        return await kurz.abuse.dismiss(report, note, OPERATOR)

    found = with_kurz(data_dir, work)
    sentence = f"Report {found.id} was dismissed. {found.short_url} stays as it is."
    output.print_result(_view(found), sentence, as_json=as_json)


def _view(report: "AbuseReport") -> dict[str, Any]:
    hidden = ("reporter", "link_id")
    return {name: value for name, value in asdict(report).items() if name not in hidden}


def _print(report: "AbuseReport", now: datetime) -> None:
    rows = [
        ("report", str(report.id)),
        ("state", report.state),
        ("link", report.short_url),
        ("destination", report.location),
        ("reported", output.relative(report.reported_at, now)),
        ("category", report.category),
        ("message", report.message),
        ("contact", report.contact),
        ("decided", report.decided_at and output.relative(report.decided_at, now)),
        ("note", report.note),
    ]
    output.print_fields(
        [
            (label, "\n".join(output.printable(line) for line in text.split("\n")))
            for label, text in rows
            if text
        ]
    )
