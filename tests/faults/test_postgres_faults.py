"""PostgreSQL is killed, slow, silent, full or read-only under load: what is in memory goes on, the
rest is 503 in time, nothing acknowledged is lost, and all is well again soon after."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest

from kurz.settings.model import Settings
from kurz.storage.engine.postgres import CLEAN_UP_SECONDS
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from servers.binaries import hand_over
from servers.fault_proxy import FaultProxy
from servers.postgres import PostgresPair, PostgresServer
from servers.valkey import ValkeyServer
from support.endurance import Endurance
from support.postgres_troubles import (
    crowded,
    cut,
    frozen,
    killed,
    locked,
    read_only,
    set_read_only,
    slow,
    swallowed,
)
from support.serving import open_app

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def address(*ports: int) -> str:
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"postgresql://postgres@{hosts}/postgres"


@pytest.fixture
def own_postgres() -> Iterator[PostgresServer]:
    """With durable commits, and few connections: an installation's usual share."""
    with PostgresServer(max_connections="60") as server:
        yield server


@pytest.fixture
def redis() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


@pytest.fixture
def proxy(own_postgres: PostgresServer) -> Iterator[FaultProxy]:
    with FaultProxy(own_postgres.port) as proxy:
        yield proxy


@pytest.mark.parametrize("has_redis", [False, True], ids=["alone", "with Redis"])
@pytest.mark.parametrize(
    ("trouble", "seconds", "is_total"),
    [
        pytest.param(killed, 60.0, True, id="killed for a minute"),
        pytest.param(frozen, 12.0, True, id="stopped"),
        pytest.param(swallowed, 12.0, True, id="black hole"),
        pytest.param(cut, 12.0, True, id="connections cut"),
        pytest.param(slow, 12.0, True, id="3 s slow"),
        pytest.param(crowded, 12.0, True, id="no connection left"),
        pytest.param(locked, 12.0, True, id="table locked"),
        pytest.param(read_only, 12.0, False, id="read-only"),
    ],
)
def test_what_is_in_memory_goes_on_and_nothing_is_lost(
    own_postgres, proxy, start_program, request, trouble, seconds, is_total, has_redis
):
    port = proxy.port if trouble in (swallowed, cut, slow) else own_postgres.port
    environment = {"KURZ_DATABASE_URL": address(port)}
    valkey = request.getfixturevalue("redis") if has_redis else None
    if valkey is not None:
        environment["KURZ_REDIS_URL"] = valkey.url
    endurance = Endurance(start_program, environment)
    with endurance.load(lives_seconds=(10, int(8 + seconds / 2), int(12 + seconds))):
        endurance.run(5)
        with endurance.outage(trouble(own_postgres, proxy), is_total=is_total):
            endurance.run(seconds)
        endurance.run(8)
    if valkey is not None:
        valkey.ask("FLUSHALL")
    endurance.check(request.node.callspec.id)


def test_twenty_restarts_leave_nothing_behind(own_postgres, proxy, start_program):
    endurance = Endurance(start_program, {"KURZ_DATABASE_URL": own_postgres.url()})
    held = []
    with endurance.load():
        for _ in range(20):
            endurance.run(3)
            held.append((endurance.census.files(), endurance.census.kilobytes()))
            with endurance.outage(killed(own_postgres, proxy)):
                pass
        endurance.run(6)
    held.append((endurance.census.files(), endurance.census.kilobytes()))
    print(f"open files and kB of all processes: {held}")
    endurance.check("restarted 20 times")
    (files_before, kilobytes_before), (files, kilobytes) = held[5], held[-1]
    assert files < files_before + 10
    # Every link that was made and visited is in the memory of the workers since.
    assert kilobytes < kilobytes_before + 10_000 + 2 * len(endurance.ledger.acknowledged)


async def test_twenty_outages_leave_no_task_behind(own_postgres, proxy, tmp_path):
    settings = Settings(
        data_dir=tmp_path / "kurz-data", database_url=address(proxy.port), rate_limits="off"
    )
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings) as kurz, open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://a") as client:

            async def ask() -> set[int]:
                link = {"original_url": "https://example.com/"}
                calls = [client.post("/api/v1/links", json=link) for _ in range(20)]
                calls += [client.get(f"/no-{secrets.token_hex(6)}") for _ in range(20)]
                return {answer.status_code for answer in await asyncio.gather(*calls)}

            async def settled() -> int:
                while await ask() != {201, 404}:
                    pass
                await asyncio.sleep(CLEAN_UP_SECONDS + 0.5)
                return len(asyncio.all_tasks())

            tasks = []
            for number in range(20):
                tasks.append(await settled())
                with (cut, swallowed, slow)[number % 3](own_postgres, proxy):
                    assert await ask() == {503}
            tasks.append(await settled())
        print(f"tasks: {tasks}; {kurz.database.counts()}")
        assert tasks[-1] <= max(tasks[:3])
        assert kurz.database.counts()["database_in_use"] == 0


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with PostgresPair() as pair:
        yield pair


@contextmanager
def failing_over(pair: PostgresPair) -> Iterator[None]:
    """The end is when the standby has been promoted."""
    pair.primary.kill()
    yield
    pair.standby.promote()


def test_after_a_failover_all_that_was_acknowledged_is_there(pair, start_program):
    url = address(pair.primary.port, pair.standby.port)
    endurance = Endurance(start_program, {"KURZ_DATABASE_URL": url})
    with endurance.load():
        endurance.run(5)
        with endurance.outage(failing_over(pair), is_total=False):
            endurance.run(4)
        endurance.run(12)
        # The old one comes back as somebody's standby, with what it had then.
        signal_file = pair.primary.folder / "data" / "standby.signal"
        signal_file.touch()
        hand_over(signal_file)
        pair.primary.start()
        endurance.run(5)
    endurance.check("failover, two hosts", recovery_seconds=10)


def test_after_a_failover_behind_one_address_all_that_was_acknowledged_is_there(
    pair, start_program
):
    with FaultProxy(pair.primary.port) as proxy:
        endurance = Endurance(start_program, {"KURZ_DATABASE_URL": address(proxy.port)})
        with endurance.load():
            endurance.run(5)
            with endurance.outage(failing_over(pair), is_total=True):
                endurance.run(4)
                proxy.upstream_port = pair.standby.port
            endurance.run(12)
        endurance.check("failover, one address", recovery_seconds=10)


@contextmanager
def switching_over(pair: PostgresPair, proxy: FaultProxy) -> Iterator[None]:
    """The old primary lives on, and can be read on the connections there are."""
    set_read_only(pair.primary, "on")
    yield
    pair.catch_up()
    pair.standby.promote()
    proxy.upstream_port = pair.standby.port


def test_a_server_that_became_read_only_is_left_for_the_one_behind_its_address(pair, start_program):
    with FaultProxy(pair.primary.port) as proxy:
        endurance = Endurance(start_program, {"KURZ_DATABASE_URL": address(proxy.port)})
        with endurance.load():
            endurance.run(5)
            with endurance.outage(switching_over(pair, proxy), is_total=False):
                endurance.run(4)
            endurance.run(12)
        endurance.check("switch-over, one address", recovery_seconds=10)
