"""Calls of a PostgreSQL that is disturbed: how long they take, and what they leave behind."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.storage.engine.database import Database
from kurz.storage.engine.postgres import POOL_SIZE, PostgresDatabase
from servers.postgres import PostgresServer
from support.slack import slack

LATE_SECONDS = slack(0.4)
RECOVERY_SECONDS = slack(5.0)


def touch(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT count(*) FROM links"))


def sleep(connection: sa.Connection, seconds: float) -> None:
    connection.execute(sa.text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


async def use_all(database: PostgresDatabase) -> None:
    """Every connection at once."""
    await asyncio.gather(*(database.write(sleep, 0.05) for _ in range(POOL_SIZE)))


@asynccontextmanager
async def links_locked(locker: asyncpg.Connection) -> AsyncIterator[None]:
    """Meanwhile whoever touches the links waits."""
    async with locker.transaction():
        await locker.execute("LOCK TABLE links IN ACCESS EXCLUSIVE MODE")
        yield


async def seconds_of_outage(call: Awaitable[object]) -> float:
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await call
    return time.monotonic() - started


async def recovered(*calls: Callable[[], Awaitable[object]]) -> None:
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


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(RECOVERY_SECONDS):
        while not holds():  # noqa: ASYNC110  counts and tasks
            await asyncio.sleep(0.01)


async def until_in_use(database: Database, number: int) -> None:
    await until(lambda: database.counts()["database_in_use"] >= number)


async def nothing_is_left(database: Database, tasks_before: set[asyncio.Task[Any]]) -> None:
    """No task of a call that was given up lives on, and no connection is in use."""
    await until(lambda: asyncio.all_tasks() <= tasks_before)
    await until(lambda: database.counts()["database_in_use"] == 0)


async def leave(calls: list[asyncio.Task[None]]) -> None:
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)


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
