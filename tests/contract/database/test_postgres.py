"""What runs queries: transactions, durability and outages of each engine."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage import postgres_errors
from kurz.storage import sqlite as sqlite_engine
from kurz.storage.patience import patience
from kurz.storage.postgres import POOL_SIZE, PostgresDatabase
from kurz.storage.sqlite import SqliteDatabase, can_use_wal, default_driver
from servers.postgres import PostgresServer
from support.patience import PATIENT

DRIVERS = {"the driver of kurz": default_driver, "Python's own": sqlite3}
driver_of_every_kind = pytest.mark.parametrize("driver", DRIVERS.values(), ids=DRIVERS.keys())


class Mistake(Exception):
    """A query that goes wrong by itself."""


def create_table(connection: sa.Connection) -> None:
    connection.exec_driver_sql("CREATE TABLE notes (text VARCHAR NOT NULL)")


def add(connection: sa.Connection, text: str) -> str:
    connection.execute(sa.text("INSERT INTO notes VALUES (:text)"), {"text": text})
    return text


def add_and_fail(connection: sa.Connection, text: str) -> None:
    add(connection, text)
    raise Mistake(text)


def add_twice_badly(connection: sa.Connection, text: str) -> None:
    """The second insert breaks a rule of the table."""
    add(connection, text)
    connection.execute(sa.text("INSERT INTO notes VALUES (NULL)"))


def texts(connection: sa.Connection) -> list[str]:
    return sorted(connection.execute(sa.text("SELECT text FROM notes")).scalars())


def texts_in(path: Path) -> list[str]:
    """What a stranger finds in the file."""
    driver: Any = default_driver
    with closing(driver.connect(path)) as connection:
        return sorted(text for (text,) in connection.execute("SELECT text FROM notes"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "test.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(path)
    await database.write(create_table)
    yield database
    await database.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process that keeps the database to itself."""
    driver: Any = default_driver
    with closing(driver.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


class Gate:
    """Keeps the writing thread busy until a test lets it go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, _: sa.Connection) -> None:
        self.entered.set()
        assert self.opened.wait(10)

    async def hold(self, database: SqliteDatabase) -> asyncio.Task[None]:
        task = asyncio.create_task(database.write(self))
        await asyncio.to_thread(self.entered.wait, 10)
        return task


# SQLite writes in groups


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


def fail_for_a_reason(_: sa.Connection) -> None:
    raise Mistake("mine") from KeyError("the reason")


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


# Outages of SQLite


@pytest.fixture
async def impatient(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteDatabase]:
    """A database that waits a short time for others."""
    monkeypatch.setattr(sqlite_engine, "BUSY_TIMEOUT_SECONDS", 0.1)
    database = SqliteDatabase(path)
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


# How SQLite is set up


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


# PostgreSQL


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

    with patience(0.2), pytest.raises(StoreUnavailable):
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
