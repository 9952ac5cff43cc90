"""PostgreSQL: what counts as an outage, and how it recovers."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.engine import errors as postgres_errors
from kurz.storage.engine.deadlines import deadline
from kurz.storage.engine.postgres import POOL_SIZE, PostgresDatabase
from servers.postgres import PostgresServer
from support.notes import (
    Mistake,
    add,
    add_and_fail,
    add_twice_badly,
    create_table,
    fail_for_a_reason,
    texts,
)
from support.patience import PATIENT


def postgres_error(state: str) -> asyncpg.PostgresError:
    error = asyncpg.PostgresError("made up")
    error.sqlstate = state
    return error


@pytest.mark.parametrize(
    ("state", "is_outage"),
    [
        *((state, True) for state in ("08000", "08003", "08006", "08P01")),
        *((state, True) for state in ("40001", "40P01")),
        *((state, True) for state in ("53000", "53100", "53200", "53300")),
        *((state, True) for state in ("57014", "57P01", "57P02", "57P03", "58000", "58030")),
        *((state, True) for state in ("25006", "55P03", "28000", "28P01", "3D000")),
        *((state, False) for state in ("23505", "23502", "22001", "22021", "42601", "42P01")),
        *((state, False) for state in ("25P02", "55000", "55006", "XX000", "")),
    ],
)
def test_states_that_are_an_outage(state, is_outage):
    error = postgres_error(state)
    assert isinstance(postgres_errors.translate(error), StoreUnavailable) is is_outage
    wrapped = sa.exc.DBAPIError("SELECT 1", {}, Exception())
    assert wrapped.orig is not None
    wrapped.orig.__cause__ = error
    assert isinstance(postgres_errors.translate(wrapped), StoreUnavailable) is is_outage


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(),
        ConnectionResetError(),
        TimeoutError(),
        sa.exc.TimeoutError(),
        asyncpg.InterfaceError("connection is closed"),
        asyncpg.ConnectionDoesNotExistError(),
        asyncpg.TargetServerAttributeNotMatched(),
        sa.exc.DBAPIError("SELECT 1", {}, Exception(), connection_invalidated=True),
    ],
    ids=repr,
)
def test_lost_connections_are_an_outage(error):
    assert isinstance(postgres_errors.translate(error), StoreUnavailable)


@pytest.mark.parametrize(
    "error", [Mistake(), ValueError(), KeyError(), sa.exc.NoResultFound()], ids=repr
)
def test_other_errors_are_no_outage_of_postgres(error):
    assert postgres_errors.translate(error) is None


@pytest.fixture
async def served(postgres_url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(postgres_url, deadlines=PATIENT)
    await database.write(create_table)
    yield database
    await database.close()


async def test_who_may_take_longer_may_also_pause_longer_in_a_transaction(served):
    def patience(connection: sa.Connection) -> object:
        name = "idle_in_transaction_session_timeout"
        query = sa.text("SELECT setting FROM pg_settings WHERE name = :name")
        return connection.execute(query, {"name": name}).scalar_one()

    assert await served.read(patience) == str(round(PATIENT.write_seconds * 1000))


@pytest.mark.parametrize("bad", [add_and_fail, add_twice_badly])
async def test_a_mistaken_write_is_undone(served, bad):
    with pytest.raises((Mistake, sa.exc.IntegrityError)):
        await served.write(bad, "x")
    assert await served.write(add, "good") == "good"
    assert await served.read(texts) == ["good"]


async def test_a_mistake_on_postgres_keeps_its_cause(served):
    with pytest.raises(Mistake) as raised:
        await served.write(fail_for_a_reason)
    assert repr(raised.value.__cause__) == "KeyError('the reason')"


async def test_a_value_postgres_cannot_hold_is_a_mistake_and_no_outage(served):
    def ask(connection: sa.Connection, number: int) -> object:
        query = sa.select(sa.bindparam("number", type_=sa.BigInteger))
        return connection.execute(query, {"number": number}).scalar_one()

    assert await served.read(ask, 2**63 - 1) == 2**63 - 1
    with pytest.raises(sa.exc.DBAPIError):
        await served.read(ask, 2**63)


async def test_more_callers_than_connections_are_served(served):
    answers = await asyncio.gather(*(served.write(add, f"{n:03}") for n in range(100)))
    assert await served.read(texts) == answers


async def test_a_slow_query_is_given_up(postgres_url):
    database = PostgresDatabase(postgres_url)

    def sleep(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_sleep(20)"))

    with deadline(0.2), pytest.raises(StoreUnavailable):
        await database.read(sleep)
    await database.write(create_table)
    assert await database.read(texts) == []
    await database.close()


async def answers_again(database: PostgresDatabase) -> list[str]:
    """What is stored, once the pool has noticed that its connections are dead."""
    for _ in range(POOL_SIZE + 1):
        try:
            return await database.read(texts)
        except StoreUnavailable:
            await asyncio.sleep(0.01)
    raise AssertionError("the database does not recover")


async def test_a_killed_server_is_unavailable_and_recovers():
    server = PostgresServer()
    await asyncio.to_thread(server.start)
    try:
        database = PostgresDatabase(server.url())
        await database.write(create_table)
        await asyncio.gather(*(database.write(add, str(n)) for n in range(8)))
        await asyncio.to_thread(server.kill)
        outages = await asyncio.gather(
            *(database.write(add, "lost") for _ in range(8)),
            *(database.read(texts) for _ in range(8)),
            return_exceptions=True,
        )
        assert {type(outage) for outage in outages} == {StoreUnavailable}
        await asyncio.to_thread(server.start)
        assert await database.write(add, "later") == "later"
        assert await database.read(texts) == [*(str(n) for n in range(8)), "later"]
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        assert len(await answers_again(database)) == 9
        await database.close()
    finally:
        await asyncio.to_thread(server.stop)


async def test_a_server_that_never_was_is_unavailable():
    database = PostgresDatabase("postgresql://postgres@127.0.0.1:1/none")
    with pytest.raises(StoreUnavailable):
        await database.read(texts)
    await database.close()
