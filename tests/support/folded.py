"""Old days of clicks, folded into months: the reports of them, and late clicks."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Batch, DayCounts, JournalPosition, Subject, SubjectKind
from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, About, StatsReport, about_link, about_space
from kurz.clock import EPOCH
from kurz.storage.clicks.stats import find_days
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.followers.day_folder import DayFolder
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.schema.clicks import click_days
from kurz.wiring.core import Kurz

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)  # where the frozen clock begins
SPACE = 7
KEPT_DAYS = 100  # everything before November 2025 is folded
ZONES = ("UTC", "Asia/Kolkata", "America/New_York")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LINKS = 3


def folder_of(database: Any, kurz: Kurz, **options: Any) -> MonthFolder:
    days = DayFolder(database, KEPT_DAYS, kurz.engine.max_held_seconds)
    return MonthFolder(database, kurz.clock, days, **options)


def abouts(kurz: Kurz, links: Any) -> list[About]:
    return [*(about_link(link, SPACE) for link in links), about_space(SPACE), EVERYTHING]


# From whole months to parts of two folded ones, of a folded and another one, and of a single one.
WHOLE = ("2025-01-01", "2026-02-28"), ("2025-01-01", "2025-10-31"), ("2025-02-01", "2025-02-28")
PARTS = (
    ("2025-01-17", "2025-12-30"),
    ("2025-10-20", "2025-11-10"),
    ("2025-02-03", "2025-02-20"),
    ("2025-03-09T15:00:00", "2025-04-02T01:00:00"),
    ("2025-05-05T07:00:00", "2025-05-06T09:00:00"),
)


async def reports(kurz: Kurz, links: Any, periods: Any = (*WHOLE, *PARTS)) -> list[StatsReport]:
    return [
        await kurz.stats.get(about, read_period(NOW, start, end, zone), interval, compares=True)
        for about in abouts(kurz, links)
        for start, end in periods
        for zone in ZONES
        for interval in intervals(start, end)
    ]


def intervals(start: str, end: str) -> list[Interval]:
    days = (date.fromisoformat(end[:10]) - date.fromisoformat(start[:10])).days
    return [Interval.DAY, Interval.MONTH, *([Interval.HOUR] if days < 30 else [])]


def series(found: list[StatsReport]) -> list[Any]:
    return [
        (it.period, it.numbers, it.previous, it.points, it.all_clicks, it.latencies) for it in found
    ]


async def rows(kurz: Kurz, *, folded: bool | None = None) -> int:
    query = sa.select(sa.func.count()).select_from(click_days)
    if folded is not None:
        query = query.where(click_days.c.month.is_not(None) == folded)
    return int(await kurz.database.read(lambda it: it.execute(query).scalar_one()))


def day_of(at: date) -> int:
    return (at - EPOCH.date()).days


async def first_day_of(kurz: Kurz, subject: Subject) -> datetime:
    [first, *_] = await kurz.database.read(find_days, subject, range(30_000))
    return EPOCH + first.day * DAY


async def count(kurz: Kurz, link_id: int, segment: bytes, *days: datetime) -> None:
    """A click of each day at seven o'clock, counted as the loader does it."""
    batch = Batch(JournalPosition(segment, 0), JournalPosition(segment, 1))
    for at in days:
        for subject in (Subject(SubjectKind.LINK, link_id), INSTALLATION):
            counted = DayCounts(1, 1, {"h07": 1, "sperson": 1, "cAT": 1}, {segment.ljust(8)[:8]})
            batch.days[subject, (at - EPOCH).days] = counted
    assert await SqlClickStore(kurz.database, kurz.clock).apply(batch)
