"""Numbers out of order, outages, a log that was set back: nothing is missed."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.errors import StoreUnavailable
from kurz.feed.log import BATCH, MAX_LEAP
from kurz.freshness.ports import ChangeLog
from kurz.freshness.routes import Change
from kurz.links.model import Link
from kurz.storage.engine.changes import SqlChangeLog
from kurz.storage.schema.links import changes
from kurz.wiring.core import Kurz
from support.feed import (
    NEVER_SECONDS,
    SOON_SECONDS,
    Listener,
    SilentWaker,
    TroubledLog,
    another_process,
    until,
    written_since,
)
from support.links import create_link

INSERT = (
    "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
    " SELECT 900000 + n, 0, 'late', 1, 0 FROM generate_series(1, $1::int) AS n"
)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


def of(link: Link) -> list[Change]:
    return [Change(link.id, link.workspace_id, link.short_code, link.version)]


def late(count: int) -> list[Change]:
    return [Change(900_000 + n, 0, "late", 1) for n in range(1, count + 1)]


async def last(kurz: Kurz) -> int:
    return await SqlChangeLog(kurz.database).last()


async def execute(kurz: Kurz, statement: Any, *values: Any) -> None:
    def write(connection: sa.Connection) -> None:
        connection.execute(statement, *values)

    await kurz.database.write(write)


@pytest.fixture
async def connect(kurz: Kurz) -> AsyncIterator[Callable[[], Awaitable[asyncpg.Connection]]]:
    """Makes connections whose transactions a test ends when it likes."""
    async with AsyncExitStack() as closing:

        async def connect() -> asyncpg.Connection:
            connection = await asyncpg.connect(kurz.settings.database_url)
            closing.push_async_callback(connection.close)
            return connection

        yield connect


@asynccontextmanager
async def writing(connect, count: int) -> AsyncIterator[Any]:
    """A transaction that has written to the log, and is rolled back if the test does not commit
    it."""
    writer = await connect()
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute(INSERT, count)
    yield transaction
    with suppress(asyncpg.InterfaceError):  # it has ended
        await transaction.rollback()


# More than one statement can name by parameters.
@pytest.mark.parametrize("count", [1, 3 * BATCH, 40_000])
@on_postgres
async def test_numbers_that_appear_late_are_heard(kurz, connect, count):
    async with (
        another_process(kurz, tick_seconds=SOON_SECONDS) as other,
        writing(connect, count) as transaction,
    ):
        made = await create_link(kurz)  # its number is higher, and it is there first
        await other.wait_for(of(made))
        await asyncio.sleep(2 * SOON_SECONDS)
        assert set(other.heard) == {*of(made)}
        assert other.settled == 0
        await transaction.commit()
        await other.wait_for(late(count))
        assert len(other.heard) == count + 1
        await until(lambda: other.settled == count + 1)
        assert other.feed._gaps == {}


@on_postgres
async def test_a_number_of_before_the_start_that_appears_late_is_heard(kurz, connect):
    async with writing(connect, 1) as transaction:
        await create_link(kurz)
        async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
            await transaction.commit()
            await other.wait_for(late(1))


@on_postgres
async def test_a_number_of_before_the_look_back_that_appears_late_starts_a_feed_over(kurz, connect):
    async with writing(connect, 50) as transaction:
        made = await create_link(kurz)
        async with another_process(kurz, tick_seconds=SOON_SECONDS, look_back=10) as other:
            await create_link(kurz)
            await until(lambda: 52 in other.numbers)
            assert (other.starts, other.settled) == ([41], 0)
            await transaction.commit()
            await until(lambda: len(other.starts) == 2)
            await other.wait_for([*late(50)[41:], *of(made)])
            await until(lambda: other.settled == 52)
            assert other.starts == [41, 41]


@on_postgres
async def test_who_begins_to_write_after_the_start_does_not_start_a_feed_over(kurz, connect):
    for _ in range(20):
        await create_link(kurz)
    async with another_process(kurz, tick_seconds=SOON_SECONDS, look_back=10) as other:
        async with writing(connect, 1) as transaction:
            await transaction.commit()
        await other.wait_for(late(1))
        assert other.starts == [10]


@on_postgres
async def test_a_number_that_was_rolled_back_is_given_up_when_its_time_has_ended(kurz, connect):
    async with (
        another_process(kurz, tick_seconds=SOON_SECONDS) as other,
        writing(connect, 2) as beside,
    ):
        async with writing(connect, 3):
            await other.wait_for(of(await create_link(kurz)))
        await asyncio.sleep(3 * SOON_SECONDS)
        assert [*other.feed._gaps] == [1, 2, 3, 4, 5]  # it could still be any of them
        async with writing(connect, 1):  # but not this one's
            await beside.commit()
            await until(lambda: not other.feed._gaps)
            assert set(late(2)) < set(other.heard)
            await until(lambda: other.settled == 6)


@on_postgres
async def test_transactions_that_do_not_write_to_the_log_are_not_waited_for(kurz, connect):
    foreigner = await connect()
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other, foreigner.transaction():
        await foreigner.execute("INSERT INTO counters (name, next_value) VALUES ('x', 1)")
        await foreigner.fetch("SELECT * FROM changes")
        async with writing(connect, 3):
            pass
        await other.wait_for(of(await create_link(kurz)))
        await until(lambda: other.settled == 4)
        assert other.feed._gaps == {}


class Ledger(Listener):
    """Knows when something was last heard, or dropped with all the rest."""

    def __init__(self, feed) -> None:
        super().__init__(feed)
        self.received_at: dict[int, float] = {}
        self.started_at = 0.0

    def on_changes(self, changes) -> None:
        self.received_at |= dict.fromkeys([each.link_id for _, each in changes], time.monotonic())

    def reset(self, position: int) -> None:
        self.started_at = time.monotonic()

    def has_settled(self, position: int) -> bool:
        return self.settled == position


@on_postgres
async def test_of_many_writers_at_once_nothing_is_missed(kurz, connect):
    """Each commits or rolls back a while after it took its numbers; feeds start in between, and
    look back over less than is under way."""
    committed: dict[int, float] = {}  # link → just before its commit
    dice = random.Random()

    async def write(number: int) -> None:
        connection = await connect()
        for turn in range(30):
            link_id = 1000 * number + turn
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(
                "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
                " SELECT $1, 0, 'x', 1, 0 FROM generate_series(1, $2::int)",
                link_id,
                dice.randint(1, 5),
            )
            await asyncio.sleep(dice.random() ** 3 * 0.1)
            if dice.random() < 0.3:
                await transaction.rollback()
            else:
                began_at = time.monotonic()
                await transaction.commit()
                committed[link_id] = began_at

    async def listen(delay_seconds: float) -> tuple[Ledger, float]:
        await asyncio.sleep(delay_seconds)
        process = another_process(
            kurz, tick_seconds=0.01, look_back=dice.choice([1, 5, 20]), waker=SilentWaker()
        )
        other = await closing.enter_async_context(process)
        return Ledger(other.feed), time.monotonic()

    async with AsyncExitStack() as closing:
        writers = [asyncio.create_task(write(number)) for number in range(1, 9)]
        listeners = await asyncio.gather(*(listen(0.15 * number) for number in range(6)))
        await asyncio.gather(*writers)
        end = await last(kurz)
        for ledger, started_at in listeners:
            await until(partial(ledger.has_settled, end))
            assert ledger.feed._gaps == {}
            for link_id, at in committed.items():
                if at > started_at:
                    assert max(ledger.received_at.get(link_id, 0.0), ledger.started_at) >= at
    assert len(committed) > 100


async def test_more_rows_than_one_reading_takes_are_all_heard(kurz):
    rows = [
        {"link_id": n, "workspace_id": 0, "short_code": "x", "version": 1, "changed_at": 0}
        for n in range(1, 2 * BATCH + 2)
    ]
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        await execute(kurz, sa.insert(changes), rows)
        await other.wait_for([Change(n, 0, "x", 1) for n in range(1, 2 * BATCH + 2)])
        assert len(other.heard) == len(rows)
        await until(lambda: other.settled == len(rows))


@pytest.mark.parametrize(
    "act",
    [
        sa.delete(changes).where(changes.c.id == 9),
        sa.delete(changes),
        sa.update(changes).where(changes.c.id == 9).values(short_code="other"),
    ],
    ids=["last row gone", "all gone", "last row is another"],
)
async def test_another_log_starts_a_feed_over(kurz, act):
    for _ in range(9):
        await create_link(kurz)
    async with another_process(kurz, tick_seconds=SOON_SECONDS, look_back=5) as other:
        assert other.starts == [4]
        await execute(kurz, act)
        await until(lambda: len(other.starts) == 2)
        begins_at = max(await last(kurz) - 5, 0)
        assert other.starts == [4, begins_at]
        await other.wait_for(await written_since(kurz, begins_at))
        made = await create_link(kurz)
        await other.wait_for(of(made))
        assert len(other.starts) == 2


async def test_a_leap_of_the_numbers_starts_a_feed_over(kurz, engine):
    await create_link(kurz)
    leap = "UPDATE sqlite_sequence SET seq = :number WHERE name = 'changes'"
    if engine != "sqlite":
        leap = "SELECT setval('changes_id_seq', :number)"
    async with another_process(kurz, tick_seconds=SOON_SECONDS, look_back=5) as other:
        await execute(kurz, sa.text(leap), {"number": 2 * MAX_LEAP})
        made = await create_link(kurz)
        await other.wait_for(of(made))
        assert other.starts == [0, 2 * MAX_LEAP + 1 - 5]
        await until(lambda: other.settled == 2 * MAX_LEAP + 1)


async def test_a_log_that_stays_what_it_is_starts_nobody_over(kurz):
    for _ in range(9):
        await create_link(kurz)
    async with another_process(kurz, tick_seconds=0.01, look_back=5) as other:
        for _ in range(5):
            await other.wait_for(of(await create_link(kurz)))
        assert other.starts == [4]


def troubled(logs: list[TroubledLog]) -> Callable[[ChangeLog], ChangeLog]:
    def wrap(log: ChangeLog) -> ChangeLog:
        logs.append(TroubledLog(log))
        return logs[0]

    return wrap


@pytest.mark.parametrize("trouble", [StoreUnavailable("out"), RuntimeError("a mistake")], ids=repr)
async def test_a_feed_goes_on_after_a_trouble(kurz, trouble):
    logs: list[TroubledLog] = []
    async with another_process(kurz, tick_seconds=SOON_SECONDS, wrap=troubled(logs)) as other:
        (log,) = logs
        log.trouble, caught_up_at = trouble, other.feed.caught_up_at
        with capture_logs() as lines:
            made = await create_link(kurz)
            seen = log.readings
            await until(lambda: log.readings > seen + 3)
        if isinstance(trouble, StoreUnavailable):
            assert [line["event"] for line in lines if "feed" in line["event"]] == [
                "change feed waiting for the database"
            ]
        assert other.heard == []
        log.trouble = None
        await other.wait_for(of(made))
        assert other.feed.caught_up_at > caught_up_at
        assert len(other.starts) == 1


async def test_who_was_away_for_too_long_starts_over(kurz):
    logs: list[TroubledLog] = []
    made = await create_link(kurz)
    async with another_process(
        kurz, tick_seconds=SOON_SECONDS, max_silence_seconds=0.5, wrap=troubled(logs)
    ) as other:
        assert other.starts == [0]
        logs[0].trouble = StoreUnavailable("out")
        await asyncio.sleep(0.6)
        logs[0].trouble = None
        await other.wait_for(of(made))
        assert len(other.starts) > 1


async def test_a_reading_is_as_old_as_its_beginning(kurz):
    class SlowLog(TroubledLog):
        async def read(self, after, limit):
            await asyncio.sleep(0.2)
            return await super().read(after, limit)

    async with another_process(kurz, tick_seconds=NEVER_SECONDS, wrap=SlowLog) as other:
        assert time.monotonic() - other.feed.caught_up_at >= 0.2
