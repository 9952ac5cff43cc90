"""Months that were added up, and reports that are made of them, on both engines."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import (
    INSTALLATION,
    Batch,
    DayCounts,
    JournalPosition,
    Subject,
    SubjectKind,
    tag_subject,
)
from kurz.clicks.breakdowns import Value
from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, About, StatsReport, about_space
from kurz.clock import EPOCH
from kurz.errors import StoreUnavailable
from kurz.jobs.periodic import PeriodicTask
from kurz.jobs.runner import Runner
from kurz.links.model import Draft
from kurz.scheduling import RunCause
from kurz.storage.clicks.months import find_late, find_position, forget_late, note_late
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.followers import month_folder
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.schema.clicks import click_days, click_months
from kurz.wiring.core import Kurz
from kurz.wiring.reaper import MONTHS, periodic_task_schedules
from support.counted import Clicks
from support.engines import without_redis
from support.failing import FailingWrites

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
    await folder.run()
    months = [f"2025-{number:02}" for number in range(1, 13)] + ["2026-01"]
    for subject in (Subject(SubjectKind.LINK, link.id), TAG, SPACES, INSTALLATION):
        assert [*await kept(kurz, subject)] == months  # on March 1 there may be clicks to load
    clock.advance(days=2)
    await folder.run()
    assert [*await kept(kurz, TAG)] == [*months, "2026-02"]


@pytest.mark.usefixtures("year")
async def test_nothing_is_kept_of_subjects_with_few_clicks(kurz, clicks, link):
    clicks.add_of(link.id + 1, SPACE, datetime(2025, 5, 5, tzinfo=UTC))
    await clicks.save()
    await MonthFolder(kurz.database, kurz.clock, least_clicks=CLICKS + 1).run()
    assert await kept(kurz, TAG) == await kept(kurz, Subject(SubjectKind.LINK, link.id)) == {}
    assert len(await kept(kurz, SPACES)) == 13


@pytest.mark.usefixtures("year")
async def test_reports_are_the_same_with_and_without_months(kurz):
    before = await everything(kurz)
    assert min(report.numbers.people for report in before) > 50
    await folder_of(kurz).run()
    assert await everything(kurz) == before


@pytest.mark.usefixtures("year")
async def test_a_year_is_the_sum_of_its_months(kurz):
    await folder_of(kurz).run()
    for zone in ZONES:
        report = await get(kurz, EVERYTHING, "2025-01-01", "2025-12-31", zone)
        for number, point in enumerate(report.points, 1):
            last = datetime(2025 + number // 12, number % 12 + 1, 1, tzinfo=UTC) - DAY
            one = await get(kurz, EVERYTHING, f"2025-{number:02}-01", str(last.date()), zone)
            assert one.numbers[:] == point[1:]


@pytest.mark.usefixtures("year")
async def test_months_are_what_reports_are_made_of(kurz):
    await folder_of(kurz).run()
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
    await folder.run()
    before, months = await everything(kurz), await kept(kurz, TAG)
    clicks.add(link, datetime(2025, 6, 15, 12, tzinfo=UTC), country="CH")
    await clicks.save()
    subjects = (Subject(SubjectKind.LINK, link.id), TAG, SPACES, INSTALLATION)
    await kurz.database.write(note_late, subjects)  # as the loader does it
    for is_folded_again in (False, True):
        if is_folded_again:
            await folder.run()
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
    await asyncio.gather(*(folder.run() for folder in folders))
    assert len(await kept(kurz, INSTALLATION)) == len(await kept(kurz, TAG)) == 13
    assert await everything(kurz) == before


class Watched:
    """The database, and the names of the queries it was asked."""

    def __init__(self, kurz: Kurz) -> None:
        self._database = kurz.database
        self.reads: list[str] = []
        self.writes: list[str] = []

    async def read(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        self.reads.append(query.__name__)
        return await self._database.read(query, *args, **kwargs)

    async def write(self, query: Any, *args: Any) -> Any:
        self.writes.append(query.__name__)
        return await self._database.write(query, *args)


def watch(kurz: Kurz) -> tuple[Any, MonthFolder]:
    watched: Any = Watched(kurz)
    return watched, MonthFolder(watched, kurz.clock, least_clicks=CLICKS)


async def count(kurz: Kurz, link_id: int, segment: bytes, *days: datetime) -> None:
    """A click of each day, counted as the loader does it."""
    batch = Batch(JournalPosition(segment, 0), JournalPosition(segment, 1))
    for at in days:
        day = (at - EPOCH).days
        for subject in (Subject(SubjectKind.LINK, link_id), INSTALLATION):
            batch.days[subject, day] = DayCounts(clicks=1)
    assert await SqlClickStore(kurz.database, kurz.clock).apply(batch)


async def noted(kurz: Kurz) -> dict[Subject, int]:
    found = await kurz.database.read(find_late, 100)
    return {subject: times for subject, times, _ in found}


@pytest.mark.usefixtures("year")
async def test_without_late_clicks_neither_totals_nor_days_are_read(kurz):
    watched, folder = watch(kurz)
    assert await folder.run() == {"months": 4 * 13}
    watched.reads, watched.writes = [], []
    for each in (folder, MonthFolder(watched, kurz.clock)):  # of this process, and of another
        assert await each.run() == {"months": 0}
    assert watched.reads == ["find_late", "find_position"] * 2
    assert watched.writes == []


@pytest.mark.usefixtures("year")
async def test_the_queries_of_a_run_that_finds_nothing_read_no_totals(kurz):
    await folder_of(kurz).run()
    plans: list[str] = []

    def explain(connection: sa.Connection) -> None:
        is_sqlite = connection.dialect.name == "sqlite"
        asked: list[tuple[str, Any]] = []

        def note(_c: Any, _cursor: Any, text: str, values: Any, *_: Any) -> None:
            asked.append((text, values))

        sa.event.listen(connection, "before_cursor_execute", note)
        assert find_late(connection, 100) == []
        find_position(connection)
        sa.event.remove(connection, "before_cursor_execute", note)
        how = "EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN (ANALYZE, TIMING OFF) "
        for text, values in asked:
            plans.extend(str(row[-1]) for row in connection.exec_driver_sql(how + text, values))

    await kurz.database.write(explain)
    of_totals = [line for line in plans if "click_totals" in line]
    assert len(of_totals) == 1
    # For each late subject, of which there is none.
    assert "SEARCH" in of_totals[0] or "never executed" in of_totals[0]
    assert not any("click_days" in line or "click_months" in line for line in plans)


@pytest.mark.usefixtures("year")
async def test_only_clicks_of_months_that_are_over_are_noted(kurz, link, clock):
    clock.advance(days=1)  # March 2: February may be added up from tomorrow on
    link_subject = Subject(SubjectKind.LINK, link.id)
    today = datetime(2026, 3, 2, tzinfo=UTC)
    await count(kurz, link.id, b"today", today, today - DAY)
    assert await noted(kurz) == {}
    for number in (1, 2):
        await count(kurz, link.id, b"late %d" % number, today, today - 2 * DAY, today - 99 * DAY)
        assert await noted(kurz) == {link_subject: number, INSTALLATION: number}
    assert await folder_of(kurz).run() == {"months": 4 * 13}
    assert await noted(kurz) == {}


@pytest.mark.usefixtures("year")
async def test_a_late_click_makes_only_its_subjects_be_read(kurz, link):
    await folder_of(kurz).run()
    await count(kurz, link.id, b"late", datetime(2025, 6, 15, tzinfo=UTC))
    await count(kurz, link.id + 1, b"few", datetime(2025, 6, 15, tzinfo=UTC))
    watched, folder = watch(kurz)
    assert await folder.run() == {"months": 2}  # of the link and the installation
    assert watched.reads.count("find_stale") == watched.reads.count("find_days") == 2
    assert "find_busy" not in watched.reads
    assert await noted(kurz) == {}


@pytest.mark.usefixtures("year")
async def test_a_click_that_comes_while_its_month_is_added_up_is_not_forgotten(kurz, link):
    at = datetime(2025, 6, 15, tzinfo=UTC)
    await folder_of(kurz).run()
    await count(kurz, link.id, b"first", at)
    late = await kurz.database.read(find_late, 100)
    await count(kurz, link.id, b"second", at)
    await kurz.database.write(forget_late, late)
    assert [*(await noted(kurz)).values()] == [2, 2]
    before = await kept(kurz, INSTALLATION)
    await folder_of(kurz).run()
    assert (await kept(kurz, INSTALLATION))["2025-06"] == before["2025-06"] + 2
    assert await noted(kurz) == {}


@pytest.mark.usefixtures("year")
async def test_two_instances_do_not_add_up_at_once(kurz):
    is_running, may_end = asyncio.Event(), asyncio.Event()

    class Slow:
        async def run(self, is_stopping):
            is_running.set()
            await may_end.wait()
            return await folder_of(kurz).run(is_stopping)

    schedule = periodic_task_schedules(kurz.settings)[MONTHS]
    stores = SqlLeaseStore(kurz.database, kurz.clock), SqlRunStore(kurz.database, kurz.clock)
    watched, folder = watch(kurz)
    first = Runner(schedule, PeriodicTask(Slow()), *stores)
    second = Runner(schedule, PeriodicTask(folder), *stores)
    running = asyncio.create_task(first.run(RunCause.DUE))
    await is_running.wait()
    assert await second.run(RunCause.DUE) is None
    may_end.set()
    assert await running is not None
    assert await second.run(RunCause.DUE) is None  # it was just done
    assert watched.reads == watched.writes == []
    assert len(await kept(kurz, INSTALLATION)) == 13


@pytest.mark.usefixtures("year")
async def test_adding_up_goes_on_after_an_outage(kurz):
    failing: Any = FailingWrites(kurz.database, {1, 5})
    folder = MonthFolder(failing, kurz.clock, least_clicks=1)
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await folder.run()
    await folder.run()
    for subject in (TAG, SPACES, INSTALLATION):
        assert len(await kept(kurz, subject)) == 13


@pytest.mark.usefixtures("year")
async def test_who_stops_leaves_the_rest_for_the_next_time(kurz, monkeypatch):
    monkeypatch.setattr(month_folder, "STRETCH", 1)
    watched, folder = watch(kurz)

    async def number_of_months() -> int:
        number = sa.select(sa.func.count()).select_from(click_months)
        return int(await kurz.database.read(lambda it: it.execute(number).scalar_one()))

    stops_after = 15  # in the second of four subjects
    assert await folder.run(lambda: watched.writes.count("keep_month") >= stops_after) == {
        "months": stops_after
    }
    assert await number_of_months() == stops_after
    watched.reads, watched.writes = [], []
    assert await folder.run() == {"months": 4 * 13 - stops_after}
    assert watched.reads.count("find_stale") == 3  # the first subject is not checked again
    assert await number_of_months() == 4 * 13
