"""The period of a report, and its intervals. Clicks are counted by hours of UTC; an hour belongs to
the interval in which it begins."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from zoneinfo import ZoneInfo

from kurz.clicks.errors import PeriodRefused
from kurz.clock import EPOCH

DEFAULT_DAYS = 30
MAX_DAYS = 5 * 366
MAX_DAYS_OF_HOURS = 31
MAX_LENGTH = 40  # of a date, an instant or a zone
_YEARS = range(1971, 9999)  # so that a step before or after is still valid
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_DATE_LENGTH = len("2026-W45-1")  # other spellings of a date would be read as its midnight
# Neither the server's zone nor zones that count leap seconds, which systems also have.
_ZONE = re.compile(r"(?!localtime$|right/)[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}")


class Interval(StrEnum):
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"  # from Monday
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` up to, not including, `end`; both are of `zone`. `today` is the current day of
    UTC, since 1970, if it is in the period: there is nothing after it yet."""

    start: datetime
    end: datetime
    zone: tzinfo
    today: int | None = None

    @property
    def hours(self) -> range:
        """The hours that begin in it, since 1970."""
        return range(_whole_hours(self.start), _whole_hours(self.end))

    @property
    def days(self) -> range:
        """All days of UTC that it touches, since 1970."""
        hours = self.hours
        return range(hours.start // 24, -(-hours.stop // 24))

    @property
    def days_for_breakdowns(self) -> range:
        """The days of UTC whose noon is in it: every day of any zone has one. A period without a
        noon has the days that it touches. A period that includes now also has today."""
        hours = self.hours
        found = range((hours.start + 11) // 24, (hours.stop + 11) // 24)
        if not found:
            return self.days
        return found if self.today is None else range(found.start, max(found.stop, self.today + 1))

    def previous(self) -> "Period":
        """The same number of days before it, or the same time if it has no whole days."""
        length = self.end.astimezone(UTC) - self.start.astimezone(UTC)
        start, end = self.start.replace(tzinfo=None), self.end.replace(tzinfo=None)
        if start.time() == end.time() == time():
            return Period((start - (end - start)).replace(tzinfo=self.zone), self.start, self.zone)
        earlier = (self.start.astimezone(UTC) - length).astimezone(self.zone)
        return Period(earlier, self.start, self.zone)

    def choose_interval(self) -> Interval:
        """The interval with a readable number of points."""
        length = self.end - self.start
        if length <= 2 * _DAY:
            return Interval.HOUR
        if length <= 92 * _DAY:
            return Interval.DAY
        return Interval.WEEK if length <= 2 * 366 * _DAY else Interval.MONTH


class Pieces:
    """The intervals of a period. `starts` follow the calendar: the first and the last may be only
    partly in the period."""

    def __init__(self, starts: Sequence[datetime], hours: Sequence[int]) -> None:
        self.starts = starts
        self._hours = hours

    def number_of(self, hour: int) -> int:
        """The interval of that hour, if it is in the period."""
        return bisect_right(self._hours, hour) - 1


def cut(period: Period, interval: Interval) -> Pieces:
    """Splits it at hours, or at days, weeks or months of its zone."""
    if interval is not Interval.HOUR:
        starts = _starts(period, interval)
        return Pieces(starts, [_whole_hours(start) for start in starts])
    hours = period.hours
    if len(hours) > MAX_DAYS_OF_HOURS * 24 + 1:  # one night of the year has an hour twice
        raise PeriodRefused(
            f"Hours are available for periods of up to {MAX_DAYS_OF_HOURS} days. Choose a"
            " shorter period or another interval.",
            field="interval",
        )
    return Pieces([(EPOCH + hour * _HOUR).astimezone(period.zone) for hour in hours], hours)


def leave_whole(period: Period) -> Pieces:
    return Pieces([period.start], [period.hours.start])


def read_period(now: datetime, start: str | None, end: str | None, zone: str | None) -> Period:
    """Dates such as 2026-03-31 are whole days, including the last one; instants without an offset
    are in the zone. The default is the last 30 days, including the current hour."""
    place = read_zone(zone)
    if end is None:
        last = EPOCH + ((now - EPOCH) // _HOUR + 1) * _HOUR
    else:
        last = _read(end, place, "to", is_end=True)
    if start is None:
        last_day = (last - _HOUR).astimezone(place).date()
        first = _midnight(last_day - (DEFAULT_DAYS - 1) * _DAY, place)
    else:
        first = _read(start, place, "from", is_end=False)
    if first >= last:
        raise PeriodRefused("`from` must be before `to`.", field="from")
    if last - first > MAX_DAYS * _DAY:
        raise PeriodRefused(f"A period can have at most {MAX_DAYS} days.", field="from")
    today = (now - EPOCH).days if first <= now < last else None
    period = Period(first.astimezone(place), last.astimezone(place), place, today)
    if not period.hours:
        raise PeriodRefused(
            "Clicks are counted by the hour, and no hour starts in this period. Choose a"
            " longer one.",
            field="from",
        )
    return period


def last_days(now: datetime, days: int, zone: str | None) -> str:
    """The `from` of this many days, including today."""
    return str(now.astimezone(read_zone(zone)).date() - (days - 1) * _DAY)


def last_hours(now: datetime, length: timedelta) -> str:
    """The `from` of this much time up to now, with its first hour complete."""
    return (EPOCH + (now - length - EPOCH) // _HOUR * _HOUR).isoformat()


def read_zone(name: str | None) -> tzinfo:
    """By its IANA name, such as Europe/Berlin."""
    if name in (None, "UTC"):  # which exists even without a database of zones
        return UTC
    if len(name) <= MAX_LENGTH and _ZONE.fullmatch(name):
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):  # for example the name of a folder
            pass
    raise PeriodRefused(
        "`zone` must be the name of a time zone, such as Europe/Berlin.", field="zone"
    )


def _read(text: str, zone: tzinfo, field: str, *, is_end: bool) -> datetime:
    try:
        if _DATE.fullmatch(text):
            day = date.fromisoformat(text)
            found = _midnight(day + _DAY if is_end else day, zone)
        elif len(text) > _MAX_DATE_LENGTH:
            found = datetime.fromisoformat(text)
            if found.tzinfo is None:
                found = found.replace(tzinfo=zone)
        else:
            raise ValueError(text)
        if found.year in _YEARS:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise PeriodRefused(
        f"`{field}` must be a date or time, such as 2026-03-31 or 2026-03-31T18:00:00Z, in a"
        f" year from {_YEARS[0]} to {_YEARS[-1]}.",
        field=field,
    )


def _starts(period: Period, interval: Interval) -> list[datetime]:
    day = period.start.date()
    if interval is Interval.WEEK:
        day -= day.weekday() * _DAY
    elif interval is Interval.MONTH:
        day = day.replace(day=1)
    starts = []
    # Within a zone, Python compares local times; a day may begin at one o'clock.
    end = period.end.astimezone(UTC)
    while (start := _midnight(day, period.zone)).astimezone(UTC) < end:
        starts.append(start)
        if interval is Interval.MONTH:
            day = (day + 31 * _DAY).replace(day=1)
        else:
            day += _DAY if interval is Interval.DAY else 7 * _DAY
    return starts


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone)


def _whole_hours(instant: datetime) -> int:
    """The first hour that begins then or later."""
    return -((EPOCH - instant.astimezone(UTC)) // _HOUR)
