"""How many connections there are, who waits for one, and that lookups have their own."""

import asyncio
import time

import pytest

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.engine import postgres as postgres_engine
from kurz.storage.engine.deadlines import LONG_SECONDS, deadline
from kurz.storage.engine.postgres import MAX_WAITING, POOL_SIZE
from kurz.storage.routes.lookups import Lookups
from kurz.wiring.engine import Engine
from support.patience import PATIENCE
from support.postgres_calls import (
    LATE_SECONDS,
    RECOVERY_SECONDS,
    leave,
    links_locked,
    number_of_backends,
    recovered,
    seconds_of_outage,
    sleep,
    touch,
    until,
    until_in_use,
    use_all,
)

pytestmark = pytest.mark.deadlines


async def test_lookups_do_not_notice_that_their_connections_were_ended(
    own_postgres, patient_lookups
):
    lookups = patient_lookups
    for _ in range(5):
        await recovered(lambda: use_both(lookups))
        own_postgres.ask(  # and no turn of the event loop in between, to notice it
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        await asyncio.gather(*(lookups.find(0, f"{n}") for n in range(150)))


async def use_both(lookups: Lookups) -> None:
    await asyncio.gather(*(lookups.find(0, f"{n}") for n in range(150)))
    if lookups.connections < 2:
        raise StoreUnavailable("One is being connected.")


async def test_as_many_connections_are_used_as_is_set(own_postgres, locker):
    settings = Settings(database_url=own_postgres.url(), database_connections=5, **PATIENCE)
    database = Engine(settings).open_database()
    async with links_locked(locker):
        with deadline(LONG_SECONDS):
            waiting = [asyncio.create_task(database.read(touch)) for _ in range(6)]
        await until_in_use(database, 3)  # two are for lookups of redirects
        assert database.counts()["database_waiting"] == 3
    await asyncio.gather(*waiting)
    assert database.counts()["database_connections"] == 3
    await database.close()


async def test_slow_calls_hold_no_lookup_up(patient_database, patient_lookups):
    database, lookups = patient_database, patient_lookups
    await lookups.find(0, "none")
    with deadline(LONG_SECONDS):
        slow = [asyncio.create_task(database.read(sleep, 60)) for _ in range(POOL_SIZE + 5)]
    await until_in_use(database, POOL_SIZE)
    for _ in range(10):
        await lookups.find(0, "none")
    assert not any(call.done() for call in slow)
    await leave(slow)


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_more_callers_than_can_wait_are_refused_at_once(database, is_at_once):
    await recovered(lambda: use_all(database))  # connects
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
    patient_database, own_postgres, locker, monkeypatch
):
    database = patient_database
    monkeypatch.setattr(postgres_engine, "IDLE_SECONDS", 0.3)
    for _ in range(2):
        async with links_locked(locker):
            with deadline(LONG_SECONDS):
                calls = [asyncio.create_task(database.read(touch)) for _ in range(POOL_SIZE)]
            await until(lambda: database.counts()["database_connections"] == POOL_SIZE)
        await asyncio.gather(*calls)
        started = time.monotonic()
        while database.counts()["database_connections"] > 1:
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)
            await database.read(touch)  # one is in use all the time
    await number_of_backends(own_postgres, "true", 2)  # one is the locker's
