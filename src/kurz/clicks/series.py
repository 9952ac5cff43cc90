"""Numbers over time, from the stored days."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from kurz.clicks.periods import Period, Pieces

NOON = 12


class Day(NamedTuple):
    """A subject's day as it is stored; `counts` is JSON. With `month`, the row is a whole month
    (`clicks/folding`), which has the counts, and `day` is its first."""

    day: int  # since 1970, UTC
    clicks: int
    people: int
    visitors: int
    counts: bytes
    month: bytes | None = None


Hours = Sequence[int]  # people in the 24 hours of a day, then bots
NO_HOURS: Hours = (0,) * 48


class Numbers(NamedTuple):
    """`daily_visitors` is the sum over days of UTC: a visitor on two days counts twice."""

    people: int
    bots: int
    daily_visitors: int

    @property
    def clicks(self) -> int:
        return self.people + self.bots


class Point(NamedTuple):
    start: datetime
    people: int
    bots: int
    daily_visitors: int


def draw(
    days: Iterable[Day], hours_of: Mapping[int, Hours], period: Period, pieces: Pieces
) -> list[Point]:
    """A point for every interval, including those without clicks. Days that are split between
    intervals have their hours in `hours_of`."""
    hours, whole_days = period.hours, period.days_for_breakdowns
    people, bots, visitors = ([0] * len(pieces.starts) for _ in range(3))
    for day in days:
        first = day.day * 24
        inside = range(max(first, hours.start), min(first + 24, hours.stop))
        if day.day in whole_days:
            noon = min(max(first + NOON, hours.start), hours.stop - 1)
            visitors[pieces.number_of(noon)] += day.visitors
        if not inside:
            continue
        number = pieces.number_of(inside[0])
        if len(inside) == 24 and number == pieces.number_of(inside[-1]):
            people[number] += day.people
            bots[number] += day.clicks - day.people
            continue
        counts = hours_of[day.day]
        for hour in inside:
            number = pieces.number_of(hour)
            people[number] += counts[hour - first]
            bots[number] += counts[hour - first + 24]
    return [Point(*each) for each in zip(pieces.starts, people, bots, visitors, strict=True)]


def add_points(points: Sequence[Point]) -> Numbers:
    return Numbers(
        sum(point.people for point in points),
        sum(point.bots for point in points),
        sum(point.daily_visitors for point in points),
    )
