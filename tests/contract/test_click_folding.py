"""Old days of clicks that were folded into months, and the reports of them, on both engines."""

import asyncio
import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, Subject, SubjectKind
from kurz.clicks.breakdowns import Value
from kurz.clicks.counts import VisitKind
from kurz.clicks.months import month_of
from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, about_link
from kurz.errors import StoreUnavailable
from kurz.links.model import Draft
from kurz.storage.clicks.folding import find_fold_position, prepare_slice
from kurz.storage.clicks.months import find_late, find_stale
from kurz.storage.clicks.stats import find_days
from kurz.storage.followers import day_folder
from kurz.storage.followers.day_folder import DayFolder, write_slice
from kurz.storage.followers.month_folder import MonthFolder
from kurz.storage.schema.clicks import click_days, click_months, click_totals
from support.counted import Clicks
from support.engines import without_redis
from support.failing import FailingWrites
from support.folded import (
    HOUR,
    KEPT_DAYS,
    LINKS,
    NOW,
    PARTS,
    SPACE,
    WHOLE,
    count,
    day_of,
    first_day_of,
    folder_of,
    reports,
    rows,
    series,
)

# Redis has no part in counting.
engine = without_redis


class Killed(Exception):
    """Here, the process would be gone: the transaction is not committed."""


@pytest.fixture
def clicks(kurz):
    return Clicks(kurz.database)


@pytest.fixture
async def links(kurz):
    made = []
    for number in range(LINKS):
        draft = Draft(
            original_url=f"https://example.com/{number}",
            custom_code=f"year-{number}",
            workspace_id=SPACE,
            tags=("red",),
        )
        made.append((await kurz.links.create(draft)).link)
    return made


@pytest.fixture
async def year(clicks, links):
    """Clicks from 2025-01-01 to 2026-02-28: several on some days, bots among them."""
    start = datetime(2025, 1, 1, tzinfo=UTC)
    for number in range(300):
        hours = 33 * number + number % 7
        at = start + timedelta(hours=hours)
        sort = VisitKind.BOT if number % 5 == 0 else VisitKind.PERSON
        browser = "Googlebot" if number % 2 else ""
        link = links[number % LINKS]
        clicks.add(
            link,
            at,
            country="DE" if hours % 2 else "FR",
            visitor=str(hours),
            sort=sort,
            browser=browser,
        )
        clicks.add(link, at + HOUR, country="CH", visitor="again")
    await clicks.save()


@pytest.mark.usefixtures("year")
async def test_old_days_become_one_row_a_month_and_newer_days_stay(kurz, links):
    found = await folder_of(kurz.database, kurz).run()
    subjects = LINKS + 3  # the tag, the space and the installation
    assert await rows(kurz, folded=True) == subjects * 10
    assert found["folded"] > 200
    first = day_of(date(2025, 11, 1))
    for row in await kurz.database.read(
        lambda it: it.execute(sa.select(click_days.c.day, click_days.c.month)).all()
    ):
        assert (row.month is not None) == (row.day < first)
    assert (await folder_of(kurz.database, kurz).run())["folded"] == 0


@pytest.mark.usefixtures("year")
async def test_series_and_totals_of_every_report_are_the_same_after_folding(kurz, links):
    before = await reports(kurz, links)
    assert (
        sum(it.numbers.bots for it in before) > 50 < sum(it.numbers.daily_visitors for it in before)
    )
    await folder_of(kurz.database, kurz).run()
    assert series(await reports(kurz, links)) == series(before)


@pytest.mark.usefixtures("year")
async def test_breakdowns_of_whole_months_are_the_same_after_folding(kurz, links):
    before = await reports(kurz, links, WHOLE[:2])
    await folder_of(kurz.database, kurz).run()
    assert await reports(kurz, links, WHOLE[:2]) == before


@pytest.mark.usefixtures("year")
async def test_breakdowns_of_parts_of_months_say_that_they_are_of_whole_months(kurz, links):
    whole = await kurz.stats.get(EVERYTHING, read_period(NOW, "2025-02-01", "2025-03-31", None))
    await folder_of(kurz.database, kurz).run()
    part = await kurz.stats.get(EVERYTHING, read_period(NOW, "2025-02-20", "2025-03-03", None))
    assert part.numbers.clicks < whole.numbers.clicks
    assert part.days == whole.days
    assert part.breakdowns == whole.breakdowns
    assert part.top_links == whole.top_links
    mixed = await kurz.stats.get(EVERYTHING, read_period(NOW, "2025-10-20", "2025-11-10", None))
    assert mixed.days == range(day_of(date(2025, 10, 1)), day_of(date(2025, 11, 11)))
    for breakdown in ("kinds", "bots", "countries"):
        assert mixed.breakdowns[breakdown].unknown >= 0


