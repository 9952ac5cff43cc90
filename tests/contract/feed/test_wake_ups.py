"""Wake-ups through a server: lost connections, silent ones, a server that is out."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis

from kurz.feed import local, remote
from kurz.feed.postgres import APPLICATION
from kurz.freshness.routes import Change
from kurz.links.model import Link
from kurz.wiring.core import Kurz
from support.feed import NEVER_SECONDS, SOON_SECONDS, Listener, another_process, until, until_told
from support.links import create_link

on_redis = pytest.mark.parametrize("engine", ["postgres+redis"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
on_servers = pytest.mark.parametrize("engine", ["postgres", "postgres+redis"], indirect=True)


def of(link: Link) -> list[Change]:
    return [Change(link.id, link.workspace_id, link.short_code, link.version)]


async def ask(kurz: Kurz, query: str) -> list[int]:
    connection = await asyncpg.connect(kurz.settings.database_url)
    try:
        return [row[0] for row in await connection.fetch(query)]
    finally:
        await connection.close()


LISTENERS = (
    "FROM pg_stat_activity"
    f" WHERE application_name = '{APPLICATION}' AND datname = current_database()"
)


async def cut(kurz: Kurz) -> None:
    """Ends the connections by which processes are woken."""
    if kurz.settings.redis_url is None:
        assert await ask(kurz, f"SELECT pg_terminate_backend(pid)::int {LISTENERS}") == [1]
    else:
        async with Redis.from_url(kurz.settings.redis_url) as redis:
            assert await redis.client_kill_filter(_type="pubsub") == 1


async def is_awake(kurz: Kurz, other: Listener) -> None:
    """Until it listens, and then: a write reaches it by a wake-up alone."""
    await other.wait_for(of(await create_link(kurz)))
    seen = other.feed.wake_ups
    await other.wait_for(of(await create_link(kurz)))
    assert other.feed.wake_ups > seen


@on_servers
async def test_after_a_lost_connection_wake_ups_come_again(kurz, own_valkey):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await is_awake(kurz, other)
        for times in 1, 2, 3:
            await cut(kurz)
            await is_awake(kurz, other)
            assert other.feed.lost_connections == times


@on_postgres
async def test_a_process_that_listens_wakes_others_and_not_itself(kurz):
    own = kurz.shared.feed
    await own.start()
    try:
        async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
            await is_awake(kurz, other)
            await until(lambda: own.wake_ups > 0)
            woken = own.wake_ups
            await is_awake(kurz, other)
            assert own.wake_ups == woken
            await ask(kurz, f"SELECT pg_terminate_backend(pid)::int {LISTENERS}")
            await is_awake(kurz, other)
            await until(lambda: own.wake_ups > woken)
    finally:
        await own.stop()


@on_postgres
async def test_a_first_host_that_swallows_everything_keeps_nobody_from_listening(
    kurz, dead_first_host
):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await is_awake(kurz, other)
        assert other.feed.lost_connections == 0
        assert dead_first_host.accepted > 0


@on_servers
async def test_what_was_written_while_nobody_listened_is_heard_with_the_connection(
    kurz, own_valkey
):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await is_awake(kurz, other)
        await other.feed._waker.stop()
        made = await create_link(kurz)
        await asyncio.sleep(3 * SOON_SECONDS)
        assert of(made)[0] not in other.heard
        await other.feed._waker.start(other.feed._woken)
        await other.wait_for(of(made))


@on_redis
async def test_without_redis_writes_are_heard_within_a_tick_and_then_by_wake_ups_again(
    kurz, own_valkey
):
    async with (
        another_process(kurz, tick_seconds=SOON_SECONDS) as ticking,
        another_process(kurz, tick_seconds=NEVER_SECONDS) as other,
    ):
        await is_awake(kurz, other)
        own_valkey.kill()
        made = [await create_link(kurz) for _ in range(5)]
        await ticking.wait_for([change for link in made for change in of(link)])
        assert not set(of(made[-1])) & set(other.heard)
        own_valkey.start()
        await other.wait_for(of(made[-1]))
        await until_sending(kurz)
        await is_awake(kurz, other)


async def until_sending(kurz: Kurz) -> None:
    """The writer leaves a server alone for a second after it was out."""
    waker: Any = kurz.shared.feed._waker

    def is_back() -> bool:
        waker.wake()
        return not waker._breaker.is_open

    await until(is_back)


async def of_postgres(kurz: Kurz, _) -> int:
    (pid,) = await ask(kurz, f"SELECT pid {LISTENERS}")
    return pid


async def of_redis(_, own_valkey) -> int:
    pid: int = own_valkey.pid
    return pid


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "pid_of"),
    [("postgres", of_postgres), ("postgres+redis", of_redis)],
    indirect=["engine"],
)
async def test_a_connection_that_has_fallen_silent_is_given_up(
    kurz, own_valkey, pid_of: Callable[..., Awaitable[int]]
):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await is_awake(kurz, other)
        pid = await pid_of(kurz, own_valkey)
        os.kill(pid, signal.SIGSTOP)
        try:
            await until(lambda: other.feed.lost_connections > 0)
        finally:
            os.kill(pid, signal.SIGCONT)
        await until_sending(kurz)
        await is_awake(kurz, other)


@pytest.mark.long
@on_servers
async def test_a_quiet_connection_is_kept(kurz):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await is_awake(kurz, other)
        await asyncio.sleep(4)  # some checks
        assert other.feed.lost_connections == 0
        await is_awake(kurz, other)


async def test_many_writes_share_a_wake_up(kurz, engine):
    rest_seconds = local.REST_SECONDS if engine == "sqlite" else remote.REST_SECONDS
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await other.wait_for(of(await create_link(kurz)))
        seen, began_at = other.feed.wake_ups, time.monotonic()
        for _ in range(300):
            kurz.shared.feed.announce([Change(1, 0, "x", 1)])
            await asyncio.sleep(0.001)
        await other.wait_for(of(await create_link(kurz)))
        most = (time.monotonic() - began_at) / rest_seconds + 2
        assert 1 <= other.feed.wake_ups - seen <= most


@on_servers
async def test_stopping_leaves_no_task_and_no_connection(kurz, own_valkey):
    tasks = len(asyncio.all_tasks())
    await kurz.shared.feed.start()
    await kurz.shared.feed.start()
    await until(lambda: kurz.shared.feed.wake_ups > 0)
    assert len(asyncio.all_tasks()) >= tasks + 2
    await kurz.shared.feed.stop()
    await kurz.shared.feed.stop()
    # The driver may still be telling the server to give up what was asked last.
    await until(lambda: len(asyncio.all_tasks()) == tasks)

    async def is_alone() -> bool:
        return await ask(kurz, f"SELECT pid {LISTENERS}") == []

    await until_told(is_alone)
