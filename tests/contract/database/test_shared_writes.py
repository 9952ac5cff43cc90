"""Writes of several callers that one query handles, on both engines."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import MOST_TOGETHER
from kurz.storage.engine.deadlines import Deadlines
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.engine.shared_writes import AT_ONCE, SharedWrites
from kurz.storage.engine.sqlite import SqliteDatabase
from support.notes import Gate, Mistake, create_table, texts
from support.patience import PATIENT

AnyDatabase = SqliteDatabase | PostgresDatabase
Adder = Callable[[sa.Connection, Sequence[str]], list[str]]


@pytest.fixture(params=["sqlite", "postgres"])
async def shared(request: pytest.FixtureRequest, path) -> AsyncIterator[AnyDatabase]:
    if request.param == "sqlite":
        database: AnyDatabase = SqliteDatabase(path)
    else:
        database = PostgresDatabase(request.getfixturevalue("postgres_url"), deadlines=PATIENT)
    await database.write(create_table)
    yield database
    await database.close()


def adder(sizes: list[int]) -> Adder:
    """Adds the notes, and records how many it got at once. Refuses bad ones."""

    def add_all(connection: sa.Connection, notes: Sequence[str]) -> list[str]:
        sizes.append(len(notes))
        for note in notes:
            connection.execute(sa.text("INSERT INTO notes VALUES (:text)"), {"text": note})
            if note.startswith("bad"):
                raise Mistake(note)
        return [note.upper() for note in notes]

    return add_all


async def test_callers_that_wait_share_a_query_and_each_gets_its_own_result(shared):
    sizes: list[int] = []
    add_all, notes = adder(sizes), [f"note {n:03}" for n in range(200)]
    found = await asyncio.gather(*(shared.write_together(add_all, note) for note in notes))
    assert found == [note.upper() for note in notes]
    assert await shared.read(texts) == notes
    assert sum(sizes) == 200
    assert max(sizes) == MOST_TOGETHER
    assert len(sizes) <= 8


async def test_a_bad_item_fails_alone(shared):
    notes = [f"bad {n}" if n in (0, 7, 19) else f"{n:02}" for n in range(20)]
    add_all = adder([])
    found = await asyncio.gather(
        *(shared.write_together(add_all, note) for note in notes), return_exceptions=True
    )
    good = [note for note in notes if not note.startswith("bad")]
    assert [it for it in found if isinstance(it, str)] == good
    assert [str(it) for it in found if isinstance(it, Mistake)] == ["bad 0", "bad 7", "bad 19"]
    assert await shared.read(texts) == good


async def test_closing_finishes_shared_writes(shared):
    add_all = adder([])
    calls = [asyncio.create_task(shared.write_together(add_all, f"{n:03}")) for n in range(100)]
    await asyncio.sleep(0)
    await shared.close()
    assert await asyncio.gather(*calls) == [f"{n:03}" for n in range(100)]


async def test_a_caller_that_leaves_costs_the_others_nothing(shared):
    add_all = adder([])
    calls = [asyncio.create_task(shared.write_together(add_all, f"{n:02}")) for n in range(10)]
    await asyncio.sleep(0)
    calls[3].cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(found.pop(3), asyncio.CancelledError)
    assert found == [f"{n:02}" for n in range(10) if n != 3]
    assert {*found} <= {*await shared.read(texts)}


async def test_other_writes_keep_their_place_between_shared_ones(database):
    sizes: list[int] = []
    add_all, gate = adder(sizes), Gate()
    first = await gate.hold(database)
    calls = [asyncio.create_task(database.write_together(add_all, f"{n}")) for n in range(4)]
    await asyncio.sleep(0)
    between = asyncio.create_task(database.write(lambda _: sizes.append(-1)))
    await asyncio.sleep(0)
    calls += [asyncio.create_task(database.write_together(add_all, f"{n}")) for n in range(4, 9)]
    await asyncio.sleep(0)
    gate.opened.set()
    await asyncio.gather(first, between, *calls)
    assert sizes == [4, -1, 5]


async def test_nobody_waits_longer_than_a_write_may_take(postgres_url):
    def sleep(connection: sa.Connection, items: Sequence[int]) -> Sequence[int]:
        connection.execute(sa.text("SELECT pg_sleep(20)"))
        return items

    database = PostgresDatabase(postgres_url, deadlines=Deadlines(write_seconds=0.3))
    await database.write(create_table)
    started = time.monotonic()
    found = await asyncio.gather(
        *(database.write_together(sleep, n) for n in range(300)), return_exceptions=True
    )
    assert {isinstance(error, StoreUnavailable) for error in found} == {True}
    await database.close()
    assert time.monotonic() - started < 10


async def test_a_caller_that_returns_as_the_last_transactions_end_is_not_left_waiting():
    calls: list[asyncio.Future[None]] = []

    async def write(_: object, items: Sequence[object]) -> Sequence[object]:
        if len(calls) < AT_ONCE:
            calls.append(asyncio.get_running_loop().create_future())
            await calls[-1]
        return items

    def query(_: sa.Connection, items: Sequence[str]) -> Sequence[str]:
        return items

    shared = SharedWrites(write)

    async def come_back() -> None:
        assert await shared.run(query, "first", 5) == "first"
        assert await shared.run(query, "again", 5) == "again"

    callers = [come_back(), *(shared.run(query, "once", 5) for _ in range(1, AT_ONCE))]
    tasks = []
    for expected, caller in enumerate(callers, start=1):
        tasks.append(asyncio.create_task(caller))
        for _ in range(3):  # the caller, its task, its write
            await asyncio.sleep(0)
        assert len(calls) == expected
    for call in calls:  # all in one turn of the loop
        call.set_result(None)
    await asyncio.gather(*tasks)
    await shared.close()
