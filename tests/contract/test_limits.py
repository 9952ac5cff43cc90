"""Every store of rate limits keeps the same promise, with other processes and through outages."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from redis.asyncio import Redis

from kurz.cache.connect import TIMEOUT_SECONDS, open_redis
from kurz.cache.limits import PREFIX, RedisLimits
from kurz.clock import SystemClock, to_micros
from kurz.people.limits import FallbackLimits, LimitStore, LimitsUnavailable, MemoryLimits, hashing
from kurz.rates import Rate
from kurz.settings.model import Settings
from kurz.storage.engine.database import Database
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.people.limits import TRIM_EVERY, SqlLimits
from kurz.storage.schema import people as people_tables
from kurz.wiring.engine import Engine, prepare
from servers.process import free_port
from servers.valkey import ValkeyServer
from support.answers import answering
from support.clock import FrozenClock
from support.long_run import in_the_long_run
from support.patience import PATIENCE

STORES = ("memory", "redis", "sqlite", "postgres")
PATIENT = 30.0  # seconds: a busy machine must not fail what is not about time
SLOW = Rate(5, 3600)  # gives nothing back while a test runs
hashed = hashing(b"secret")
TESTS = Path(__file__).parents[1]


@dataclass
class Subject:
    """A store under test, how time passes for it, and its database if it has one."""

    store: LimitStore
    now: Callable[[], float]
    wait: Callable[[float], Awaitable[None]]
    database: Database | None = None


@pytest.fixture(scope="module")
def valkey() -> Iterator[ValkeyServer]:
    """One server for the tests that do not break it."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture
async def redis(valkey: ValkeyServer) -> AsyncIterator[Redis]:
    """A client of the server, which is empty."""
    async with Redis.from_url(valkey.url, decode_responses=True) as client:
        await client.flushall()
        yield client


@pytest.fixture
def database_settings(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Settings]:
    def settings(engine: str) -> Settings:
        url = request.getfixturevalue("postgres_url") if engine == "postgres" else None
        return Settings(data_dir=tmp_path / "kurz-data", database_url=url, **PATIENCE)

    return settings


@asynccontextmanager
async def redis_limits(url: str, timeout_seconds: float = PATIENT) -> AsyncIterator[RedisLimits]:
    client = open_redis(url, timeout_seconds=timeout_seconds)
    try:
        yield RedisLimits(client, hashed)
    finally:
        await client.close()


@pytest.fixture
async def store(valkey: ValkeyServer, redis: Redis) -> AsyncIterator[RedisLimits]:
    async with redis_limits(valkey.url) as store:
        yield store


@pytest.fixture(params=STORES)
async def subject(
    request: pytest.FixtureRequest,
    valkey: ValkeyServer,
    redis: Redis,
    clock: FrozenClock,
    database_settings: Callable[[str], Settings],
) -> AsyncIterator[Subject]:
    """Every implementation. Memory and SQLite go by a clock of the test, the others by theirs."""

    async def advance(seconds: float) -> None:
        clock.advance(seconds=seconds)

    def frozen_now() -> float:
        return clock.now().timestamp()

    if request.param == "memory":
        memory = MemoryLimits(lambda: to_micros(clock.now()))
        yield Subject(memory, frozen_now, advance)
    elif request.param == "redis":
        async with redis_limits(valkey.url) as store:
            yield Subject(store, time.monotonic, asyncio.sleep)
    else:
        settings = database_settings(request.param)
        await prepare(settings, upgrades_postgres=False)
        database = Engine(settings).open_database()
        sql = SqlLimits(database, clock, hashed)
        if request.param == "sqlite":
            yield Subject(sql, frozen_now, advance, database)
        else:
            yield Subject(sql, time.monotonic, asyncio.sleep, database)
        await database.close()


async def allowed(store: LimitStore, times: int, key: str = "k", rate: Rate = SLOW) -> int:
    return sum([(await store.hit(key, rate)).is_allowed for _ in range(times)])


async def test_a_burst_is_allowed_and_no_more(subject):
    assert await allowed(subject.store, 20) == 5
    assert await allowed(subject.store, 20, "other") == 5


async def test_verdicts_count_down(subject):
    found = [await subject.store.hit("k", SLOW) for _ in range(7)]
    assert [each.remaining for each in found] == [4, 3, 2, 1, 0, 0, 0]
    assert {(each.limit, each.period_seconds) for each in found} == {(5, 3600)}
    assert [each.retry_after_seconds > 0 for each in found] == [False] * 5 + [True] * 2
    assert all(each.retry_after_seconds <= 720 for each in found)
    assert all(0 < each.reset_after_seconds <= 3600 for each in found)


