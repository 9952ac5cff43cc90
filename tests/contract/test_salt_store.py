"""The salts of visitors, on both engines: one a day for everybody, and none for long."""

import asyncio
import os
from datetime import UTC, date, datetime, timedelta

import pytest
import sqlalchemy as sa

from kurz.clicks.record import UNKNOWN_VISITOR
from kurz.clicks.visitors import SALT_BYTES, Visitors
from kurz.storage.clicks.salts import SqlSaltStore
from kurz.storage.schema.clicks import visitor_salts
from kurz.wiring.core import open_kurz

DAY = date(2026, 3, 1)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def store(kurz) -> SqlSaltStore:
    return SqlSaltStore(kurz.database)


def days(connection: sa.Connection) -> list[date]:
    return list(connection.execute(sa.select(visitor_salts.c.day).order_by("day")).scalars())


def salt(number: int) -> bytes:
    return bytes([number]) * SALT_BYTES


async def test_the_first_salt_of_a_day_is_everybodys(store):
    assert await store.keep(DAY, salt(1)) == salt(1)
    assert await store.keep(DAY, salt(2)) == salt(1)
    assert await store.keep(DAY + timedelta(days=1), salt(3)) == salt(3)
    assert await store.keep(DAY, salt(4)) == salt(1)


async def test_many_at_once_get_the_same_salt(store):
    found = await asyncio.gather(*(store.keep(DAY, salt(number)) for number in range(20)))
    assert len(set(found)) == 1
    assert len(found[0]) == SALT_BYTES


async def test_a_salt_is_erased_two_days_after_its_own(store, kurz):
    for ahead in range(5):
        await store.keep(DAY + timedelta(days=ahead), salt(ahead))
        kept = [DAY + timedelta(days=day) for day in range(max(ahead - 1, 0), ahead + 1)]
        assert await kurz.database.read(days) == kept


async def test_salts_of_days_without_a_server_are_erased_at_the_next_start(store, kurz):
    await store.keep(DAY, salt(1))
    await store.keep(DAY + timedelta(days=30), salt(2))
    assert await kurz.database.read(days) == [DAY + timedelta(days=30)]


async def test_two_instances_know_the_same_visitors_over_midnight(store, settings, clock):
    async with open_kurz(settings, clock) as other:
        workers = [Visitors(store), Visitors(SqlSaltStore(other.database))]
        found: list[bytes] = []
        for now in (NOON, MIDNIGHT - timedelta(seconds=1), MIDNIGHT):
            await asyncio.gather(*(worker.refresh(now) for worker in workers))
            visits = {worker.visit("203.0.113.77", b"agent", b"", b"", 0) for worker in workers}
            assert len(visits) == 1
            found += visits
    assert found[0] == found[1] != found[2]
    assert UNKNOWN_VISITOR not in {visit[8:16] for visit in found}


@on_sqlite
async def test_nothing_of_an_erased_salt_is_left_in_the_file(store, kurz, settings):
    secret, later = os.urandom(SALT_BYTES), os.urandom(SALT_BYTES)
    await store.keep(DAY, secret)
    await store.keep(DAY + timedelta(days=2), later)
    await kurz.database.close()
    files = [path.read_bytes() for path in settings.data_dir.rglob("*") if path.is_file()]
    assert any(later in data for data in files)
    assert not any(secret[:16] in data for data in files)
