"""The `StatsStore` and reports over it, on both engines."""

import math
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.breakdowns import Value
from kurz.clicks.counts import VisitKind
from kurz.clicks.periods import read_period
from kurz.clicks.stats import EVERYTHING, about_link, about_space
from kurz.links.errors import TagNotFound
from kurz.links.model import Draft
from kurz.storage.schema.links import links
from support.counted import Clicks

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPACE = 7
DAY = timedelta(days=1)


@pytest.fixture
def clicks(kurz):
    return Clicks(kurz.database)


async def make(kurz, code: str, *tags: str, workspace_id: int = SPACE):
    draft = Draft(
        original_url="https://example.com/",
        custom_code=code,
        workspace_id=workspace_id,
        tags=tags,
    )
    return (await kurz.links.create(draft)).link


def month(zone: str | None = None):
    return read_period(NOW, "2026-02-01", "2026-02-28", zone)


async def test_nothing_is_known_of_a_link_without_clicks(kurz):
    report = await kurz.stats.get(about_link(await make(kurz, "quiet"), SPACE), month())
    assert (report.numbers.clicks, report.all_clicks, report.deviation_ms) == (0, 0, None)
    assert len(report.points) == 28
    assert report.breakdowns["countries"].clicks == 0


async def test_a_click_counts_for_its_link_tag_space_and_the_installation(kurz, clicks):
    link = await make(kurz, "first", "red")
    clicks.add(link, datetime(2026, 2, 5, 10, tzinfo=UTC), 3, country="DE", visitor="ada")
    clicks.add(link, datetime(2026, 2, 5, 11, tzinfo=UTC), 2, sort=VisitKind.BOT, browser="Crawler")
    await clicks.save()
    red = await kurz.stats.about_tag(SPACE, "red")
    abouts = (about_link(link, SPACE), red, about_space(SPACE), EVERYTHING)
    for about in abouts:
        report = await kurz.stats.get(about, month())
        assert (report.numbers.people, report.numbers.bots) == (3, 2)
        assert report.numbers.daily_visitors == 1
        assert report.breakdowns["countries"].values == [Value("DE", 3)]
        assert report.breakdowns["bots"].values == [Value("Crawler", 2)]
        assert report.all_clicks == 5
    assert (await kurz.stats.get(about_space(8), month())).numbers.clicks == 0


async def test_a_tag_is_known_while_a_link_has_it_and_when_one_had_clicks_with_it(kurz, clicks):
    link = await make(kurz, "tagged", "red")
    await make(kurz, "other", "blue")
    clicks.add(link, datetime(2026, 2, 5, tzinfo=UTC))
    await clicks.save()
    await kurz.tagging.rename(SPACE, "red", None, None)
    assert (await kurz.stats.get(await kurz.stats.about_tag(SPACE, "red"), month())).all_clicks
    assert (await kurz.stats.about_tag(SPACE, "blue")).tag == "blue"
    for space, tag in ((SPACE, "green"), (8, "red"), (8, "blue")):
        with pytest.raises(TagNotFound):
            await kurz.stats.about_tag(space, tag)


async def test_hours_are_those_of_the_zone(kurz, clicks):
    link = await make(kurz, "late")
    clicks.add(link, datetime(2026, 2, 5, 23, 30, tzinfo=UTC))
    clicks.add(link, datetime(2026, 1, 31, 23, 30, tzinfo=UTC), 10)  # February in Berlin
    clicks.add(link, datetime(2026, 2, 28, 23, 30, tzinfo=UTC), 100)  # March in Berlin
    await clicks.save()
    about = about_link(link, SPACE)
    for zone, first, sixth, total in (("UTC", 0, 0, 101), ("Europe/Berlin", 10, 1, 11)):
        report = await kurz.stats.get(about, month(zone))
        assert report.numbers.people == total
        assert (report.points[0].people, report.points[5].people) == (first, sixth)