async def test_a_cost_is_charged_whole_or_not_at_all(subject):
    assert (await subject.store.hit("k", SLOW, 3)).remaining == 2
    refused = await subject.store.hit("k", SLOW, 3)
    assert (refused.is_allowed, refused.remaining) == (False, 2)
    assert (await subject.store.hit("k", SLOW, 2)).is_allowed
    assert not (await subject.store.hit("fresh", SLOW, 6)).is_allowed
    assert (await subject.store.hit("fresh", SLOW, 5)).is_allowed


async def test_after_the_period_everything_is_free_again(subject):
    rate = Rate(5, 1)
    await allowed(subject.store, 20, rate=rate)
    await subject.wait(1.01)
    found = await subject.store.hit("k", rate, 5)
    assert (found.is_allowed, found.remaining) == (True, 0)


async def test_random_arrivals_never_get_more_than_burst_and_rate(subject):
    rate = Rate(20, 1)
    source = random.Random(1)
    started = subject.now()
    count = 0
    for _ in range(300):
        await subject.wait(source.choice([0, 0, 0, source.random() / 50]))
        count += (await subject.store.hit("k", rate)).is_allowed
        assert count <= 20 + 20 * (subject.now() - started)
    assert count >= 20


async def test_hits_at_the_same_time_get_no_more(subject):
    found = await asyncio.gather(*[subject.store.hit("k", SLOW) for _ in range(50)])
    assert sum(each.is_allowed for each in found) == 5


async def test_odd_keys_are_keys(subject):
    for key in ("", "a" * 10_000, "\0", "\ud800", "ann@example.com", "'; --"):
        assert await allowed(subject.store, 6, key) == 5


