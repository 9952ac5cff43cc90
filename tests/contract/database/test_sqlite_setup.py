"""How SQLite is set up: WAL, syncs, readers that cannot write, and both drivers."""

import asyncio
from types import ModuleType

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.engine.sqlite import SqliteDatabase, can_use_wal, default_driver
from kurz.wiring.engine import Engine, prepare
from support.notes import (
    Mistake,
    add,
    add_and_fail,
    create_table,
    driver_of_every_kind,
    texts,
    texts_in,
)


@driver_of_every_kind
async def test_reads_cannot_write(path, driver):
    database = SqliteDatabase(path, driver)
    await database.write(create_table)
    with pytest.raises(StoreUnavailable):
        await database.read(add, "x")
    assert await database.read(texts) == []
    await database.close()


def pragmas(connection: sa.Connection) -> tuple[str, int]:
    journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
    synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar_one()
    return str(journal), int(synchronous)


@driver_of_every_kind
async def test_every_connection_syncs_and_uses_wal_where_it_is_safe(path, driver: ModuleType):
    database = SqliteDatabase(path, driver)
    journal = "wal" if can_use_wal(driver.sqlite_version_info) else "delete"
    full = 2
    assert await database.write(pragmas) == (journal, full)
    assert await database.read(pragmas) == (journal, full)
    await database.close()


@pytest.mark.parametrize(("millis", "waited"), [(1000, 2000), (7000, 7000)])
async def test_a_write_that_may_take_longer_waits_longer_for_others(tmp_path, millis, waited):
    settings = Settings(data_dir=tmp_path, database_write_milliseconds=millis)
    await prepare(settings, upgrades_postgres=False)
    database = Engine(settings).open_database()

    def busy_millis(connection: sa.Connection) -> int:
        return int(connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one())

    assert await database.write(busy_millis) == waited
    assert await database.read(busy_millis) == waited
    await database.close()


def test_the_driver_of_kurz_is_safe_with_wal():
    assert can_use_wal(default_driver.sqlite_version_info)


@driver_of_every_kind
async def test_every_driver_writes_and_reads_in_parallel(path, driver):
    database = SqliteDatabase(path, driver)
    await database.write(create_table)
    answers = await asyncio.gather(
        *(database.write(add if n % 5 else add_and_fail, f"{n:02}") for n in range(50)),
        *(database.read(texts) for _ in range(50)),
        return_exceptions=True,
    )
    assert {type(answer) for answer in answers} == {str, Mistake, list}
    good = [f"{n:02}" for n in range(50) if n % 5]
    assert await database.read(texts) == good
    await database.close()
    assert texts_in(path) == good


async def test_a_read_sees_every_write_that_was_answered(database):
    for number in range(20):
        await database.write(add, f"{number:02}")
        lists = await asyncio.gather(*(database.read(texts) for _ in range(3)))
        assert [len(each) for each in lists] == [number + 1] * 3


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [
        ((3, 40, 1), False),
        ((3, 50, 4), False),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 51, 10), True),
        ((3, 52, 0), False),
        ((3, 53, 0), True),
        ((3, 53, 4), True),
        ((3, 100, 0), True),
        ((4, 0, 0), True),
    ],
    ids=str,
)
def test_versions_that_may_use_wal(version, is_safe):
    assert can_use_wal(version) is is_safe
