"""Five streams of live numbers an account, in all workers and instances: in both engines."""

import asyncio

import pytest
import sqlalchemy as sa

from kurz.clicks.errors import TooManyStreams
from kurz.clicks.live import Live
from kurz.clicks.stats import EVERYTHING
from kurz.storage.people.held_slots import SqlStreamSlots
from kurz.storage.schema.jobs import running_streams
from support.engines import without_redis
from support.feed import until_told

engine = without_redis  # which has no part in it
ADA, BOB = 7, 8
MAX_OF_ACCOUNT = 5


def worker(kurz) -> tuple[Live, SqlStreamSlots]:
    slots = SqlStreamSlots(kurz.database, kurz.clock, MAX_OF_ACCOUNT)
    return Live(kurz.stats.store, kurz.clock, slots=slots), slots


async def count(kurz) -> int:
    return len(await kurz.database.read(lambda it: it.execute(sa.select(running_streams)).all()))


async def wait_for(kurz, wanted: int) -> None:
    """Streams are given back behind the answer."""

    async def is_so() -> bool:
        return await count(kurz) == wanted

    await until_told(is_so)


async def test_streams_of_an_account_are_counted_in_all_workers(kurz):
    workers = [worker(kurz) for _ in range(8)]
    begun = await asyncio.gather(
        *(live.listen(EVERYTHING, ADA, 60, 60) for live, _ in workers), return_exceptions=True
    )
    refused = [each for each in begun if isinstance(each, BaseException)]
    streams = [each for each in begun if not isinstance(each, BaseException)]
    assert [type(error) for error in refused] == [TooManyStreams] * 3
    for each in streams:
        assert await anext(each) is not None
    other = await workers[0][0].listen(EVERYTHING, BOB, 60, 60)
    assert await anext(other) is not None
    once = await workers[0][0].listen(EVERYTHING, ADA, 0, 60)  # one look, which is no stream
    assert await anext(once) is not None
    await once.aclose()
    for each in (streams[0], other):
        await each.aclose()
    await wait_for(kurz, 4)
    again = await workers[-1][0].listen(EVERYTHING, ADA, 60, 60)
    assert await anext(again) is not None
    for each in (*streams[1:], again):
        await each.aclose()
    await wait_for(kurz, 0)


async def test_a_listener_who_is_cut_off_gives_its_stream_back(kurz):
    live, slots = worker(kurz)
    stream = await live.listen(EVERYTHING, ADA, 60, 60)
    has_heard = asyncio.Event()

    async def hear() -> None:
        async for _ in stream:
            has_heard.set()

    task = asyncio.create_task(hear())
    await has_heard.wait()
    assert slots._held
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_for(kurz, 0)


async def test_a_listener_who_hears_nothing_gives_its_stream_back(kurz):
    live, _ = worker(kurz)
    stream = await live.listen(EVERYTHING, ADA, 60, 60)
    assert await count(kurz) == 1
    await stream.aclose()
    await wait_for(kurz, 0)


@pytest.mark.parametrize("until", [0, 2**62])
async def test_streams_of_a_process_that_died_count_no_longer(kurz, until):
    """Also of one whose clock was wrong."""
    live, slots = worker(kurz)
    for _ in range(MAX_OF_ACCOUNT):
        await slots.take(ADA)
    with pytest.raises(TooManyStreams):
        await live.listen(EVERYTHING, ADA, 60, 60)
    change = sa.update(running_streams).values(until=until)
    await kurz.database.write(lambda it: it.execute(change).rowcount)
    stream = await live.listen(EVERYTHING, ADA, 60, 60)
    await stream.aclose()


async def test_what_killed_processes_leave_behind_is_removed_for_all_accounts(kurz):
    _, slots = worker(kurz)
    for account_id in range(100, 110):
        await slots.take(account_id)
    change = sa.update(running_streams).values(until=0)
    await kurz.database.write(lambda it: it.execute(change).rowcount)
    await slots.take(ADA)
    assert await count(kurz) == 1


async def test_streams_are_renewed_and_lost_ones_taken_again(kurz):
    """Also where another stream has the same number by then."""
    slots = SqlStreamSlots(kurz.database, kurz.clock, 2, renewal_seconds=0.01)
    slot = await slots.take(ADA)
    assert slot is not None
    with slot:
        change = sa.update(running_streams).values(holder=b"another")
        await kurz.database.write(lambda it: it.execute(change).rowcount)
        await wait_for(kurz, 2)
        assert await slots.take(ADA) is None
    await wait_for(kurz, 1)