@pytest.mark.usefixtures("year")
async def test_reports_are_exact_at_every_moment_of_folding_and_after_every_failure(
    kurz, links, monkeypatch
):
    """Each run dies at its third write, in the middle of a transaction."""
    before = series(await reports(kurz, links, PARTS[:2]))
    monkeypatch.setattr(day_folder, "ROWS", 20)
    monkeypatch.setattr(day_folder, "STRETCH", 2)
    tries, seen = itertools.count(1), set()

    class Dying:
        async def read(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            return await kurz.database.read(query, *args, **kwargs)

        async def write(self, query: Any, *args: Any) -> Any:
            dies = next(tries) % 3 == 0

            def run(connection: sa.Connection) -> Any:
                result = query(connection, *args)
                if dies:
                    raise Killed
                return result

            return await kurz.database.write(run)

    for _ in range(500):
        dying: Any = Dying()
        folder = DayFolder(dying, KEPT_DAYS)
        try:
            await folder.run(day_of(NOW.date()), lambda: False)
        except Killed:
            seen.add(await rows(kurz))
            if len(seen) % 7 == 0:
                assert series(await reports(kurz, links, PARTS[:2])) == before
            continue
        break
    else:
        pytest.fail("it is not done")
    assert len(seen) > 10
    assert await rows(kurz, folded=True) == (LINKS + 3) * 10
    assert series(await reports(kurz, links, PARTS[:2])) == before


@pytest.mark.usefixtures("year")
async def test_several_folders_at_once_fold_everything_once(kurz, links, monkeypatch):
    monkeypatch.setattr(day_folder, "ROWS", 20)
    before = series(await reports(kurz, links))
    monkeypatch.setattr(day_folder, "ATTEMPTS", 100)
    await asyncio.gather(*(folder_of(kurz.database, kurz).run() for _ in range(3)))
    assert await rows(kurz, folded=True) == (LINKS + 3) * 10
    assert series(await reports(kurz, links)) == before


@pytest.mark.usefixtures("year")
async def test_a_slice_whose_rows_have_changed_is_written_with_the_change(kurz, links):
    subject, days = Subject(SubjectKind.LINK, links[0].id), range(day_of(date(2025, 3, 1)))
    clicks = sum(row.clicks for row in await kurz.database.read(find_days, subject, days))
    stale = await kurz.database.read(prepare_slice, [subject], days, 1000)
    at = await first_day_of(kurz, subject)
    await count(kurz, subject.id, b"late", at)
    with pytest.raises(day_folder._Changed):
        await kurz.database.write(write_slice, stale.months)
    folder = folder_of(kurz.database, kurz)
    await folder.run()
    found = await kurz.database.read(find_days, subject, days)
    assert sum(row.clicks for row in found) == clicks + 1
    assert all(row.month is not None for row in found)


@pytest.mark.usefixtures("year")
@pytest.mark.parametrize(
    "at", [datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 6, 15, tzinfo=UTC)]
)
async def test_a_late_click_is_in_reports_at_once_and_then_in_its_month(kurz, links, at):
    await folder_of(kurz.database, kurz).run()
    period = read_period(NOW, "2025-06-01", "2025-06-30", None)
    about = about_link(links[0], SPACE)
    before, folded = (
        await kurz.stats.get(about, period, Interval.DAY),
        await rows(kurz, folded=True),
    )
    for number in (1, 2):
        await count(kurz, links[0].id, b"late-%d" % number, at)
        for runs in (False, True):
            if runs:
                await folder_of(kurz.database, kurz).run()
                assert await rows(kurz, folded=True) == folded
                assert await kurz.database.read(find_late, 10) == []
            after = await kurz.stats.get(about, period, Interval.DAY)
            people, visitors = before.numbers.people, before.numbers.daily_visitors
            assert after.numbers.people == people + number
            assert after.numbers.daily_visitors == visitors + number
            assert Value("AT", number) in after.breakdowns["countries"].values
            point = after.points[at.day - 1]
            assert point.people == before.points[at.day - 1].people + number
            hours = read_period(NOW, f"{at:%Y-%m-%d}T07:00", f"{at:%Y-%m-%d}T08:00", None)
            assert (await kurz.stats.get(about, hours, Interval.HOUR)).numbers.people >= number
    days = await kurz.database.read(
        find_days, Subject(SubjectKind.LINK, links[0].id), range(day_of(date(2025, 11, 1)))
    )
    assert all(row.month is not None for row in days)


