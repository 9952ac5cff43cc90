"""Months that were added up, and reports that are made of them, on both engines."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Subject, SubjectKind, tag_subject
from kurz.clicks.breakdowns import Value
from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, About, StatsReport, about_space
from kurz.clock import EPOCH
from kurz.links.model import Draft
from kurz.storage.followers import month_folder
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.schema.clicks import click_days, click_months
from support.counted import Clicks
from support.engines import without_redis
from support.failing import FailingWrites
from support.feed import until_told

# Redis has no part in counting.
engine = without_redis

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)  # where the frozen clock begins
SPACE = 7
TAG = tag_subject(SPACE, "red")
SPACES = Subject(SubjectKind.SPACE, SPACE)
ABOUTS = (about_space(SPACE), About(TAG, SPACE, "red"), EVERYTHING)
ZONES = ("UTC", "Asia/Kolkata", "America/New_York")
DAY = timedelta(days=1)
CLICKS = 105


@pytest.fixture
def clicks(kurz):
    return Clicks(kurz.database)


@pytest.fixture
async def link(kurz):
    draft = Draft(
        original_url="https://example.com/", custom_code="year", workspace_id=SPACE, tags=("red",)
    )
    return (await kurz.links.create(draft)).link


@pytest.fixture
async def year(clicks, link):
    """Clicks from 2025-01-01 to 2026-02-28, which is the day before."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    for number in range(CLICKS):
        hours = 97 * number
        at = start + timedelta(hours=hours)
        clicks.add(link, at, country="DE" if hours % 2 else "FR", visitor=str(hours))
    await clicks.save()


def folder_of(kurz) -> MonthFolder:
    return MonthFolder(kurz.database, kurz.clock, least_clicks=CLICKS)


async def kept(kurz, subject: Subject) -> dict[str, int]:
    """The months that are, and their clicks."""
    of = click_months.c
    query = sa.select(of.first_day, of.clicks).where(of.kind == int(subject.kind))
    query = query.where(of.subject == subject.id).order_by(of.first_day)
    rows = await kurz.database.read(lambda it: it.execute(query).all())
    return {f"{EPOCH + first_day * DAY:%Y-%m}": clicks for first_day, clicks in rows}


def get(kurz, about: About, start="2025-01-01", end: str | None = "2026-02-28", zone="UTC"):
    return kurz.stats.get(about, read_period(NOW, start, end, zone), Interval.MONTH, compares=True)


async def everything(kurz) -> list[StatsReport]:
    stretches = ("2025-01-01", "2026-02-28"), ("2025-01-02", "2025-12-30"), ("2025-05-01", None)
    return [
        await get(kurz, about, start, end, zone)
        for about in ABOUTS
        for start, end in stretches
        for zone in ZONES
    ]


@pytest.mark.usefixtures("year")
async def test_months_that_are_over_are_kept(kurz, link, clock):
    folder = folder_of(kurz)
    await folder.fold()
    months = [f"2025-{number:02}" for number in range(1, 13)] + ["2026-01"]
    for subject in (Subject(SubjectKind.LINK, link.id), TAG, SPACES, INSTALLATION):
        assert [*await kept(kurz, subject)] == months  # on March 1 there may be clicks to load
    clock.advance(days=2)
    await folder.fold()
    assert [*await kept(kurz, TAG)] == [*months, "2026-02"]


@pytest.mark.usefixtures("year")
async def test_nothing_is_kept_of_subjects_with_few_clicks(kurz, clicks, link):
    clicks.add_of(link.id + 1, SPACE, datetime(2025, 5, 5, tzinfo=UTC))
    await clicks.save()
    await MonthFolder(kurz.database, kurz.clock, least_clicks=CLICKS + 1).fold()
    assert await kept(kurz, TAG) == await kept(kurz, Subject(SubjectKind.LINK, link.id)) == {}
    assert len(await kept(kurz, SPACES)) == 13


@pytest.mark.usefixtures("year")
async def test_reports_are_the_same_with_and_without_months(kurz):
    before = await everything(kurz)
    assert min(report.numbers.people for report in before) > 50
    await folder_of(kurz).fold()
    assert await everything(kurz) == before