HAMMER = """
import asyncio, json, sys, time
from pathlib import Path
from kurz.wiring.engine import Engine
from kurz.cache.connect import open_redis
from kurz.cache.limits import RedisLimits
from kurz.clock import SystemClock
from kurz.people.limits import LimitsUnavailable, hashing
from kurz.rates import Rate
from kurz.settings.model import Settings
from kurz.storage.people.limits import SqlLimits

async def main(kind, place, count, period, patience):
    hashed = hashing(b"secret")
    if kind == "redis":
        store = RedisLimits(open_redis(place, timeout_seconds=30), hashed)
    else:
        url = place if kind == "postgres" else None
        patient = json.loads(patience)
        settings = Settings(database_url=url, data_dir=Path(place), **patient)
        database = Engine(settings).open_database()
        store = SqlLimits(database, SystemClock(), hashed)
    print("ready", flush=True)
    sys.stdin.readline()
    ends_at = time.monotonic() + 1
    allowed = tried = 0
    while time.monotonic() < ends_at:
        try:
            allowed += (await store.hit("k", Rate(int(count), int(period)))).is_allowed
        except LimitsUnavailable:
            continue
        tried += 1
    print(allowed, tried, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def hammer(kind: str, place: str, rate: Rate, processes: int = 4) -> tuple[int, int, float]:
    """How many hits all the processes were allowed, how many they tried, and the seconds."""
    arguments = [kind, place, str(rate.count), str(rate.period_seconds), json.dumps(PATIENCE)]
    command = [sys.executable, "-c", HAMMER, *arguments]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    started = time.monotonic()
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    counts = [list(map(int, child.communicate()[0].split())) for child in children]
    elapsed = time.monotonic() - started
    assert all(tried for _, tried in counts)
    return sum(count for count, _ in counts), sum(tried for _, tried in counts), elapsed


@pytest.mark.parametrize(
    "rate",
    [*in_the_long_run(Rate(40, 3600)), Rate(20, 1)],
    ids=["slow", "fast"],
)
@pytest.mark.parametrize("kind", ["postgres", *in_the_long_run("redis", "sqlite")])
async def test_four_processes_together_get_what_one_would(
    kind, rate, redis, valkey, database_settings
):
    place = valkey.url
    if kind != "redis":
        settings = database_settings(kind)
        await prepare(settings, upgrades_postgres=False)
        place = settings.database_url or str(settings.data_dir)
    count, tried, seconds = await asyncio.to_thread(hammer, kind, place, rate)
    assert tried > rate.count
    assert rate.count <= count <= rate.count + seconds * rate.count / rate.period_seconds


async def test_every_redis_key_ends_and_shows_nobody(redis, store):
    for number in range(100):
        await allowed(store, number % 7 + 1, f"sign-in:ann{number}@example.com", Rate(5, 60))
    await store.hit("short", Rate(1_000_000, 1))
    keys = [key async for key in redis.scan_iter()]
    assert len(keys) >= 100
    for key in keys:
        assert key.startswith(PREFIX)
        assert "ann" not in key
        assert 0 <= await redis.pttl(key) <= 60_000 or not await redis.exists(key)


async def test_redis_keeps_whole_microseconds(redis, store):
    for number in range(20):
        await store.hit(str(number), SLOW)
    instants = [int(await redis.get(key)) async for key in redis.scan_iter()]
    assert len(instants) == 20
    assert any(instant % 100 for instant in instants)


async def test_a_redis_that_forgot_the_script_is_told_it_again(redis, store):
    assert await allowed(store, 3) == 3
    await redis.script_flush()
    assert await allowed(store, 10) == 2


async def test_a_clock_that_was_set_back_locks_nobody_out_of_redis(redis, store):
    await store.hit("k", SLOW)
    in_a_year = to_micros(SystemClock().now() + timedelta(days=365))
    await redis.set(PREFIX + hashed("k"), in_a_year, px=10**10)
    assert await allowed(store, 10) == 5


@pytest.mark.parametrize("subject", ["sqlite", "postgres"], indirect=True)
async def test_a_clock_that_was_set_back_locks_nobody_out_of_a_database(subject):
    await subject.store.hit("k", SLOW)
    in_years = to_micros(SystemClock().now() + timedelta(days=3650))
    later = sa.update(people_tables.limits).values(due_at=in_years)
    await subject.database.write(lambda connection: connection.execute(later))
    assert await allowed(subject.store, 10) == 5


@pytest.mark.parametrize("subject", ["sqlite", "postgres"], indirect=True)
async def test_a_database_forgets_what_is_past_due(subject):
    def keys(connection: sa.Connection) -> list[str]:
        return list(connection.execute(sa.select(people_tables.limits.c.key)).scalars())

    for number in range(TRIM_EVERY - 1):
        await subject.store.hit(f"ann{number}@example.com", Rate(1000, 1))
    found = await subject.database.read(keys)
    assert found
    assert not [key for key in found if "ann" in key]
    await subject.wait(0.01)
    await allowed(subject.store, TRIM_EVERY + 1, "kept")
    assert await subject.database.read(keys) == [hashed("kept")]


@pytest.mark.parametrize(
    "answer",
    [
        b"$3\r\nabc\r\n",
        b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$0\r\n\r\n",
        b"*2\r\n$4\r\npong\r\n:1\r\n",
    ],
)
async def test_an_answer_to_another_question_is_no_verdict(answer):
    async with answering(answer) as place, redis_limits(f"redis://{place}") as store:
        with pytest.raises(LimitsUnavailable):
            await store.hit("k", SLOW)


async def test_an_outage_of_the_shared_store_is_told(clock):
    async with redis_limits(f"redis://127.0.0.1:{free_port()}/0", TIMEOUT_SECONDS) as store:
        with pytest.raises(LimitsUnavailable):
            await store.hit("k", SLOW)
    database = PostgresDatabase(f"postgresql://nobody@127.0.0.1:{free_port()}/none")
    with pytest.raises(LimitsUnavailable):
        await SqlLimits(database, clock, hashed).hit("k", SLOW)
    await database.close()


@pytest.fixture
def own_valkey() -> Iterator[ValkeyServer]:
    """A server that a test may break."""
    with ValkeyServer() as server:
        yield server


@pytest.fixture
async def fallback(own_valkey: ValkeyServer) -> AsyncIterator[FallbackLimits]:
    async with redis_limits(own_valkey.url, TIMEOUT_SECONDS) as shared:
        yield FallbackLimits(shared, MemoryLimits())


async def is_counted_by(server: ValkeyServer, limits: FallbackLimits) -> bool:
    """Whether hits reach the server, within some seconds."""
    async with Redis.from_url(server.url) as client:
        await client.flushdb()
        for _ in range(100):
            await limits.hit("probe", SLOW)
            if await client.dbsize():
                return True
            await asyncio.sleep(0.1)
    return False


async def test_limits_go_on_without_redis_and_come_back_with_it(own_valkey, fallback):
    assert await is_counted_by(own_valkey, fallback)
    await allowed(fallback, 20, "before")
    own_valkey.kill()
    async with asyncio.timeout(30):  # it does not hang; how fast it is, is not the question
        assert await allowed(fallback, 200, "during") == 5
        found = await asyncio.gather(*[fallback.hit("at once", SLOW) for _ in range(200)])
    assert sum(each.is_allowed for each in found) == 5
    own_valkey.start()
    assert await is_counted_by(own_valkey, fallback)
    assert await allowed(fallback, 20, "after") <= 10


async def test_limits_go_on_while_redis_hangs_and_come_back_with_it(own_valkey, fallback):
    assert await is_counted_by(own_valkey, fallback)
    os.kill(own_valkey.pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(30):
            assert await allowed(fallback, 200, "during") == 5
            found = await asyncio.gather(*[fallback.hit("at once", SLOW) for _ in range(200)])
        assert sum(each.is_allowed for each in found) == 5
    finally:
        os.kill(own_valkey.pid, signal.SIGCONT)
    assert await is_counted_by(own_valkey, fallback)
