"""Reports: the numbers of a subject over a period."""

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kurz.clicks.batch import INSTALLATION, Event, Subject, SubjectKind, tag_subject
from kurz.clicks.breakdowns import LINKS, Breakdown, break_down
from kurz.clicks.folding import spread
from kurz.clicks.moments import Moments
from kurz.clicks.months import (
    Month,
    Sum,
    add_up,
    clicks_by_month,
    covered,
    merge,
    month_of,
    unpack,
    without,
)
from kurz.clicks.periods import Interval, Period, Pieces, cut, leave_whole
from kurz.clicks.series import NO_HOURS, Day, Hours, Numbers, Point, add_points, draw
from kurz.links import fields
from kurz.links.errors import TagNotFound
from kurz.links.model import Link

FEWEST_DAYS = 60  # a shorter period is read as fast day by day
AT_ONCE = 2  # reports computed at once: more would only queue for the interpreter


class About(NamedTuple):
    """What a report is about. `space` None: links of everyone."""

    subject: Subject
    space: int | None = None
    tag: str | None = None


EVERYTHING = About(INSTALLATION)


def about_link(link: Link, space: int) -> About:
    return About(Subject(SubjectKind.LINK, link.id), space)


def about_space(space: int) -> About:
    return About(Subject(SubjectKind.SPACE, space), space)


class StatsStore(Protocol):
    """Raises `StoreUnavailable` on an outage."""

    async def days(
        self, subject: Subject, days: range, *, with_counts: bool = True
    ) -> Sequence[Day]:
        """The days with clicks, in order; instead of old days, the folded months that touch the
        period. Without counts, `Day.counts` is empty."""

    async def months(self, subject: Subject, days: range) -> Sequence[Month]:
        """The stored whole months among the days, in order. One may be out of date: then its clicks
        are not the sum of its days."""

    async def totals(self, subject: Subject) -> tuple[int, Moments]:
        """The number of all clicks, and the measured latencies in ms."""

    async def links(self, link_ids: Collection[int], space: int | None) -> Mapping[int, Link]:
        """The links that exist, and are in the space if one is given."""

    async def short_codes(self, link_ids: Collection[int], space: int | None) -> Mapping[int, str]:
        """The codes of those links that exist, and are in the space if one is given."""

    async def has_tag(self, space: int, tag: str) -> bool:
        """Whether a link has it now."""

    async def newest(self, about: About, today: int, limit: int) -> Sequence[Event]:
        """The newest clicks, newest first. Only the installation's last few thousand are searched:
        a link with few visits may have none."""

    def events(self, about: About, days: range) -> AsyncIterator[Sequence[Event]]:
        """The stored clicks of these days, in the order of loading, a few hundred at a time. Each
        click that is stored when this begins comes once. Clicks that are stored later may be
        missing. A tag's clicks are those of links that have it now."""


class TopLink(NamedTuple):
    link: Link
    clicks: int


@dataclass(frozen=True, slots=True)
class TopLinks:
    """The links with most clicks by people. `gone`: clicks of links that would be among them, but
    are purged or moved."""

    links: Sequence[TopLink]
    gone: int
    other: int


@dataclass(frozen=True, slots=True)
class StatsReport:
    """`previous` has the numbers of the previous period. `breakdowns` are of `days` (UTC), each
    under its name; of folded months, all days are among them. `all_clicks` and `latencies` are of
    all time."""

    period: Period
    interval: Interval
    numbers: Numbers
    previous: tuple[Period, Numbers] | None
    points: Sequence[Point]
    days: range
    breakdowns: Mapping[str, Breakdown]
    top_links: TopLinks | None
    all_clicks: int
    latencies: Moments

    @property
    def deviation_ms(self) -> float | None:
        variance = self.latencies.variance
        return None if variance is None else math.sqrt(variance)