@pytest.mark.usefixtures("year")
async def test_a_year_is_the_sum_of_its_months(kurz):
    await folder_of(kurz).fold()
    for zone in ZONES:
        report = await get(kurz, EVERYTHING, "2025-01-01", "2025-12-31", zone)
        for number, point in enumerate(report.points, 1):
            last = datetime(2025 + number // 12, number % 12 + 1, 1, tzinfo=UTC) - DAY
            one = await get(kurz, EVERYTHING, f"2025-{number:02}-01", str(last.date()), zone)
            assert one.numbers[:] == point[1:]


@pytest.mark.usefixtures("year")
async def test_months_are_what_reports_are_made_of(kurz):
    await folder_of(kurz).fold()
    before = await get(kurz, EVERYTHING)

    def forget(connection: sa.Connection) -> None:
        connection.execute(sa.update(click_days).values(counts=b"{}"))

    await kurz.database.write(forget)
    after = await get(kurz, EVERYTHING, end="2026-01-31")
    countries = sum(item.clicks for item in after.breakdowns["countries"].values)
    assert countries == after.numbers.people < before.numbers.people


@pytest.mark.usefixtures("year")
async def test_a_late_click_is_seen_at_once_and_its_month_kept_again(kurz, clicks, link):
    folder = folder_of(kurz)
    await folder.fold()
    before, months = await everything(kurz), await kept(kurz, TAG)
    clicks.add(link, datetime(2025, 6, 15, 12, tzinfo=UTC), country="CH")
    await clicks.save()
    for is_folded_again in (False, True):
        if is_folded_again:
            await folder.fold()
        for old, new in zip(before, await everything(kurz), strict=True):
            assert new.numbers.people == old.numbers.people + 1
            assert Value("CH", 1) in new.breakdowns["countries"].values
            total = old.breakdowns["countries"].clicks
            assert new.breakdowns["countries"].clicks == total + 1
        expected = months | {"2025-06": months["2025-06"] + is_folded_again}
        assert await kept(kurz, TAG) == expected


@pytest.mark.usefixtures("year")
async def test_any_number_may_add_up_at_once_a_few_subjects_at_a_time(kurz, monkeypatch):
    monkeypatch.setattr(month_folder, "STRETCH", 1)
    before = await everything(kurz)
    folders = [folder_of(kurz) for _ in range(3)]
    await asyncio.gather(*(folder.fold() for folder in folders))
    assert len(await kept(kurz, INSTALLATION)) == len(await kept(kurz, TAG)) == 13
    assert await everything(kurz) == before


@pytest.mark.usefixtures("year")
async def test_subjects_without_new_clicks_are_passed_over(kurz):
    class Counting:
        def __init__(self) -> None:
            self.reads = 0

        async def read(self, query, *args, **kwargs):
            self.reads += 1
            return await kurz.database.read(query, *args, **kwargs)

        async def write(self, query, *args):
            return await kurz.database.write(query, *args)

    counting: Any = Counting()
    folder = MonthFolder(counting, kurz.clock, least_clicks=1)
    await folder.fold()
    counting.reads = 0
    await folder.fold()
    assert counting.reads == 1  # of subjects


@pytest.mark.usefixtures("year")
async def test_adding_up_goes_on_after_an_outage(kurz):
    async def is_done() -> bool:
        return len(await kept(kurz, INSTALLATION)) == 13

    failing: Any = FailingWrites(kurz.database, {1, 5})
    folder = MonthFolder(failing, kurz.clock, wake_seconds=0.01, least_clicks=1)
    folder.start()
    await until_told(is_done)
    await folder.stop()


@pytest.mark.usefixtures("year")
async def test_who_stops_leaves_the_rest_for_the_next_time(kurz):
    class Stopping:
        stops: asyncio.Task[None] | None = None

        async def read(self, query, *args, **kwargs):
            return await kurz.database.read(query, *args, **kwargs)

        async def write(self, query, *args):
            if self.stops is None:
                self.stops = asyncio.create_task(folder.stop())
                await asyncio.sleep(0)
            return await kurz.database.write(query, *args)

    async def number_of_months() -> int:
        count = sa.select(sa.func.count()).select_from(click_months)
        return int(await kurz.database.read(lambda it: it.execute(count).scalar_one()))

    async def has_begun() -> bool:
        return await number_of_months() > 0

    async def is_done() -> bool:
        return await number_of_months() == 4 * 13

    stopping: Any = Stopping()
    folder = MonthFolder(stopping, kurz.clock, least_clicks=1)
    folder.start()
    await until_told(has_begun)
    await stopping.stops
    assert await number_of_months() == 1
    folder.start()
    await until_told(is_done)
    await folder.stop()
