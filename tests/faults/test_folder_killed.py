"""The process that folds old days of clicks is killed again and again: no report changes."""

import asyncio
import random
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.months import first_open_day
from kurz.clicks.periods import Interval, read_period
from kurz.clicks.stats import EVERYTHING, About
from kurz.clicks.visitors import DAY_MICROS
from kurz.clock import SystemClock
from kurz.storage.schema.clicks import click_days, click_totals
from kurz.wiring.core import Kurz
from support.beside import start_beside
from support.counted import Clicks
from support.engines import without_redis

engine = without_redis  # which has no part in it
pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
LINKS = range(1, 101)
ROUNDS = 200  # at most; far fewer are needed


@pytest.fixture
def clock() -> SystemClock:
    """The processes use the clock of the machine."""
    return SystemClock()


async def numbers(kurz: Kurz) -> list[object]:
    now = kurz.clock.now()
    found: list[object] = []
    abouts = [About(Subject(SubjectKind.LINK, link_id)) for link_id in (1, 50, 100)]
    for about in (*abouts, EVERYTHING):
        for days in (700, 400, 333):
            start = str((now - timedelta(days=days)).date())
            period = read_period(now, start, str(now.date()), "Asia/Kolkata")
            report = await kurz.stats.get(about, period, Interval.DAY)
            found.append((report.numbers, report.points))
    return found


async def unfolded(kurz: Kurz, before: int) -> int:
    of = click_days.c
    query = sa.select(sa.func.count()).where(of.day < before, of.month.is_(None))
    return int(await kurz.database.read(lambda it: it.execute(query).scalar_one()))


async def test_whoever_is_killed_every_report_stays_as_it_was(kurz, environment):
    clicks, rng = Clicks(kurz.database), random.Random(5)
    for link_id in LINKS:
        for _ in range(30):
            at = kurz.clock.now() - timedelta(hours=rng.randrange(700 * 24))
            clicks.add_of(link_id, 7, at, visitor=str(rng.random())[:8])
    await clicks.save()
    before = await numbers(kurz)
    first_kept = first_open_day(kurz.clock.micros() // DAY_MICROS, 100)
    kills, left = 0, {await unfolded(kurz, first_kept)}
    for _ in range(ROUNDS):
        with start_beside(kurz, "support.folder_process", environment) as process:
            await asyncio.sleep(rng.uniform(0, 0.2))
            kills += process.poll() is None
            process.kill()
        left.add(await unfolded(kurz, first_kept))
        assert await numbers(kurz) == before
        if 0 in left:
            break
    assert kills > 1
    assert len(left) > 2
    of = click_days.c
    sums = sa.select(of.kind, of.subject, sa.func.sum(of.clicks)).group_by(of.kind, of.subject)
    totals = sa.select(click_totals.c.kind, click_totals.c.subject, click_totals.c.clicks)
    found = [
        {(int(kind), int(subject), int(clicks)) for kind, subject, clicks in rows}
        for rows in await kurz.database.read(
            lambda it: [it.execute(query).all() for query in (sums, totals)]
        )
    ]
    assert found[0] == found[1]
