"""How a report looks in a terminal: numbers, a chart and breakdowns. In a pipe, the chart is a
table."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta

import typer

from kurz.cli import output
from kurz.cli.transfer_output import opened_output
from kurz.clicks.breakdowns import Breakdown, Value
from kurz.clicks.exports import StatsFormat, write_series
from kurz.clicks.periods import Interval
from kurz.clicks.series import Point
from kurz.clicks.stats import StatsReport, TopLinks
from kurz.clock import EPOCH

SHOWN = 5  # values of each breakdown
HEIGHT = 6  # lines of a chart
WIDEST_COLUMN = 3
BAR = 20
NARROWEST = 8  # characters that a value keeps
ACCENT = (255, 90, 31)
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_LABELS = {
    Interval.HOUR: "%Y-%m-%d %H:%M",
    Interval.DAY: "%Y-%m-%d",
    Interval.WEEK: "%Y-%m-%d",
    Interval.MONTH: "%Y-%m",
}
_BREAKDOWNS = ("countries", "referrers", "browsers", "devices")


def print_report(title: str, report: StatsReport, addresses: Mapping[int, str]) -> None:
    period, label = report.period, _LABELS[Interval.HOUR]
    typer.secho(output.printable(title), bold=True)
    typer.secho(f"{period.start:{label}} to {period.end:{label}}, {period.zone}", dim=True)
    typer.echo()
    _print_numbers(report)
    if not report.numbers.clicks:
        output.print_hint("No clicks in this period.")
        return
    typer.echo()
    _print_series(report)
    if report.days != period.days_for_breakdowns:
        first, last = (EPOCH + timedelta(days=day) for day in (report.days[0], report.days[-1]))
        output.print_hint(
            "Older breakdowns are stored by month. The breakdowns below cover"
            f" {first:%Y-%m-%d} to {last:%Y-%m-%d}."
        )
    if report.top_links is not None and report.top_links.links:
        _print_links(report.top_links, addresses)
    for name in _BREAKDOWNS:
        _print_breakdown(name, report.breakdowns[name])
    output.print_hint("For all data, add --json or --csv FILE.")


def write_csv(report: StatsReport, file: str) -> None:
    with opened_output(file) as target:
        target.write(write_series(report, StatsFormat.CSV))
    if file != "-":
        output.print_hint(f"{len(report.points):,} lines in {file}")


def _print_numbers(report: StatsReport) -> None:
    numbers, before = report.numbers, report.previous
    rows = [
        ("clicks", f"{numbers.clicks:,}"),
        ("people", f"{numbers.people:,}"),
        ("bots", f"{numbers.bots:,}"),
        ("visitors", f"{numbers.daily_visitors:,}  (sum of daily visitors)"),
    ]
    if before is not None and before[1].clicks:
        change = (numbers.clicks - before[1].clicks) / before[1].clicks
        rows[0] = ("clicks", f"{numbers.clicks:,}  ({change:+.0%} from the previous period)")
    if report.deviation_ms is not None:
        mean = f"{report.latencies.mean:.2f} ms ± {report.deviation_ms:.2f}"
        number = report.latencies.number
        word = "redirect" if number == 1 else "redirects"
        rows.append(("redirect", f"{mean}  (mean of {number:,} {word})"))
    for label, text in rows:
        typer.echo(typer.style(f"{label:<10}", dim=True) + text)


def _print_series(report: StatsReport) -> None:
    label = _LABELS[report.interval]
    if _is_terminal():
        for line in chart(report.points, shutil.get_terminal_size().columns):
            typer.echo(line)
        first, last = report.points[0].start, report.points[-1].start
        text = f"people by {report.interval}, {first:{label}} to {last:{label}}"
        typer.secho(text, dim=True)
    else:
        rows = [
            (f"{point.start:{label}}", f"{point.people}", f"{point.bots}")
            for point in report.points
        ]
        output.print_table((report.interval, "people", "bots"), rows)
    typer.echo()


def chart(points: Sequence[Point], columns: int) -> list[str]:
    """Columns of people. If there is no space for all, one column shows the highest of several."""
    highest = max(point.people for point in points)
    margin = len(f"{highest:,}") + 1
    room = max(columns - margin - 1, 10)
    together = -(-len(points) // room)
    numbers = [
        max(point.people for point in points[at : at + together])
        for at in range(0, len(points), together)
    ]
    width = min(room // len(numbers), WIDEST_COLUMN)
    lines = []
    for line in range(HEIGHT - 1, -1, -1):
        eighths = [round(number / max(highest, 1) * HEIGHT * 8) - line * 8 for number in numbers]
        cells = [_EIGHTHS[min(max(part, 0), 8)] for part in eighths]
        drawn = "".join(cell * max(width - 1, 1) + " " * (width > 1) for cell in cells)
        side = f"{highest:,}" if line == HEIGHT - 1 else "0" if line == 0 else ""
        lines.append(f"{side:>{margin - 1}} {drawn}".rstrip())
    return lines


def _print_links(top: TopLinks, addresses: Mapping[int, str]) -> None:
    values = [Value(addresses[item.link.id], item.clicks) for item in top.links]
    _print_breakdown("links", Breakdown(values, top.other + top.gone, 0))


def _print_breakdown(name: str, found: Breakdown) -> None:
    total = found.clicks
    if not total:
        return
    named = found.values[:SHOWN]
    other = found.other + sum(item.clicks for item in found.values[SHOWN:])
    rows = [Value(output.printable(item.value), item.clicks) for item in named]
    if other:
        rows.append(Value("other", other))
    if found.unknown:
        none = "direct / none" if name == "referrers" else "unknown"
        rows.append(Value(none, found.unknown))
    width = max(len(row.value) for row in rows)
    digits = max(len(f"{row.clicks:,}") for row in rows)
    longest_bar = 0
    if _is_terminal():
        room = shutil.get_terminal_size().columns - digits - len("      100%")
        width = min(width, max(room, NARROWEST))
        longest_bar = min(BAR, room - width - 2)
    typer.secho(name, dim=True)
    for row in rows:
        value = row.value
        if len(value) > width:  # links differ at their ends
            value = "…" + value[1 - width :] if name == "links" else value[: width - 1] + "…"
        share = row.clicks / total
        line = f"  {value:<{width}}  {row.clicks:>{digits},}  {share:4.0%}"
        if longest_bar > 0:
            line += "  " + typer.style("█" * max(round(share * longest_bar), 1), fg=ACCENT)
        typer.echo(line)
    typer.echo()


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()