class Stats:
    def __init__(self, store: StatsStore) -> None:
        self.store = store
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def get(
        self,
        about: About,
        period: Period,
        interval: Interval | None = None,
        *,
        top: int = 10,
        compares: bool = False,
    ) -> StatsReport:
        """`interval` None: one that suits the period. `top` is how many values of each breakdown
        are named."""
        interval = interval or period.choose_interval()
        pieces = cut(period, interval)
        async with self._at_once:
            # In threads: a year of a busy workspace would delay redirects.
            read = await self._read(about.subject, period)
            points, breakdowns = await asyncio.to_thread(_shape, read, period, pieces, top)
            all_clicks, latencies = await self.store.totals(about.subject)
            previous = await self._previous(about.subject, period) if compares else None
            links = breakdowns.pop(LINKS)
            is_one = about.subject.kind is SubjectKind.LINK
            top_links = None if is_one else await self._top_links(about, links)
        return StatsReport(
            period=period,
            interval=interval,
            numbers=add_points(points),
            previous=previous,
            points=points,
            days=read.whole_days,
            breakdowns=breakdowns,
            top_links=top_links,
            all_clicks=all_clicks,
            latencies=latencies,
        )

    async def about_tag(self, space: int, tag: str) -> About:
        """A tag that a link has, or had when it was clicked; otherwise `TagNotFound`."""
        fields.check(tags=(tag,))
        found = About(tag_subject(space, tag), space, tag)
        clicks, _ = await self.store.totals(found.subject)
        if not clicks and not await self.store.has_tag(space, tag):
            raise TagNotFound(f"No link has the tag “{tag}”.")
        return found

    async def _read(self, subject: Subject, period: Period) -> "_Read":
        """For a long period, stored sums of whole months are used, except those that got clicks
        since."""
        whole_days = period.days_for_breakdowns
        kept: Sequence[Month] = ()
        if len(whole_days) >= FEWEST_DAYS:
            kept = await self.store.months(subject, whole_days)
        rows = await self.store.days(subject, period.days, with_counts=not kept)
        if not kept:
            return await asyncio.to_thread(_add_up, (), rows, (), whole_days)
        clicks = clicks_by_month(rows)
        months = [month for month in kept if month.clicks == clicks.get(month.first_day)]
        stored = {month.first_day for month in months}
        inside = [row for row in rows if month_of(row.day).start in stored]
        # Days may be folded between the two reads: of each month, only one of them is used.
        rest = without(period.days, [month_of(month.first_day) for month in months])
        rows = [row for each in rest for row in await self.store.days(subject, each)]
        return await asyncio.to_thread(_add_up, inside, rows, months, whole_days)

    async def _previous(self, subject: Subject, period: Period) -> tuple[Period, Numbers]:
        """Only the first and the last day may be partly in the period."""
        earlier = period.previous()
        rows = await self.store.days(subject, earlier.days, with_counts=False)
        edges: dict[int, Hours] = {}
        for edge in {earlier.days[0], earlier.days[-1]}:
            hours = add_up(await self.store.days(subject, range(edge, edge + 1))).hours
            edges[edge] = hours.get(edge, NO_HOURS)
        return earlier, add_points(draw(spread(rows), edges, earlier, leave_whole(earlier)))

    async def _top_links(self, about: About, top: Breakdown) -> TopLinks:
        found = await self.store.links([int(item.value) for item in top.values], about.space)
        named = [
            TopLink(found[int(item.value)], item.clicks)
            for item in top.values
            if int(item.value) in found
        ]
        gone = sum(item.clicks for item in top.values) - sum(item.clicks for item in named)
        return TopLinks(named, gone, top.other + top.unknown)


class _Read(NamedTuple):
    """The days of a period, and of the folded months that touch it; the days for breakdowns, and
    their sums."""

    days: Sequence[Day]
    whole_days: range
    sums: Sequence[Sum]


def _add_up(
    inside: Sequence[Day], rows: Sequence[Day], months: Iterable[Month], whole_days: range
) -> _Read:
    """`inside` are the rows of the months, `rows` all others, with their counts."""
    whole_days = covered(rows, whole_days)
    sums = [add_up(rows, whole_days), *map(unpack, months)]
    return _Read(spread((*inside, *rows)), whole_days, sums)


def _shape(
    read: _Read, period: Period, pieces: Pieces, top: int
) -> tuple[list[Point], dict[str, Breakdown]]:
    hours: dict[int, Hours] = {}
    for each in read.sums:
        hours |= each.hours
    bots = sum(day.clicks - day.people for day in read.days if day.day in read.whole_days)
    points = draw(read.days, hours, period, pieces)
    return points, break_down(merge(read.sums), top, bots)
