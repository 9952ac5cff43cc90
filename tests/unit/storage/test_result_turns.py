"""Results of queries are used in different turns of the event loop."""

import asyncio

import pytest

from kurz.storage.engine.database import ping
from kurz.storage.engine.result_turns import ResultTurns
from kurz.storage.engine.sqlite import SqliteDatabase


async def use(turns: ResultTurns, used: list[int], number: int) -> None:
    await turns.wait()
    used.append(number)


async def test_results_that_arrive_together_are_used_one_in_a_turn():
    turns, used = ResultTurns(), list[int]()
    tasks = [asyncio.create_task(use(turns, used, number)) for number in range(20)]
    before, most = 0, 0
    while len(used) < 20:
        await asyncio.sleep(0)
        most, before = max(most, len(used) - before), len(used)
    assert used == list(range(20))
    assert most == 1
    await asyncio.gather(*tasks)


async def test_a_result_that_is_alone_does_not_wait():
    turns = ResultTurns()
    for _ in range(3):
        waiting = turns.wait()
        try:
            waiting.send(None)
        except StopIteration:
            await asyncio.sleep(0)
            continue
        raise AssertionError("it waits")


async def test_a_cancelled_request_does_not_take_a_turn():
    turns, used = ResultTurns(), list[int]()
    tasks = [asyncio.create_task(use(turns, used, number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()
    await asyncio.wait(tasks)
    assert used == [0, 3]


def test_the_end_of_a_loop_leaves_nothing_to_wait_for():
    turns, used = ResultTurns(), list[int]()

    async def use_some() -> None:
        async with asyncio.timeout(10):
            await asyncio.gather(*(use(turns, used, number) for number in range(3)))

    loop = asyncio.new_event_loop()
    begun = loop.create_task(use(turns, used, 9))
    loop.call_soon(loop.stop)
    loop.run_forever()  # one turn: the result has its turn, the next one never begins
    assert begun.done()
    loop.close()
    asyncio.run(use_some())
    assert used == [9, 0, 1, 2]


class NoTurn(ResultTurns):
    async def wait(self) -> None:
        raise AssertionError("it waits for a turn")


async def test_a_visitors_lookup_does_not_wait_for_a_turn(tmp_path):
    database = SqliteDatabase(tmp_path / "kurz.db")
    database._result_turns = NoTurn()
    await database.look_up(ping)
    with pytest.raises(AssertionError):
        await database.read(ping)
    await database.close()