@pytest.mark.usefixtures("year")
async def test_sums_of_folded_months_are_not_kept_twice(kurz, links):
    months = MonthFolder(kurz.database, kurz.clock, least_clicks=1)
    await months.run()
    before = await reports(kurz, links, WHOLE[:2])
    await folder_of(kurz.database, kurz, least_clicks=1).run()
    assert await reports(kurz, links, WHOLE[:2]) == before
    first = day_of(date(2025, 11, 1))
    kept = await kurz.database.read(
        lambda it: it.execute(sa.select(click_months.c.first_day)).scalars().all()
    )
    assert kept
    assert min(kept) == first
    clock_runs = await folder_of(kurz.database, kurz, least_clicks=1).run()
    assert clock_runs == {"months": 0, "folded": 0}


@pytest.mark.usefixtures("year")
async def test_folded_months_are_not_added_up_again(kurz):
    """Also if a month is folded while it is added up."""
    folder = folder_of(kurz.database, kurz, least_clicks=1)
    await folder.run()
    before = day_of(date(2025, 11, 1))
    assert await kurz.database.read(find_stale, INSTALLATION, before) == []
    await folder._keep(INSTALLATION, month_of(before - 1))
    query = sa.select(sa.func.min(click_months.c.first_day))
    assert await kurz.database.read(lambda it: it.execute(query).scalar_one()) == before


@pytest.mark.usefixtures("year")
async def test_a_slice_has_whole_months(kurz, links):
    subject, days = Subject(SubjectKind.LINK, links[0].id), range(day_of(date(2025, 11, 1)))
    whole = await kurz.database.read(prepare_slice, [subject], days, 1000)
    lengths = [len(month.replaced) for month in whole.months]
    assert len(lengths) == 10
    for limit in (lengths[0], lengths[0] + 1, lengths[0] + lengths[1]):
        some = await kurz.database.read(prepare_slice, [subject], days, limit)
        number = 2 if limit == lengths[0] + lengths[1] else 1
        assert [len(month.replaced) for month in some.months] == lengths[:number]


@pytest.mark.usefixtures("year")
async def test_each_month_is_folded_when_it_is_old_enough(kurz, links, clock):
    await folder_of(kurz.database, kurz).run()
    folded = await rows(kurz, folded=True)
    clock.advance(days=8)  # November ended 99 days ago
    assert (await folder_of(kurz.database, kurz).run())["folded"] == 0
    clock.advance(days=2)
    assert (await folder_of(kurz.database, kurz).run())["folded"] > 0
    assert await rows(kurz, folded=True) == folded + LINKS + 3
    position = await kurz.database.read(find_fold_position)
    assert position.before == day_of(date(2025, 12, 1))


@pytest.mark.usefixtures("year")
async def test_with_nothing_to_fold_neither_totals_nor_days_are_read(kurz):
    await folder_of(kurz.database, kurz).run()
    asked: list[str] = []

    class Watched:
        async def read(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            asked.append(query.__name__)
            return await kurz.database.read(query, *args, **kwargs)

    assert (await folder_of(Watched(), kurz).run())["folded"] == 0
    assert asked == ["find_late", "find_position", "find_fold_position"]


@pytest.mark.usefixtures("year")
async def test_a_run_that_must_stop_leaves_the_rest_for_the_next_one(kurz, links, monkeypatch):
    monkeypatch.setattr(day_folder, "STRETCH", 1)
    before = series(await reports(kurz, links))
    calls = 0

    def is_over() -> bool:
        nonlocal calls
        calls += 1
        return calls > 9

    days = DayFolder(kurz.database, KEPT_DAYS)
    today = day_of(NOW.date())
    assert await days.run(today, is_over) > 0
    position = await kurz.database.read(find_fold_position)
    assert position.after is not None
    assert series(await reports(kurz, links)) == before
    await days.run(today, lambda: False)
    assert await rows(kurz, folded=True) == (LINKS + 3) * 10
    assert series(await reports(kurz, links)) == before


@pytest.mark.usefixtures("year")
async def test_an_outage_of_a_write_is_an_outage_of_the_run(kurz):
    failing: Any = FailingWrites(kurz.database, {2})
    with pytest.raises(StoreUnavailable):
        await folder_of(failing, kurz).run()
    await folder_of(kurz.database, kurz).run()
    assert await rows(kurz, folded=True) == (LINKS + 3) * 10


@pytest.mark.usefixtures("year")
async def test_the_sum_of_all_rows_is_the_total(kurz, links):
    await folder_of(kurz.database, kurz).run()
    sums = sa.select(click_days.c.kind, click_days.c.subject, sa.func.sum(click_days.c.clicks))
    sums = sums.group_by(click_days.c.kind, click_days.c.subject)
    totals = sa.select(click_totals.c.kind, click_totals.c.subject, click_totals.c.clicks)
    found = [
        {
            tuple(map(int, row))
            for row in await kurz.database.read(lambda it, q=q: it.execute(q).all())
        }
        for q in (sums, totals)
    ]
    assert found[0] == found[1]
