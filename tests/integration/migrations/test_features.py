"""Features that an older program would answer wrongly: who may use the database after the first
use."""

import asyncio

import pytest
import sqlalchemy as sa

from kurz.clock import SystemClock
from kurz.errors import OlderInstanceRuns, ProgramOutdated
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.engine.schema_state import Feature, SchemaState, find_state, use_feature
from kurz.storage.followers.instance_register import InstanceRegister
from kurz.wiring.core import open_kurz
from support.clicks import wait_until
from support.migrations import HEAD, NEXT, execute, make_with_link, on_postgres, read, upgrade
from support.patience import PATIENT

FEATURE = Feature("A link with a password", NEXT)
KNOWN = Feature("A link with tags", HEAD)
NOW_MICROS = "(extract(epoch FROM now()) * 1000000)::bigint"
OLD = f"INSERT INTO instances VALUES ('some', '0.9', '{HEAD}', {NOW_MICROS})"  # noqa: S608
TABLES = ("schema_revision", "alembic_version")
GONE = "UPDATE instances SET seen_at = seen_at - 60 * 1000000"


def is_noted(connection: sa.Connection) -> bool:
    return connection.execute(sa.text("SELECT 1 FROM instances")).first() is not None


async def use(settings, feature: Feature = FEATURE) -> None:
    await read(settings, lambda connection: use_feature(connection, feature))


async def test_older_programs_cannot_start_after_the_first_use(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    async with open_kurz(settings):  # until then they can
        pass
    await use(settings)
    await use(settings)
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)
    with pytest.raises(ProgramOutdated, match=f"only knows {HEAD}"):
        async with open_kurz(settings):
            pass


async def test_a_feature_that_all_programs_know_changes_nothing(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second())
    before = await read(settings, find_state)
    await use(settings, KNOWN)
    assert await read(settings, find_state) == before


@on_postgres
async def test_a_feature_waits_until_no_older_instance_runs(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    await execute(settings, OLD)
    expected = r"A link with a password cannot be used yet: an instance of kurz 0\.9 is running"
    with pytest.raises(OlderInstanceRuns, match=expected) as refused:
        await use(settings)
    assert refused.value.retry_after_seconds == 60
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=HEAD)
    await execute(settings, GONE)
    await use(settings)
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)


@on_postgres
async def test_instances_that_know_the_feature_do_not_matter(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    await execute(settings, OLD.replace(HEAD, NEXT))
    await use(settings)
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)


@on_postgres
async def test_what_is_used_at_the_same_time_is_allowed_once_and_for_all(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    await asyncio.gather(*(use(settings) for _ in range(8)))
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)


@on_postgres
async def test_an_instance_that_was_cut_off_notices_that_it_is_too_old(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
    old, new = (
        InstanceRegister(database, SystemClock(), made)
        for made in (Migrations(), second(works_with=HEAD))
    )
    try:
        await old.note()
        old.check()
        await execute(settings, GONE)
        await use(settings)
        await old.note()
        await new.note()
    finally:
        await database.close()
    new.check()
    with pytest.raises(ProgramOutdated, match=f"only knows {HEAD}"):
        old.check()


@on_postgres
def test_a_server_that_is_too_old_ends_with_one_line(settings, start_program):
    program = start_program(KURZ_DATABASE_URL=settings.database_url)
    wait_until(lambda: asyncio.run(read(settings, is_noted)))
    raised = [f"UPDATE {it} SET version_num = '9999'" for it in TABLES]  # noqa: S608
    asyncio.run(execute(settings, *raised))
    wait_until(lambda: program.process.poll() is not None)
    assert program.stop() == 78
    [line] = [it for it in program.log().splitlines() if it.startswith("kurz: ")]
    assert line == (
        f"kurz: The database has schema 9999, but this version of kurz only knows {HEAD}."
        " Use a newer version of kurz."
    )
