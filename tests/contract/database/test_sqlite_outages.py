"""A SQLite database that is locked, gone or broken is unavailable, and recovers."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.engine import sqlite as sqlite_engine
from kurz.storage.engine.sqlite import SqliteDatabase
from support.notes import Gate, Mistake, add, create_table, locked, texts, texts_in


@pytest.fixture
async def impatient(path: Path) -> AsyncIterator[SqliteDatabase]:
    """A database that waits a short time for others."""
    database = SqliteDatabase(path, busy_seconds=0.1)
    await database.write(create_table)
    yield database
    await database.close()


async def test_a_locked_database_is_unavailable_and_recovers(impatient, path):
    await impatient.write(add, "before")
    with locked(path):
        answers = await asyncio.gather(
            *(impatient.write(add, str(n)) for n in range(5)), return_exceptions=True
        )
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 5
    assert await impatient.write(add, "later") == "later"
    assert texts_in(path) == ["before", "later"]


async def test_a_lock_that_passes_is_waited_for(database, path):
    with locked(path):
        task = asyncio.create_task(database.write(add, "patient"))
        await asyncio.sleep(0.2)
        assert not task.done()
    assert await task == "patient"


async def test_a_locked_database_is_still_read(impatient, path):
    """With WAL readers do not wait for writers."""
    await impatient.write(add, "before")
    with locked(path):
        assert await impatient.read(texts) == ["before"]


async def test_an_outage_in_the_middle_of_a_group_fails_all_of_it(database, path):
    """A full disk, made by SQLite's own limit on the pages of a file."""

    def limit(connection: sa.Connection) -> None:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")

    gate = Gate()
    first = await gate.hold(database)
    calls = [
        asyncio.create_task(database.write(add, "small")),
        asyncio.create_task(database.write(limit)),
        asyncio.create_task(database.write(add, "x" * 100_000)),
    ]
    await asyncio.sleep(0)
    gate.opened.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    await first
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    assert texts_in(path) == []
    assert await database.write(add, "later") == "later"
    assert texts_in(path) == ["later"]


async def test_a_folder_that_is_gone_is_unavailable(tmp_path):
    database = SqliteDatabase(tmp_path / "missing" / "test.db")
    for run in database.read, database.write:
        with pytest.raises(StoreUnavailable):
            await run(texts)
    (tmp_path / "missing").mkdir()
    await database.write(create_table)
    assert await database.read(texts) == []
    await database.close()


async def test_a_file_that_is_no_database_is_unavailable(path):
    path.write_bytes(b"not a database " * 1000)
    database = SqliteDatabase(path)
    for run in database.read, database.write:
        with pytest.raises(StoreUnavailable):
            await run(texts)
    await database.close()


@pytest.mark.parametrize(
    ("code", "is_outage"),
    [
        *((code, True) for code in (5, 6, 7, 8, 10, 11, 13, 14, 15, 26)),
        *((code, True) for code in (5 | 2 << 8, 10 | 9 << 8, 517, 778, 1032)),
        *((code, False) for code in (1, 2, 3, 4, 9, 12, 17, 18, 19, 20, 21, 25, 2067, 1299)),
    ],
)
def test_result_codes_that_are_an_outage(code, is_outage):
    error = sqlite3.OperationalError("made up")
    error.sqlite_errorcode = code
    wrapped = sa.exc.OperationalError("SELECT 1", {}, error)
    for each in error, wrapped:
        assert isinstance(sqlite_engine.translate(each), StoreUnavailable) is is_outage


def test_other_errors_are_no_outage_of_sqlite():
    assert sqlite_engine.translate(Mistake()) is None
    assert sqlite_engine.translate(OSError()) is None
