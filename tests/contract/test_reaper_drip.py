"""Links that expire one after the other, all the time, keep the reaper from nothing."""

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from kurz.clock import SystemClock
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.links.ending.reaper_admin import RetentionPlan
from kurz.links.ending.retention import PRESETS
from kurz.scheduling import Result, RunContext
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.engine.instants import read_now
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.endings import make
from support.engines import without_redis

engine = without_redis  # which has no part in it

RATE = 200  # links that expire in a second


class Drip(SqlReaperStore):
    """Whenever it tells the time, another link has expired."""

    def __init__(self, kurz: Kurz) -> None:
        super().__init__(kurz.database, SystemClock(), timedelta(days=365))
        self._kurz = kurz
        self._expired = 0

    async def now(self) -> datetime:
        await expire(self._kurz, [f"late-{self._expired}"])
        self._expired += 1
        return await super().now()


def make_reaper(store: SqlReaperStore, longest: timedelta) -> Reaper:
    plan = RetentionPlan(PRESETS["immediate"], has_archive=False)
    return Reaper(store, plan, ReaperPace(1000, timedelta(), longest))


async def expire(kurz: Kurz, codes: Sequence[str]) -> None:
    """Makes links with these codes, which expire now."""

    def insert(connection: sa.Connection) -> None:
        now = read_now(connection, SystemClock())
        some = sa.select(links).where(links.c.short_code == "template")
        template = {**connection.execute(some).mappings().one()}
        del template["id"]
        changed = {"link_type": "TEMPORARY", "expires_at": now}
        rows = [{**template, **changed, "short_code": code} for code in codes]
        if rows:
            connection.execute(sa.insert(links), rows)

    await kurz.database.write(insert)


async def count_expired(kurz: Kurz) -> int:
    query = sa.select(sa.func.count()).select_from(links).where(links.c.expires_at.is_not(None))
    return await kurz.database.read(lambda it: it.execute(query).scalar_one())


async def test_a_run_ends_although_links_go_on_expiring(kurz):
    await make(kurz, custom_code="template")
    await expire(kurz, [f"early-{number}" for number in range(50)])
    context = RunContext(asyncio.Event())
    result = await make_reaper(Drip(kurz), timedelta(seconds=5)).run(context)
    assert result == Result()
    # Also what expired while it looked at the clock for the first time.
    assert context.counts == {"marked": 51, "purged": 51}


@pytest.mark.long
async def test_a_steady_drip_leaves_a_bounded_backlog(kurz):
    """Runs of a second, one after the other, for half a minute."""
    await make(kurz, custom_code="template")
    store = SqlReaperStore(kurz.database, SystemClock(), timedelta(days=365))
    reaper = make_reaper(store, timedelta(seconds=1))
    made, purged, backlogs = 0, 0, []

    async def drip() -> None:
        nonlocal made
        began = time.monotonic()
        while (seconds := time.monotonic() - began) < 30:
            due = range(made, int(seconds * RATE))
            await expire(kurz, [f"drip-{number}" for number in due])
            made = due.stop
            await asyncio.sleep(0.005)

    dripping = asyncio.create_task(drip())
    while not dripping.done():
        context = RunContext(asyncio.Event())
        await reaper.run(context)
        purged += context.counts["purged"]
        backlogs.append(await count_expired(kurz))
        await asyncio.sleep(0.2)
    await dripping
    assert made >= 29 * RATE
    assert purged + await count_expired(kurz) == made
    assert max(backlogs) <= 5 * RATE, backlogs
