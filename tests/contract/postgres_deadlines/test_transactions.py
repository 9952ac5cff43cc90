"""Transactions that are cut off or stand still hold up nobody else, and no connection."""

import asyncio
import time

import pytest
import sqlalchemy as sa

from kurz.storage.engine.postgres import ABANDONED_SECONDS, POOL_SIZE
from support.postgres_calls import (
    LATE_SECONDS,
    RECOVERY_SECONDS,
    links_locked,
    nothing_is_left,
    number_of_backends,
    recovered,
    seconds_of_outage,
    touch,
    use_all,
)
from support.slack import DEADLINES, IS_STRICT, slack

pytestmark = pytest.mark.deadlines


@pytest.mark.parametrize("is_mistaken", [True, False])
async def test_a_hole_that_opens_before_the_end_of_a_transaction_swallows_no_connection(
    proxy, database, is_mistaken
):
    def fall(connection: sa.Connection) -> None:
        touch(connection)
        proxy.black_hole()
        if is_mistaken:  # then it is a rollback that hangs, else a commit
            raise ValueError

    tasks_before = asyncio.all_tasks()
    await recovered(lambda: use_all(database))  # connects
    for _ in range(2):
        calls = [seconds_of_outage(database.write(fall)) for _ in range(POOL_SIZE)]
        assert max(await asyncio.gather(*calls)) < DEADLINES.write_seconds + LATE_SECONDS
        proxy.pass_on()
        await recovered(lambda: database.write(touch))
    await nothing_is_left(database, tasks_before)
    await recovered(lambda: use_all(database))


async def test_a_transaction_that_is_cut_off_does_not_keep_its_rows(proxy, database, locker):
    await locker.execute("CREATE TABLE shared (number integer)")
    await locker.execute("INSERT INTO shared VALUES (1)")

    def fall(connection: sa.Connection) -> None:
        connection.exec_driver_sql("UPDATE shared SET number = 2")
        proxy.black_hole()

    await recovered(lambda: database.write(touch))  # connects
    await seconds_of_outage(database.write(fall))
    # The network is never heard of again. Another instance edits the same row.
    async with asyncio.timeout(ABANDONED_SECONDS + slack(3.0)):
        await locker.execute("UPDATE shared SET number = 3")
    assert await locker.fetchval("SELECT number FROM shared") == 3
    await locker.execute("DROP TABLE shared")


async def test_a_process_that_stood_still_in_a_transaction_is_told_of_an_outage(
    own_postgres, database
):
    def stand_still(connection: sa.Connection) -> None:
        process = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        connection.exec_driver_sql("SET idle_in_transaction_session_timeout = '20ms'")
        backends = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {process}"  # noqa: S608
        started = time.monotonic()
        while own_postgres.ask(backends) != "0":  # until the server has ended it
            assert time.monotonic() - started < RECOVERY_SECONDS
            time.sleep(0.02)
        touch(connection)

    await recovered(lambda: database.write(touch))  # connects
    await seconds_of_outage(database.write(stand_still))
    await recovered(lambda: database.write(touch))


async def test_what_waits_for_a_lock_is_given_up_on_the_server_too(
    own_postgres, database, lookups, locker
):
    await recovered(lambda: lookups.find(0, "none"), lambda: database.write(touch))
    async with links_locked(locker):
        for _ in range(8 if IS_STRICT else 2):  # patient deadlines take three times as long
            took = await asyncio.gather(
                seconds_of_outage(database.write(touch)),
                *(seconds_of_outage(lookups.find(0, f"{n}")) for n in range(5)),
            )
            assert took[0] < DEADLINES.write_seconds + LATE_SECONDS
            assert max(took[1:]) < DEADLINES.lookup_seconds + LATE_SECONDS
        waiting, started = "SELECT count(*) FROM pg_locks WHERE NOT granted", time.monotonic()
        while await locker.fetchval(waiting) > 1:  # one may just be on its way
            assert time.monotonic() - started < RECOVERY_SECONDS
            await asyncio.sleep(0.05)
    await recovered(lambda: database.write(touch), lambda: lookups.find(0, "none"))
    await number_of_backends(own_postgres, "true", 4)
