"""SQLite commits the writes that wait together in one group."""

import asyncio
import threading
import time

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.engine.sqlite import SqliteDatabase
from support.notes import (
    Gate,
    Mistake,
    add,
    add_and_fail,
    add_twice_badly,
    create_table,
    fail_for_a_reason,
    texts,
    texts_in,
)


async def test_parallel_writes_share_commits_and_are_all_durable(database, path):
    before = database.counts()
    answers = await asyncio.gather(*(database.write(add, f"{n:03}") for n in range(200)))
    assert answers == [f"{n:03}" for n in range(200)] == texts_in(path)
    after = database.counts()
    assert after["database_writes"] - before["database_writes"] == 200
    assert after["database_commits"] - before["database_commits"] <= 40


async def test_writes_one_after_the_other_commit_each(database, path):
    before = database.counts()["database_commits"]
    for number in range(5):
        await database.write(add, str(number))
        assert texts_in(path) == [str(n) for n in range(number + 1)]
    assert database.counts()["database_commits"] - before == 5


async def test_calls_of_a_group_run_in_the_order_they_came(database):
    order: list[int] = []
    await asyncio.gather(
        *(database.write(lambda _, number=number: order.append(number)) for number in range(50))
    )
    assert order == list(range(50))


@pytest.mark.parametrize("bad", [add_and_fail, add_twice_badly])
async def test_a_mistaken_write_fails_alone_and_leaves_nothing(database, path, bad):
    gate = Gate()
    first = await gate.hold(database)
    calls = [
        asyncio.create_task(database.write(bad if n in (0, 7, 19) else add, f"{n:02}"))
        for n in range(20)
    ]
    await asyncio.sleep(0)
    gate.opened.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    await first
    good = [f"{n:02}" for n in range(20) if n not in (0, 7, 19)]
    assert [answer for answer in answers if isinstance(answer, str)] == good
    wrong = [answer for answer in answers if isinstance(answer, Exception)]
    assert len(wrong) == 3
    assert {type(error) for error in wrong} == {
        Mistake if bad is add_and_fail else sa.exc.IntegrityError
    }
    assert texts_in(path) == good
    assert await database.read(texts) == good


async def test_a_mistake_keeps_its_cause(database):
    for run in database.write, database.read:
        with pytest.raises(Mistake) as raised:
            await run(fail_for_a_reason)
        assert repr(raised.value.__cause__) == "KeyError('the reason')"


async def test_a_cancelled_caller_does_not_lose_the_write(database, path):
    gate = Gate()
    first = await gate.hold(database)
    waiting = [asyncio.create_task(database.write(add, name)) for name in ("kept", "left")]
    await asyncio.sleep(0)
    waiting[1].cancel()
    gate.opened.set()
    await first
    assert await waiting[0] == "kept"
    with pytest.raises(asyncio.CancelledError):
        await waiting[1]
    assert texts_in(path) == ["kept", "left"]


async def test_a_write_after_a_cancelled_one_is_answered(database):
    task = asyncio.create_task(database.write(add, "first"))
    await asyncio.sleep(0)
    task.cancel()
    assert await database.write(add, "second") == "second"
    assert await database.read(texts) == ["first", "second"]


async def test_closing_finishes_the_calls_that_wait(path):
    database = SqliteDatabase(path)
    await database.write(create_table)
    gate = Gate()
    first = await gate.hold(database)
    calls = [asyncio.create_task(database.write(add, str(n))) for n in range(9)]
    await asyncio.sleep(0)
    closing_down = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable):
        await database.write(add, "too late")
    assert not closing_down.done()
    gate.opened.set()
    assert await asyncio.gather(*calls) == [str(n) for n in range(9)]
    await closing_down
    await first
    assert texts_in(path) == [str(n) for n in range(9)]


async def test_an_unused_database_can_be_closed(path):
    await SqliteDatabase(path).close()


async def test_closing_ends_the_threads_and_leaves_one_file(path):
    before = set(threading.enumerate())
    database = SqliteDatabase(path)
    await database.write(create_table)
    await asyncio.gather(*(database.read(texts) for _ in range(10)))
    await database.close()
    ours = {thread.name for thread in set(threading.enumerate()) - before}
    assert not {name for name in ours if name.startswith("kurz-")}
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_a_process_that_writes_all_the_time_lets_others_write(database, path):
    """Each of their writes waits for a few of its writes, not for a gap between them."""
    busy, is_over = SqliteDatabase(path), asyncio.Event()

    async def write_on() -> None:
        while not is_over.is_set():
            await busy.write(lambda _: time.sleep(0.01))

    writing = asyncio.create_task(write_on())
    waited_for = []
    for number in range(20):
        before = busy.counts()["database_commits"]
        await database.write(add, f"{number:02}")
        waited_for.append(busy.counts()["database_commits"] - before)
    is_over.set()
    await writing
    await busy.close()
    assert max(waited_for) <= 3, waited_for
    assert len(texts_in(path)) == 20
