"""PostgreSQL under an address of several hosts, and servers that stop being the one to write to."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import sqlalchemy as sa

from kurz.errors import SettingRefused, StoreUnavailable
from kurz.links.model import Draft
from kurz.settings.model import Settings
from kurz.storage.engine.hosts import PostgresHosts, each_host
from kurz.storage.engine.postgres import POOL_SIZE, PostgresDatabase
from kurz.storage.routes.lookups import Lookups
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresPair, PostgresServer
from support.patience import PATIENT
from support.postgres_troubles import set_read_only
from support.slack import DEADLINES, slack

pytestmark = pytest.mark.deadlines

RECOVERY_SECONDS = slack(5.0)


def add(connection: sa.Connection, name: str) -> None:
    connection.execute(sa.text("INSERT INTO notes VALUES (:name)"), {"name": name})


def names(connection: sa.Connection) -> list[str]:
    return list(connection.execute(sa.text("SELECT name FROM notes ORDER BY name")).scalars())


def sleep(connection: sa.Connection, seconds: float) -> None:
    connection.execute(sa.text("SELECT pg_sleep(:seconds)"), {"seconds": seconds})


def linger(connection: sa.Connection, is_over: asyncio.Event) -> None:
    while not is_over.is_set():
        sleep(connection, 0.02)


def make_table(connection: sa.Connection) -> None:
    connection.execute(sa.text("CREATE TABLE notes (name text)"))


async def recovered(call) -> None:
    started = time.monotonic()
    while True:
        try:
            await call()
        except StoreUnavailable:
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)
        else:
            return


@pytest.fixture
def dead_port() -> Iterator[int]:
    """Where everything is accepted and nothing answered."""
    with FaultProxy(1) as proxy:
        proxy.black_hole()
        yield proxy.port


@pytest.mark.parametrize("is_refused", [True, False])
async def test_a_dead_first_host_holds_nothing_up_for_long(postgres, dead_port, is_refused):
    first = 1 if is_refused else dead_port
    hosts = PostgresHosts(
        f"postgresql://postgres@127.0.0.1:{first},127.0.0.1:{postgres.port}/postgres"
    )
    for longest in (slack(1.0), slack(0.5)):
        started = time.monotonic()
        connection = await hosts.connect()
        assert time.monotonic() - started < longest
        assert connection.get_server_pid() > 0
        await connection.close()


async def test_the_host_that_answered_is_asked_first_from_then_on(postgres):
    with FaultProxy(postgres.port) as proxy:
        proxy.black_hole()
        url = f"postgresql://postgres@127.0.0.1:{proxy.port},127.0.0.1:{postgres.port}/postgres"
        hosts = PostgresHosts(url)
        for _ in range(5):
            await (await hosts.connect()).close()
        assert proxy.accepted == 1


async def test_what_a_server_says_tells_more_than_that_another_is_away(postgres):
    for order in ((1, postgres.port), (postgres.port, 1)):
        ports = ",".join(f"127.0.0.1:{port}" for port in order)
        database = PostgresDatabase(f"postgresql://postgres@{ports}/nothing")
        with pytest.raises(StoreUnavailable, match="rejected the role, password or database name"):
            await database.check()
        await database.close()


async def test_an_address_that_cannot_be_read_is_not_shown():
    database = PostgresDatabase("postgresql://me:hunter2@host:port/x")
    with pytest.raises(SettingRefused) as refused:
        await database.check()
    assert "hunter2" not in refused.value.detail
    await database.close()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://h/d", ["postgresql://h/d"]),
        ("postgresql:///d?host=/run", ["postgresql:///d?host=/run"]),
        (
            "postgresql://me:a%2C@h1:1,[::1]:2,h3/d?sslmode=require",
            [
                "postgresql://me:a%2C@h1:1/d?sslmode=require",
                "postgresql://me:a%2C@[::1]:2/d?sslmode=require",
                "postgresql://me:a%2C@h3/d?sslmode=require",
            ],
        ),
    ],
)
def test_each_host_has_an_address(url, expected):
    assert each_host(url) == expected


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    with PostgresServer(fsync="off") as server:
        yield server


async def test_a_server_that_turns_read_only_is_not_ready_and_left_by_all_connections(
    own_postgres,
):
    database = PostgresDatabase(own_postgres.url(), deadlines=DEADLINES)
    await database.write(make_table)
    await asyncio.gather(*(database.write(add, "before") for _ in range(20)))
    await database.check()
    opened = set(database._open)
    set_read_only(own_postgres, "on")
    await asyncio.sleep(0.05)  # not long enough for connections to be tested: the write tells
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await database.write(add, "never")
        with pytest.raises(StoreUnavailable):
            await database.check()
    assert set(await database.read(names)) == {"before"}
    assert not opened & set(database._open)
    set_read_only(own_postgres, "off")
    await recovered(database.check)
    await database.write(add, "after")
    assert set(await database.read(names)) == {"after", "before"}
    await database.close()


async def test_a_connection_that_was_in_use_when_its_server_turned_read_only_is_left_too(
    own_postgres,
):
    database = PostgresDatabase(own_postgres.url(), deadlines=DEADLINES)
    await database.write(make_table)
    is_over = asyncio.Event()
    reading = asyncio.create_task(database.read(linger, is_over))
    await asyncio.sleep(0.1)
    opened = set(database._open)
    set_read_only(own_postgres, "on")
    with pytest.raises(StoreUnavailable):
        await database.write(add, "never")
    is_over.set()
    await reading
    assert opened & set(database._open)  # nobody has asked it yet
    assert await database.read(names) == []  # at once: it has not been idle
    assert not opened & set(database._open)
    opened = set(database._open)
    assert await database.read(names) == []
    assert not opened & set(database._open)  # another may have the address by now
    await database.close()


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with PostgresPair(fsync="off") as pair:
        asyncio.run(prepare(Settings(database_url=pair.primary.url()), upgrades_postgres=False))
        pair.catch_up()
        yield pair


@pytest.fixture
async def database(pair: PostgresPair) -> AsyncIterator[PostgresDatabase]:
    hosts = f"127.0.0.1:{pair.standby.port},127.0.0.1:{pair.primary.port}"
    database = PostgresDatabase(f"postgresql://postgres@{hosts}/postgres", deadlines=DEADLINES)
    yield database
    await database.close()


async def test_the_standby_is_taken_as_soon_as_it_is_promoted(pair, database):
    lookups = Lookups(database.hosts, seconds=DEADLINES.lookup_seconds)
    await database.write(make_table)
    await asyncio.gather(*(database.write(add, f"{n:02}") for n in range(2 * POOL_SIZE)))
    await lookups.find(0, "x")
    pair.primary.kill()
    for call in (database.write(add, "never"), lookups.find(0, "x"), database.check()):
        with pytest.raises(StoreUnavailable):
            await call
    pair.standby.promote()
    await recovered(database.check)
    await recovered(lambda: lookups.find(0, "x"))
    await database.write(add, "after")
    acknowledged = [f"{n:02}" for n in range(2 * POOL_SIZE)]
    assert await database.read(names) == [*acknowledged, "after"]
    lookups.close()


async def test_lookups_believe_a_server_only_in_its_role(pair):
    for server, is_replica in ((pair.primary, True), (pair.standby, False)):
        lookups = Lookups(PostgresHosts(server.url()), is_replica=is_replica)
        with pytest.raises(StoreUnavailable):
            await lookups.find(0, "x")
        lookups.close()
    for server, is_replica in ((pair.primary, False), (pair.standby, True)):
        hosts = PostgresHosts(server.url())
        lookups = Lookups(hosts, is_replica=is_replica, seconds=PATIENT.lookup_seconds)
        assert (await lookups.find(0, "x")).route is None
        lookups.close()
    both = f"postgresql://postgres@127.0.0.1:{pair.primary.port},127.0.0.1:{pair.standby.port}/"
    for is_replica in (True, False):
        connection = await PostgresHosts(both, is_replica=is_replica).connect()
        assert await connection.fetchval("SELECT pg_is_in_recovery()") is is_replica
        await connection.close()
    database = PostgresDatabase(pair.standby.url())
    with pytest.raises(StoreUnavailable):
        await database.check()
    await database.close()
    # Who listens wants the primary, whatever the address does.
    both = f"postgresql://postgres@127.0.0.1:{pair.standby.port},127.0.0.1:{pair.primary.port}/"
    connection = await PostgresHosts(f"{both}?target_session_attrs=any", wanted="primary").connect()
    assert await connection.fetchval("SELECT pg_is_in_recovery()") is False
    await connection.close()


async def test_of_a_server_that_turns_read_only_lookups_believe_links_but_no_absence(
    own_postgres, monkeypatch
):
    monkeypatch.setattr("kurz.storage.routes.lookups.READ_ONLY_SECONDS", 0.4)
    settings = Settings(database_url=own_postgres.url())
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings) as kurz:
        code = (await kurz.links.create(Draft(original_url="https://example.com/"))).link.short_code
    with FaultProxy(own_postgres.port) as proxy:
        hosts = PostgresHosts(f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres")
        lookups = Lookups(hosts, seconds=PATIENT.lookup_seconds)
        assert (await lookups.find(0, "none")).route is None
        set_read_only(own_postgres, "on")
        for _ in range(3):
            await asyncio.sleep(0.5)
            connections = proxy.accepted
            route = (await lookups.find(0, code)).route
            assert route is not None
            assert route.location == "https://example.com/"
            # Its successor may have the address by now.
            assert proxy.accepted > connections
            with pytest.raises(StoreUnavailable):
                await lookups.find(0, "none")
        set_read_only(own_postgres, "off")
        await recovered(lambda: lookups.find(0, "none"))
        lookups.close()
