"""Sums of days, and stored sums of whole months. A year of a busy workspace takes a fifth of a
second to add up day by day, and most of it never changes again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import NamedTuple

import msgspec

from kurz.clicks import counts, folding
from kurz.clicks.counts import MAX_OF_MANY, Of
from kurz.clicks.series import Day, Hours
from kurz.clock import EPOCH

# A month is added up when it ended this many days ago: clicks are usually loaded within seconds.
# Clicks that are loaded later are noted in `late_clicks`. This starts a day earlier, because a
# batch that began before that day is counted by then.
CLOSED_DAYS = 2
NOTED_DAYS = CLOSED_DAYS - 1

_decode = msgspec.json.Decoder(dict[str, int]).decode
_decode_hours = msgspec.json.Decoder(dict[int, list[int]]).decode
_PEOPLE_AT = [f"{Of.PEOPLE_AT_HOUR}{hour:02}" for hour in range(24)]
_BOTS_AT = [f"{Of.BOTS_AT_HOUR}{hour:02}" for hour in range(24)]
_HOURS = (*_PEOPLE_AT, *_BOTS_AT)


class Sum(NamedTuple):
    """Days, added up."""

    clicks: int
    counts: dict[str, int]
    hours: Mapping[int, Hours]


class Month(NamedTuple):
    """The stored sum of a subject's month; `counts` and `hours` are JSON. `clicks` shows whether it
    is up to date: every change of a day adds a click."""

    first_day: int  # since 1970, UTC
    clicks: int
    counts: bytes
    hours: bytes


def month_of(day: int) -> range:
    """The days of the month that contains this one."""
    first = (EPOCH + timedelta(days=day)).date().replace(day=1)
    return range(_number(first), _number((first + timedelta(days=31)).replace(day=1)))


def first_open_day(today: int, days: int = CLOSED_DAYS) -> int:
    """All months before that day ended at least this many days ago."""
    return month_of(today - days).start


def months_of(days: range) -> list[range]:
    """The whole months in a stretch of days."""
    found: list[range] = []
    start = days.start
    while start < days.stop:
        month = month_of(start)
        if month.start >= days.start and month.stop <= days.stop:
            found.append(month)
        start = month.stop
    return found


def without(days: range, months: Iterable[range]) -> Iterator[range]:
    """The rest of a stretch of days without these months; the months are in order."""
    start = days.start
    for month in months:
        if start < month.start:
            yield range(start, month.start)
        start = month.stop
    if start < days.stop:
        yield range(start, days.stop)


def clicks_by_month(days: Iterable[Day]) -> dict[int, int]:
    """By the first day of each month; `days` are in order."""
    by_month = groupby(days, key=lambda day: month_of(day.day).start)
    return {first: sum(day.clicks for day in of) for first, of in by_month}


def touches(row: Day, days: range) -> bool:
    """Whether any day of the row is among these."""
    if row.month is None:
        return row.day in days
    month = month_of(row.day)
    return month.start < days.stop and days.start < month.stop


def covered(rows: Iterable[Day], days: range) -> range:
    """These days, and all days of the folded months that touch them."""
    for row in rows:
        if row.month is not None and touches(row, days):
            month = month_of(row.day)
            days = range(min(days.start, month.start), max(days.stop, month.stop))
    return days


def add_up(rows: Iterable[Day], counted: range | None = None) -> Sum:
    """`rows` have their counts. `counted`: only rows that touch these days are added up, but the
    hours of all are known."""
    total: dict[str, int] = {}
    hours: dict[int, Hours] = {}
    clicks = 0
    for row in folding.with_added(rows):
        is_counted = counted is None or touches(row, counted)
        if row.month is None:
            table = _decode(row.counts)
            pop = table.pop
            _add_hours(hours, row.day, [pop(key, 0) for key in _HOURS])
        else:
            table = folding.unpack_counts(row.month) if is_counted else {}
            for each in folding.unpack(row.day, row.month):
                _add_hours(hours, each.day.day, each.hours)
        if is_counted:
            clicks += row.clicks
            _add(total, table)
    return Sum(clicks, total, hours)


def fold(rows: Sequence[Day]) -> Day:
    """One row for the rows of a month; one of them may be that of the month so far."""
    days = folding.spread(rows)
    found = add_up(rows)
    counts.merge(found.counts, {}, MAX_OF_MANY)
    first = month_of(days[0].day).start
    clicks, people, visitors = (
        sum(numbers) for numbers in zip(*(it[1:4] for it in days), strict=True)
    )
    month = folding.pack(first, days, found.hours, found.counts)
    return Day(first, clicks, people, visitors, b"{}", month)


def merge(sums: Iterable[Sum]) -> dict[str, int]:
    total: dict[str, int] = {}
    for found in sums:
        _add(total, found.counts)
    return total


def pack(first_day: int, days: Sequence[Day]) -> Month:
    """`days` are those of the month, with their counts. The sum is capped like a day."""
    found = add_up(days)
    counts.merge(found.counts, {}, MAX_OF_MANY)
    encode = msgspec.json.encode
    return Month(first_day, found.clicks, encode(found.counts), encode(found.hours))


def unpack(month: Month) -> Sum:
    return Sum(month.clicks, _decode(month.counts), _decode_hours(month.hours))


def _add_hours(hours: dict[int, Hours], day: int, more: Hours) -> None:
    known = hours.get(day)
    hours[day] = more if known is None else [*map(sum, zip(known, more, strict=True))]


def _add(total: dict[str, int], table: Mapping[str, int]) -> None:
    get = total.get
    for key, count in table.items():
        total[key] = get(key, 0) + count


def _number(day: date) -> int:
    return (day - EPOCH.date()).days