async def test_latencies_are_of_all_time(kurz, clicks):
    link = await make(kurz, "timed")
    for latency in (150, 200, 180, 160):
        clicks.add(link, datetime(2020, 1, 1, tzinfo=UTC), latency_ms=latency)
    await clicks.save()
    report = await kurz.stats.get(about_link(link, SPACE), month())
    assert report.latencies.mean == pytest.approx(172.5)
    assert report.deviation_ms == pytest.approx(math.sqrt(368.75))
    assert (report.numbers.clicks, report.all_clicks) == (0, 4)


async def test_the_time_before_is_told_on_demand(kurz, clicks):
    link = await make(kurz, "before")
    clicks.add(link, datetime(2026, 1, 3, 22, 30, tzinfo=UTC), 1)
    clicks.add(link, datetime(2026, 1, 3, 23, 30, tzinfo=UTC), 2)
    clicks.add(link, datetime(2026, 1, 20, 1, tzinfo=UTC), 4, sort=VisitKind.PREVIEW)
    clicks.add(link, datetime(2026, 1, 31, 22, 30, tzinfo=UTC), 8)
    clicks.add(link, datetime(2026, 1, 31, 23, 30, tzinfo=UTC), 16)
    await clicks.save()
    about = about_link(link, SPACE)
    assert (await kurz.stats.get(about, month())).previous is None
    report = await kurz.stats.get(about, month("Europe/Berlin"), compares=True)
    assert report.previous is not None
    earlier, numbers = report.previous
    assert earlier.start.isoformat() == "2026-01-04T00:00:00+01:00"
    assert (numbers.people, numbers.bots) == (10, 4)
    assert report.numbers.people == 16


async def test_top_links_are_named_only_where_they_are(kurz, clicks):
    here, gone, moved = [await make(kurz, code) for code in ("here", "gone", "moved")]
    at = datetime(2026, 2, 5, tzinfo=UTC)
    clicks.add(here, at, 2)
    clicks.add(gone, at, 3)
    clicks.add(moved, at, 4)
    clicks.add_of(10**12, SPACE, at)
    await clicks.save()

    def move(connection: sa.Connection) -> None:
        connection.execute(sa.delete(links).where(links.c.id == gone.id))
        connection.execute(sa.update(links).where(links.c.id == moved.id).values(space=8))

    await kurz.database.write(move)
    top = (await kurz.stats.get(about_space(SPACE), month(), top=3)).top_links
    assert [(item.link.short_code, item.clicks) for item in top.links] == [("here", 2)]
    assert (top.gone, top.other) == (7, 1)
    everything = (await kurz.stats.get(EVERYTHING, month(), top=3)).top_links
    assert [item.link.short_code for item in everything.links] == ["moved", "here"]
    assert (await kurz.stats.get(about_link(here, SPACE), month())).top_links is None


async def test_the_newest_clicks_are_of_the_subject(kurz, clicks):
    one, two = await make(kurz, "one", "red"), await make(kurz, "two")
    for minute in range(5):
        clicks.add(one, NOW + timedelta(minutes=minute), country="DE")
        clicks.add(two, NOW + timedelta(minutes=minute), country="FR")
    clicks.add(two, NOW - timedelta(days=2), country="IT")
    await clicks.save()
    today = (NOW - datetime(1970, 1, 1, tzinfo=UTC)).days
    store = kurz.stats.store
    for about in (about_link(one, SPACE), await kurz.stats.about_tag(SPACE, "red")):
        newest = await store.newest(about, today, 3)
        assert [event.country for event in newest] == ["DE"] * 3
        assert newest[0].at_micros > newest[2].at_micros
    assert len(await store.newest(EVERYTHING, today, 100)) == 10
    assert len(await store.newest(about_space(SPACE), today, 100)) == 10
    assert await store.newest(about_space(8), today, 100) == []


async def test_totals_of_a_stranger_are_none(kurz):
    clicks, moments = await kurz.stats.store.totals(Subject(SubjectKind.LINK, 4711))
    assert (clicks, moments.number) == (0, 0)
