"""The change log is kept short, and long enough for all who follow it."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.storage.engine.changes import KEPT_NUMBERS
from kurz.storage.followers.change_log_trimmer import BATCH, ChangeLogTrimmer
from kurz.storage.schema.links import changes, count_position, search_position
from kurz.storage.schema.safety import destination_position
from kurz.wiring.core import Kurz
from kurz.wiring.jobs import open_jobs
from support.failing import FailingWrites
from support.feed import SOON_SECONDS, another_process, until, until_told

pytestmark = pytest.mark.parametrize("engine", ["sqlite", "postgres"], indirect=True)
OLD = 2 * BATCH + 500  # rows that may go


async def fill(
    kurz: Kurz,
    count: int,
    *,
    indexed: int,
    counted: int | None = None,
    followed: int | None = None,
) -> None:
    """With rows of this moment, so many of which are in the index of texts, counted, and followed
    to their destinations; if nothing is said of these, as many."""
    row = {"link_id": 1, "workspace_id": 0, "short_code": "x", "version": 2}
    rows = [{**row, "changed_at": kurz.clock.micros()}] * count

    def write(connection: sa.Connection) -> None:
        connection.execute(sa.insert(changes), rows)
        reached = indexed if counted is None else counted
        connection.execute(sa.update(count_position).values(change_id=reached))
        reached = indexed if followed is None else followed
        connection.execute(sa.update(destination_position).values(change_id=reached))
        if connection.dialect.name == "sqlite":
            connection.execute(sa.update(search_position).values(change_id=indexed))

    await kurz.database.write(write)


async def first(kurz: Kurz) -> int:
    query = sa.select(sa.func.min(changes.c.id))
    return await kurz.database.read(lambda connection: connection.execute(query).scalar_one())


async def until_first(kurz: Kurz, number: int) -> None:
    async def is_so() -> bool:
        return await first(kurz) == number

    await until_told(is_so)


async def trim(kurz: Kurz, *, times: int = 1) -> None:
    """By so many at once, until each has done what there is to do."""
    trimmers = [ChangeLogTrimmer(kurz.database, kurz.clock) for _ in range(times)]
    await asyncio.gather(*(trimmer._trim() for trimmer in trimmers))


@pytest.mark.parametrize("times", [1, 4])
async def test_rows_that_are_old_and_far_behind_are_removed(kurz, clock, times):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD)
    await trim(kurz, times=times)
    assert await first(kurz) == 1
    clock.advance(days=1)
    await trim(kurz, times=times)
    assert await first(kurz) == 1  # a day old, and not older
    clock.advance(microseconds=1)
    await trim(kurz, times=times)
    assert await first(kurz) == OLD + 1
    await trim(kurz, times=times)
    assert await first(kurz) == OLD + 1


async def test_nothing_is_removed_while_the_clock_is_not_believed(kurz, clock):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD)
    clock.advance(days=2)
    await ChangeLogTrimmer(kurz.database, kurz.clock, is_believed=lambda _: False)._trim()
    assert await first(kurz) == 1


async def test_the_last_rows_stay_however_old(kurz, clock):
    await fill(kurz, KEPT_NUMBERS, indexed=KEPT_NUMBERS)
    clock.advance(days=10)
    await trim(kurz)
    assert await first(kurz) == 1


async def test_young_rows_stay_however_many(kurz, clock):
    await fill(kurz, 700, indexed=700)
    clock.advance(days=2)
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=700 + KEPT_NUMBERS + OLD)
    await trim(kurz)
    assert await first(kurz) == 701


async def test_what_the_index_of_texts_has_not_taken_stays(kurz, clock, engine):
    await fill(
        kurz,
        KEPT_NUMBERS + OLD,
        indexed=1200,
        counted=KEPT_NUMBERS + OLD,
        followed=KEPT_NUMBERS + OLD,
    )
    clock.advance(days=2)
    await trim(kurz)
    assert await first(kurz) == (1201 if engine == "sqlite" else OLD + 1)


async def test_what_is_not_counted_yet_stays(kurz, clock):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD, counted=1200)
    clock.advance(days=2)
    await trim(kurz)
    assert await first(kurz) == 1201


async def test_what_is_not_followed_to_its_destination_yet_stays(kurz, clock):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD, followed=1200)
    clock.advance(days=2)
    await trim(kurz)
    assert await first(kurz) == 1201


async def test_where_nothing_is_checked_the_log_does_not_wait_for_it(kurz, clock):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD, followed=0)
    clock.advance(days=2)
    await ChangeLogTrimmer(kurz.database, kurz.clock, are_followed=False)._trim()
    assert await first(kurz) == OLD + 1


async def test_the_jobs_process_trims_and_feeds_go_on(kurz, clock):
    await fill(kurz, KEPT_NUMBERS + OLD, indexed=KEPT_NUMBERS + OLD)
    clock.advance(days=2)
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        async with open_jobs(kurz):
            await until_first(kurz, OLD + 1)
        await fill(kurz, 1, indexed=KEPT_NUMBERS + OLD)
        await until(lambda: other.settled == KEPT_NUMBERS + OLD + 1)
        assert len(other.starts) == 1


async def test_an_outage_is_waited_out(kurz, clock):
    failing: Any = FailingWrites(kurz.database)
    await fill(kurz, KEPT_NUMBERS + 10, indexed=KEPT_NUMBERS + 10)
    clock.advance(days=2)
    trimmer = ChangeLogTrimmer(failing, kurz.clock, wake_seconds=0.01)
    trimmer.start()
    await until_first(kurz, 11)
    await trimmer.stop()
