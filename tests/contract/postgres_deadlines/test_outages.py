"""Calls of a PostgreSQL that does not answer end in time, and leave nothing behind."""

import asyncio
import time

import pytest

from kurz.errors import StoreUnavailable
from kurz.storage.engine import postgres as postgres_engine
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.engine.postgres import POOL_SIZE, PostgresDatabase
from support.long_run import in_the_long_run
from support.postgres_calls import (
    LATE_SECONDS,
    RECOVERY_SECONDS,
    nothing_is_left,
    number_of_backends,
    recovered,
    seconds_of_outage,
    sleep,
    touch,
    use_all,
)
from support.postgres_troubles import cut, frozen, swallowed
from support.slack import DEADLINES, slack

pytestmark = pytest.mark.deadlines

# Each of both stands once in the normal run.
TROUBLES = [(swallowed, "just used"), (frozen, "idle"), (cut, "none yet")]
MORE_TROUBLES = [
    (fault, connections)
    for fault in (swallowed, frozen, cut)
    for connections in ("none yet", "just used", "idle")
    if (fault, connections) not in TROUBLES
]


async def read_soon(database: PostgresDatabase) -> None:
    with deadline(0.5):
        await database.read(touch)


@pytest.mark.parametrize(("fault", "connections"), [*TROUBLES, *in_the_long_run(*MORE_TROUBLES)])
async def test_every_call_ends_in_time_and_all_is_well_soon_after(
    own_postgres, proxy, database, lookups, fault, connections
):
    tasks_before = asyncio.all_tasks()
    if connections != "none yet":
        await recovered(lambda: lookups.find(0, "none"), lambda: use_all(database))
    if connections == "idle":
        await asyncio.sleep(2 * postgres_engine.TESTED_AFTER_SECONDS)
    with fault(own_postgres, proxy):
        for _ in range(2):
            reads = [seconds_of_outage(read_soon(database)) for _ in range(2 * POOL_SIZE)]
            writes = [seconds_of_outage(database.write(touch)) for _ in range(POOL_SIZE)]
            visits = [seconds_of_outage(lookups.find(0, "none")) for _ in range(150)]
            *_, check = took = await asyncio.gather(
                *visits, *writes, *reads, seconds_of_outage(database.check())
            )
            assert max(took[:150]) < DEADLINES.lookup_seconds + LATE_SECONDS
            assert max(took) < DEADLINES.write_seconds + LATE_SECONDS
            assert check < DEADLINES.write_seconds + LATE_SECONDS
    await recovered(
        lambda: database.write(touch),
        lambda: database.read(touch),
        lambda: lookups.find(0, "none"),
        database.check,
    )
    await recovered(lambda: use_all(database))
    await nothing_is_left(database, tasks_before)
    assert 1 <= database.counts()["database_connections"] <= POOL_SIZE
    assert 1 <= lookups.connections <= 2
    if fault is not swallowed:  # which tells the server nothing, either
        await number_of_backends(own_postgres, "true", POOL_SIZE + 2)


@pytest.mark.long  # there, deadlines are the usual ones
async def test_a_connection_that_takes_longer_than_anybody_waits_is_made_all_the_same(
    proxy, database, lookups
):
    proxy.delay(0.12)
    with pytest.raises(StoreUnavailable):
        await database.write(touch)
    await recovered(lambda: database.write(touch), lambda: lookups.find(0, "none"))


async def test_a_hole_that_opens_while_connections_are_made_swallows_none(proxy, database):
    proxy.delay(0.05)
    with deadline(LONG_SECONDS):  # connecting itself takes less, at most
        calls = [asyncio.create_task(database.write(touch)) for _ in range(POOL_SIZE)]
    while proxy.replies < 2 * POOL_SIZE and not any(  # noqa: ASYNC110  counts
        call.done() for call in calls
    ):
        await asyncio.sleep(0.01)
    proxy.black_hole()
    for outage in await asyncio.gather(*calls, return_exceptions=True):
        # A busy machine may make one before the others.
        assert outage is None or isinstance(outage, StoreUnavailable)
    proxy.pass_on()
    await recovered(lambda: use_all(database))


async def test_what_takes_long_by_its_nature_is_given_the_time(database):
    await recovered(lambda: database.write(touch))  # connects
    with deadline(DEADLINES.write_seconds + slack(2)):
        await database.write(sleep, DEADLINES.write_seconds + 0.2)
    assert (
        await seconds_of_outage(database.write(sleep, 30)) < DEADLINES.write_seconds + LATE_SECONDS
    )


async def test_a_process_that_stood_still_itself_does_not_blame_postgres(proxy, lookups):
    await recovered(lambda: lookups.find(0, "abc"))  # connects
    timeouts, replies = lookups.timeouts, proxy.replies
    asked = asyncio.create_task(lookups.find(0, "abc"))
    for _ in range(10):
        await asyncio.sleep(0)  # until the query is on its way
    started = time.monotonic()
    while proxy.replies == replies:  # the proxy has a thread of its own
        assert time.monotonic() - started < RECOVERY_SECONDS
        time.sleep(0.01)  # noqa: ASYNC251  as an import or the machine's load may
    time.sleep(DEADLINES.lookup_seconds + 0.1)  # noqa: ASYNC251  likewise
    assert (await asked).route is None
    assert lookups.timeouts == timeouts
