"""`kurz stats`: the numbers of a link, a tag, a workspace or of everything."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kurz.cli import output, values
from kurz.cli.session import AsJson, DataDir, with_kurz
from kurz.cli.workspace_lookup import address_of, find_workspace, id_of
from kurz.clicks.errors import PeriodRefused

if TYPE_CHECKING:
    from datetime import datetime

    from kurz.clicks.periods import Period
    from kurz.clicks.stats import About, StatsReport
    from kurz.wiring.core import Kurz

DAY_SECONDS = 86_400

commands = typer.Typer()


@commands.command()
def stats(
    link: Annotated[
        str | None,
        typer.Argument(metavar="[LINK]", help="A code, @workspace/code or a short URL."),
    ] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", help="Only this workspace (slug or ID).")
    ] = None,
    tag: Annotated[
        str | None,
        typer.Option(help="Only links with this tag, of the workspace or without an owner."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Start: a date or time, such as 2026-03-01."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="End: a date (included) or a time.")
    ] = None,
    last: Annotated[
        int | None,
        typer.Option(
            parser=values.seconds,
            metavar="TIME",
            help="Period up to now, such as 7d or 24h; 30d by default.",
        ),
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="Time zone such as Europe/Berlin; UTC by default.")
    ] = None,
    csv: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the series as CSV; - is standard output."),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show click statistics of a link, a workspace, a tag or all links."""
    from kurz.cli.stats_output import print_report, write_csv

    if last is not None and (start, end) != (None, None):
        raise PeriodRefused("Use either --last or --from and --to, not both.")
    if link is not None and (workspace, tag) != (None, None):
        raise typer.BadParameter("use either a link or --workspace and --tag, not both")
    if csv is not None and as_json:
        raise typer.BadParameter("use either --csv or --json, not both")
    if last == 0:
        raise typer.BadParameter("--last must be longer than 0")

    async def work(kurz: "Kurz") -> _Found:
        period = _period(kurz.clock.now(), start, end, last, zone)
        return await _find(kurz, *await _about(kurz, link, workspace, tag), period)

    found = with_kurz(data_dir, work, doing="Counting")
    if csv is not None:
        write_csv(found.report, csv)
    elif as_json:
        output.print_json(found.shown)
    else:
        print_report(found.title, found.report, found.addresses)


class _Found(NamedTuple):
    title: str
    report: "StatsReport"
    addresses: dict[int, str]
    shown: dict[str, Any]


async def _find(kurz: "Kurz", title: str, about: "About", period: "Period") -> _Found:
    from kurz.clicks.view import view

    report = await kurz.stats.get(about, period, compares=True)
    top = () if report.top_links is None else report.top_links.links
    addresses = {item.link.id: await address_of(kurz, item.link) for item in top}
    shown = view(report, kurz.links, lambda link: addresses[link.id])
    return _Found(title, report, addresses, shown)


async def _about(
    kurz: "Kurz", link: str | None, workspace: str | None, tag: str | None
) -> "tuple[str, About]":
    """The subject, in words and for a report."""
    from kurz.clicks.stats import EVERYTHING, about_link, about_space
    from kurz.links.model import space_of

    if link is not None:
        _, slug, code = values.reference(link)
        found = await kurz.links.get_by_code(id_of(await find_workspace(kurz, slug)), code)
        space = space_of(found.workspace_id, found.owner_id)
        return await address_of(kurz, found), about_link(found, space)
    if workspace is None and tag is None:
        return "All links", EVERYTHING
    place = await find_workspace(kurz, workspace)
    name = "without an owner" if place is None else f"in {place.name}"
    if tag is None:
        return f"Links {name}", about_space(id_of(place))
    return f"Links {name}, with the tag “{tag}”", await kurz.stats.about_tag(id_of(place), tag)


def _period(
    now: "datetime", start: str | None, end: str | None, last: int | None, zone: str | None
) -> "Period":
    from datetime import timedelta

    from kurz.clicks.periods import last_days, last_hours, read_period

    if last is not None:
        days, rest = divmod(last, DAY_SECONDS)
        is_of_days = days > 1 and not rest  # a single day is shown by its 24 hours
        length = timedelta(seconds=last)
        start = last_days(now, days, zone) if is_of_days else last_hours(now, length)
    return read_period(now, start, end, zone)
