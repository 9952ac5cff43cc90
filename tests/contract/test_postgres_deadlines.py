"""A call of PostgreSQL ends with its time, whatever happens, and leaves nothing behind."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.engine import postgres as postgres_engine
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.engine.postgres import ABANDONED_SECONDS, MAX_WAITING, POOL_SIZE, PostgresDatabase
from kurz.storage.routes.lookups import LookUps
from kurz.wiring.engine import Engine, prepare
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresServer
from support.long_run import in_the_long_run
from support.patience import PATIENCE, PATIENT
from support.slack import DEADLINES, IS_STRICT, slack

pytestmark = pytest.mark.deadlines

LATE_SECONDS = slack(0.4)
RECOVERY_SECONDS = slack(5.0)


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[PostgresServer]:
    """A server that a test may stop for a while."""
    with PostgresServer(fsync="off", full_page_writes="off") as server:
        asyncio.run(prepare(Settings(database_url=server.url()), upgrades_postgres=False))
        yield server


@pytest.fixture
def proxy(own_postgres: PostgresServer) -> Iterator[FaultProxy]:
    with FaultProxy(own_postgres.port) as proxy:
        yield proxy


@pytest.fixture
async def database(proxy: FaultProxy) -> AsyncIterator[PostgresDatabase]:
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
    database = PostgresDatabase(url, deadlines=DEADLINES)
    yield database
    await database.close()


@pytest.fixture
def look_ups(database: PostgresDatabase) -> Iterator[LookUps]:
    look_ups = LookUps(database.hosts, seconds=DEADLINES.look_up_seconds)
    yield look_ups
    look_ups.close()


@pytest.fixture
async def patient_look_ups(proxy: FaultProxy) -> AsyncIterator[LookUps]:
    """For what is not about how long they take."""
    url = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
    database = PostgresDatabase(url, deadlines=PATIENT)
    look_ups = LookUps(database.hosts, seconds=PATIENT.look_up_seconds)
    yield look_ups
    look_ups.close()
    await database.close()


def touch(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT count(*) FROM links"))


def sleep(connection: sa.Connection, seconds: float) -> None:
    connection.execute(sa.text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


async def read_soon(database: PostgresDatabase) -> None:
    with deadline(0.5):
        await database.read(touch)


async def seconds_of_outage(call) -> float:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await call
    return time.monotonic() - started


async def recovered(*calls) -> None:
    """Returns when all calls succeed again."""
    started = time.monotonic()
    for call in calls:
        while True:
            try:
                await call()
                break
            except StoreUnavailable:
                assert time.monotonic() - started < RECOVERY_SECONDS
                await asyncio.sleep(0.05)
    assert time.monotonic() - started < RECOVERY_SECONDS


async def number_of_backends(server: PostgresServer, condition: str, expected: int) -> None:
    """Returns when so many connections are left that the server knows of, and that fit."""
    connection = await asyncpg.connect(server.url())
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"  # noqa: S608
        f" AND pid <> pg_backend_pid() AND {condition}"
    )
    started = time.monotonic()
    try:
        while await connection.fetchval(query) > expected:
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)
    finally:
        await connection.close()


@contextmanager
def black_hole(server: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    proxy.black_hole()
    yield
    proxy.pass_on()


@contextmanager
def frozen(server: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    processes = [server.pid, *map(int, children)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@contextmanager
def cut(server: PostgresServer, proxy: FaultProxy) -> Iterator[None]:
    proxy.cut()
    yield
    proxy.pass_on()


# Each of both stands once in the normal run.
TROUBLES = [(black_hole, "just used"), (frozen, "idle"), (cut, "none yet")]
MORE_TROUBLES = [
    (fault, connections)
    for fault in (black_hole, frozen, cut)
    for connections in ("none yet", "just used", "idle")
    if (fault, connections) not in TROUBLES
]


@pytest.mark.parametrize(("fault", "connections"), [*TROUBLES, *in_the_long_run(*MORE_TROUBLES)])
async def test_every_call_ends_in_time_and_all_is_well_soon_after(
    own_postgres, proxy, database, look_ups, fault, connections
):
    tasks_before = len(asyncio.all_tasks())
    if connections != "none yet":
        await recovered(lambda: look_ups.find(0, "none"), lambda: use_all(database))
    if connections == "idle":
        await asyncio.sleep(2 * postgres_engine.TESTED_AFTER_SECONDS)
    with fault(own_postgres, proxy):
        for _ in range(2):
            reads = [seconds_of_outage(read_soon(database)) for _ in range(2 * POOL_SIZE)]
            writes = [seconds_of_outage(database.write(touch)) for _ in range(POOL_SIZE)]
            visits = [seconds_of_outage(look_ups.find(0, "none")) for _ in range(150)]
            *_, check = took = await asyncio.gather(
                *visits, *writes, *reads, seconds_of_outage(database.check())
            )
            assert max(took[:150]) < DEADLINES.look_up_seconds + LATE_SECONDS
            assert max(took) < DEADLINES.write_seconds + LATE_SECONDS
            assert check < DEADLINES.write_seconds + LATE_SECONDS
    await recovered(
        lambda: database.write(touch),
        lambda: database.read(touch),
        lambda: look_ups.find(0, "none"),
        database.check,
    )
    await recovered(lambda: use_all(database))
    await nothing_is_left(tasks_before)
    assert database.counts()["database_in_use"] == 0
    assert 1 <= database.counts()["database_connections"] <= POOL_SIZE
    assert 1 <= look_ups.connections <= 2
    if fault is not black_hole:  # which tells the server nothing, either
        await number_of_backends(own_postgres, "true", POOL_SIZE + 2)


async def use_all(database: PostgresDatabase) -> None:
    """Every connection at once."""
    await asyncio.gather(*(database.write(sleep, 0.05) for _ in range(POOL_SIZE)))


async def nothing_is_left(tasks_before: int) -> None:
    """No task of a call that was given up lives on."""
    started = time.monotonic()
    while len(asyncio.all_tasks()) > tasks_before:
        assert time.monotonic() - started < RECOVERY_SECONDS
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("is_mistaken", [True, False])
async def test_a_hole_that_opens_before_the_end_of_a_transaction_swallows_no_connection(
    proxy, database, is_mistaken
):
    def fall(connection: sa.Connection) -> None:
        touch(connection)
        proxy.black_hole()
        if is_mistaken:  # then it is a rollback that hangs, else a commit
            raise ValueError

    tasks_before = len(asyncio.all_tasks())
    for _ in range(2):
        calls = [seconds_of_outage(database.write(fall)) for _ in range(POOL_SIZE)]
        assert max(await asyncio.gather(*calls)) < DEADLINES.write_seconds + LATE_SECONDS
        proxy.pass_on()
        await recovered(lambda: database.write(touch))
    await nothing_is_left(tasks_before)
    assert database.counts()["database_in_use"] == 0
    await recovered(lambda: use_all(database))


async def test_a_transaction_that_is_cut_off_does_not_keep_its_rows(proxy, database, locker):
    await locker.execute("CREATE TABLE shared (number integer)")
    await locker.execute("INSERT INTO shared VALUES (1)")

    def fall(connection: sa.Connection) -> None:
        connection.exec_driver_sql("UPDATE shared SET number = 2")
        proxy.black_hole()

    await seconds_of_outage(database.write(fall))
    # The network is never heard of again. Another instance edits the same row.
    async with asyncio.timeout(ABANDONED_SECONDS + slack(3.0)):
        await locker.execute("UPDATE shared SET number = 3")
    assert await locker.fetchval("SELECT number FROM shared") == 3
    await locker.execute("DROP TABLE shared")


async def test_a_process_that_stood_still_in_a_transaction_is_told_of_an_outage(database):
    def stand_still(connection: sa.Connection) -> None:
        touch(connection)
        connection.exec_driver_sql("SET idle_in_transaction_session_timeout = '20ms'")
        time.sleep(0.5)
        touch(connection)

    with pytest.raises(StoreUnavailable):
        await database.write(stand_still)
    await database.write(touch)


@pytest.fixture
async def locker(own_postgres: PostgresServer) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(own_postgres.url())
    yield connection
    await connection.close()


async def test_what_waits_for_a_lock_is_given_up_on_the_server_too(
    own_postgres, database, look_ups, locker
):
    await look_ups.find(0, "none")
    async with locker.transaction():
        await locker.execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
        for _ in range(8 if IS_STRICT else 2):  # patient deadlines take three times as long
            took = await asyncio.gather(
                seconds_of_outage(database.write(touch)),
                *(seconds_of_outage(look_ups.find(0, f"{n}")) for n in range(5)),
            )
            assert took[0] < DEADLINES.write_seconds + LATE_SECONDS
            assert max(took[1:]) < DEADLINES.look_up_seconds + LATE_SECONDS
        waiting, started = "SELECT count(*) FROM pg_locks WHERE NOT granted", time.monotonic()
        while await locker.fetchval(waiting) > 1:  # one may just be on its way
            assert time.monotonic() - started < LATE_SECONDS
            await asyncio.sleep(0.05)
    await asyncio.gather(database.write(touch), look_ups.find(0, "none"))
    await number_of_backends(own_postgres, "true", 4)


async def test_look_ups_do_not_notice_that_their_connections_were_ended(
    own_postgres, patient_look_ups
):
    look_ups = patient_look_ups
    for _ in range(5):
        await recovered(lambda: use_both(look_ups))
        own_postgres.ask(  # and no turn of the event loop in between, to notice it
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        await asyncio.gather(*(look_ups.find(0, f"{n}") for n in range(150)))


async def use_both(look_ups: LookUps) -> None:
    await asyncio.gather(*(look_ups.find(0, f"{n}") for n in range(150)))
    if look_ups.connections < 2:
        raise StoreUnavailable("One is being connected.")


async def test_as_many_connections_are_used_as_is_set(own_postgres):
    settings = Settings(database_url=own_postgres.url(), database_connections=5, **PATIENCE)
    database = Engine(settings).open_database()
    with deadline(LONG_SECONDS):
        slow = [asyncio.create_task(database.read(sleep, 0.5)) for _ in range(6)]
    await until_in_use(database, 3)  # two are for look-ups of redirects
    assert database.counts()["database_waiting"] == 3
    await asyncio.gather(*slow)
    assert database.counts()["database_connections"] == 3
    await database.close()


async def leave(calls: list[asyncio.Task[None]]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


async def until_in_use(database: Database, number: int) -> None:
    async with asyncio.timeout(RECOVERY_SECONDS):
        while database.counts()["database_in_use"] < number:  # noqa: ASYNC110  a count
            await asyncio.sleep(0.01)


async def test_slow_calls_hold_no_look_up_up(database, look_ups):
    await recovered(lambda: look_ups.find(0, "none"))
    with deadline(LONG_SECONDS):
        slow = [asyncio.create_task(database.read(sleep, 60)) for _ in range(POOL_SIZE + 5)]
    await until_in_use(database, POOL_SIZE)
    for _ in range(10):
        await look_ups.find(0, "none")
    assert not any(call.done() for call in slow)
    await leave(slow)


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_more_callers_than_can_wait_are_refused_at_once(database, is_at_once):
    await recovered(lambda: database.read(touch))
    full = POOL_SIZE + MAX_WAITING
    count = full + 50 if is_at_once else full
    with deadline(LONG_SECONDS):
        calls = [asyncio.create_task(database.read(sleep, 60)) for _ in range(count)]
    await until_in_use(database, POOL_SIZE)
    assert database.counts()["database_waiting"] == MAX_WAITING
    assert await seconds_of_outage(database.read(touch)) < LATE_SECONDS
    refused = [call for call in calls if call.done()]
    assert len(refused) == count - full
    for call in refused:
        assert isinstance(call.exception(), StoreUnavailable)
    await leave(calls)
    await recovered(lambda: database.read(touch))
    assert database.counts()["database_waiting"] == 0


async def test_a_caller_that_leaves_frees_its_connection(database, own_postgres):
    for _ in range(3):
        calls = [asyncio.create_task(database.read(sleep, 30)) for _ in range(POOL_SIZE)]
        await asyncio.sleep(0.2)
        await leave(calls)
        await recovered(lambda: database.write(touch))
    await number_of_backends(own_postgres, "state = 'active' AND query LIKE '%pg_sleep%'", 0)


async def test_connections_that_nobody_needs_are_closed(
    database, own_postgres, locker, monkeypatch
):
    monkeypatch.setattr(postgres_engine, "IDLE_SECONDS", 0.3)
    for _ in range(2):
        async with locker.transaction():
            await locker.execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
            with deadline(LONG_SECONDS):
                calls = [asyncio.create_task(database.read(touch)) for _ in range(POOL_SIZE)]
            async with asyncio.timeout(RECOVERY_SECONDS):
                while database.counts()["database_connections"] < POOL_SIZE:  # noqa: ASYNC110  a count
                    await asyncio.sleep(0.01)
        await asyncio.gather(*calls)
        started = time.monotonic()
        while database.counts()["database_connections"] > 1:
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)
            await database.read(touch)  # one is in use all the time
    await number_of_backends(own_postgres, "true", 2)  # one is the locker's


@pytest.mark.long  # there, deadlines are the usual ones
async def test_a_connection_that_takes_longer_than_anybody_waits_is_made_all_the_same(
    proxy, database, look_ups
):
    proxy.delay(0.12)
    with pytest.raises(StoreUnavailable):
        await database.write(touch)
    await recovered(lambda: database.write(touch), lambda: look_ups.find(0, "none"))


async def test_a_hole_that_opens_while_connections_are_made_swallows_none(proxy, database):
    proxy.delay(0.05)
    calls = [asyncio.create_task(database.write(touch)) for _ in range(POOL_SIZE)]
    while proxy.replies < 2 * POOL_SIZE:
        assert not any(call.done() for call in calls)
        await asyncio.sleep(0.01)
    proxy.black_hole()
    for outage in await asyncio.gather(*calls, return_exceptions=True):
        assert isinstance(outage, StoreUnavailable)
    proxy.pass_on()
    await recovered(lambda: asyncio.gather(*(database.write(sleep, 0.05) for _ in range(8))))


async def test_what_takes_long_by_its_nature_is_given_the_time(database):
    with deadline(DEADLINES.write_seconds + slack(2)):
        await database.write(sleep, DEADLINES.write_seconds + 0.2)
    assert (
        await seconds_of_outage(database.write(sleep, 30)) < DEADLINES.write_seconds + LATE_SECONDS
    )


async def test_a_process_that_stood_still_itself_does_not_blame_postgres(proxy, look_ups):
    await recovered(lambda: look_ups.find(0, "abc"))  # connects
    timeouts, replies = look_ups.timeouts, proxy.replies
    asked = asyncio.create_task(look_ups.find(0, "abc"))
    for _ in range(10):
        await asyncio.sleep(0)  # until the query is on its way
    started = time.monotonic()
    while proxy.replies == replies:  # the proxy has a thread of its own
        assert time.monotonic() - started < RECOVERY_SECONDS
        time.sleep(0.01)  # noqa: ASYNC251  as an import or the machine's load may
    time.sleep(DEADLINES.look_up_seconds + 0.1)  # noqa: ASYNC251  likewise
    assert (await asked).route is None
    assert look_ups.timeouts == timeouts
