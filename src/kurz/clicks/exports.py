"""Stats as files: CSV for spreadsheets, JSON for programs."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from kurz.clicks.click import ClickRow, name
from kurz.clicks.periods import Interval, Period
from kurz.clicks.stats import About, Stats, StatsReport
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import to_micros
from kurz.links.cells import disarm


class StatsFormat(StrEnum):
    CSV = "csv"
    JSON = "json"


class What(StrEnum):
    SERIES = "series"
    BREAKDOWNS = "breakdowns"
    EVENTS = "events"


MEDIA_TYPES = {StatsFormat.CSV: "text/csv; charset=utf-8", StatsFormat.JSON: "application/json"}
_SERIES = ("start", "clicks", "people", "bots", "daily_visitors")
_BREAKDOWNS = ("breakdown", "value", "clicks")
OTHER, UNKNOWN = "(other)", "(unknown)"

_Row = Sequence[object]


def write_series(report: StatsReport, format: StatsFormat) -> bytes:  # noqa: A002  the word of the product
    has_days = report.interval is not Interval.HOUR
    rows = [
        (it.start, it.people + it.bots, it.people, it.bots, it.daily_visitors if has_days else None)
        for it in report.points
    ]
    return _whole(_SERIES, rows, format)


def write_breakdowns(report: StatsReport, format: StatsFormat) -> bytes:  # noqa: A002
    """All clicks of each kind are in it: those of unnamed values come at its end."""
    rows = []
    for title, found in report.breakdowns.items():
        rows += [(title, *item) for item in found.values]
        rows += [(title, OTHER, found.other)] if found.other else []
        rows += [(title, UNKNOWN, found.unknown)] if found.unknown else []
    return _whole(_BREAKDOWNS, rows, format)


async def write_events(
    stats: Stats,
    about: About,
    period: Period,
    format: StatsFormat,  # noqa: A002
) -> AsyncIterator[bytes]:
    """Part by part, so any number of clicks takes the same memory and the event loop is never
    blocked for long."""
    start, end = to_micros(period.start), to_micros(period.end)
    yield _head(ClickRow._fields, format)
    is_first = True
    async for events in stats.store.events(about, _days(period)):
        inside = [event for event in events if start <= event.at_micros < end]
        if inside:
            rows = await name(inside, about, stats.store)
            yield _lines(ClickRow._fields, rows, format, is_first=is_first)
            is_first = False
    yield _foot(format)


def _days(period: Period) -> range:
    """The whole period, to the microsecond."""
    start, end = to_micros(period.start), to_micros(period.end)
    return range(start // DAY_MICROS, -(-end // DAY_MICROS))


def _whole(fields: Sequence[str], rows: Sequence[_Row], format: StatsFormat) -> bytes:  # noqa: A002
    lines = _lines(fields, rows, format, is_first=True)
    return _head(fields, format) + lines + _foot(format)


def _head(fields: Sequence[str], format: StatsFormat) -> bytes:  # noqa: A002
    return b"[" if format is StatsFormat.JSON else ",".join(fields).encode() + b"\r\n"


def _foot(format: StatsFormat) -> bytes:  # noqa: A002
    return b"\n]\n" if format is StatsFormat.JSON else b""


def _lines(
    fields: Sequence[str],
    rows: Iterable[_Row],
    format: StatsFormat,  # noqa: A002
    *,
    is_first: bool,
) -> bytes:
    if format is StatsFormat.JSON:
        items = [dict(zip(fields, map(_plain, row), strict=True)) for row in rows]
        text = ",\n".join(json.dumps(item, ensure_ascii=False) for item in items)
        return ("\n" if is_first else ",\n").encode() + text.encode() if items else b""
    page = io.StringIO(newline="")
    csv.writer(page).writerows([_cell(_plain(value)) for value in row] for row in rows)
    return page.getvalue().encode()


def _plain(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    return value.isoformat().replace("+00:00", "Z")


def _cell(value: object) -> object:
    """Referrers and names of bots come from strangers."""
    return disarm(value) if isinstance(value, str) else value
