"""Upgrades while kurz is running: who can go on, and what is not blocked."""

import asyncio

import asyncpg
import pytest
import sqlalchemy as sa

import kurz
from kurz.errors import SchemaOutdated, UpgradeRefused
from kurz.storage.clicks.events import ensure_days
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.postgres import PostgresDatabase
from kurz.storage.engine.schema_state import SchemaState, find_state
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.clicks import wait_until
from support.migrations import (
    HEAD,
    NEXT,
    URL,
    execute,
    make_with_link,
    on_postgres,
    read,
    snapshot,
    upgrade,
)
from support.patience import PATIENT

DAY = 20_500
RUNNING = sa.text("SELECT version, schema FROM instances")
PARTS = sa.text(
    "SELECT indrelid::regclass::text FROM pg_inherits JOIN pg_index ON indexrelid = inhrelid"
    " WHERE inhparent = to_regclass('ix_try') AND indisvalid ORDER BY 1"
)
NOW_MICROS = "(extract(epoch FROM now()) * 1000000)::bigint"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('ix_try')"


def running(connection: sa.Connection) -> list[tuple[str, str]]:
    return [(version, schema) for version, schema in connection.execute(RUNNING)]


async def test_older_programs_go_on_if_the_migration_allows_it(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second(works_with=HEAD))
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=HEAD)
    before = await read(settings, snapshot)
    assert await prepare(settings, upgrades_postgres=True) is None
    assert await read(settings, snapshot) == before
    async with open_kurz(settings) as parts:
        assert (await parts.links.get_by_code(0, "kept")).original_url == URL


async def test_older_programs_are_refused_if_the_migration_does_not_allow_it(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second())
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)
    with pytest.raises(SchemaOutdated, match=f"schema {NEXT}.* newer version"):
        async with open_kurz(settings):
            pass


async def test_a_database_of_kurz_0_2_keeps_what_that_version_looks_for(settings, until):
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, until("0023"))
    # That version let Alembic write its own table.
    await execute(settings, "DROP TABLE schema_revision")
    assert await read(settings, find_state) == SchemaState(newest="0023", oldest="0023")
    await upgrade(settings, Migrations())
    assert await read(settings, find_state) == SchemaState(newest=HEAD, oldest="0023")


@on_postgres
async def test_a_migration_waits_until_no_program_runs_that_it_would_break(settings, second):
    await make_with_link(settings)
    running = f"INSERT INTO instances VALUES ('some', '0.9', '{HEAD}', {NOW_MICROS})"  # noqa: S608
    await execute(settings, running)
    before = await read(settings, snapshot)
    with pytest.raises(UpgradeRefused, match=r"kurz 0\.9 is running"):
        await upgrade(settings, second())
    assert await read(settings, snapshot) == before
    await execute(settings, "UPDATE instances SET seen_at = seen_at - 60 * 1000000")
    await upgrade(settings, second())
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)


@on_postgres
@pytest.mark.parametrize("name", ["", "kurz feed"])
async def test_kurz_0_2_is_noticed_by_the_names_of_its_connections(settings, second, name):
    """It notes itself nowhere."""
    await make_with_link(settings)
    named = {"application_name": name}
    connection = await asyncpg.connect(settings.database_url, server_settings=named)
    try:
        with pytest.raises(UpgradeRefused, match=r"kurz 0\.2\.0 is running"):
            await upgrade(settings, second())
        await connection.execute("SET application_name = 'psql'")
        await upgrade(settings, second())
    finally:
        await connection.close()
    assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)


@on_postgres
def test_an_instance_is_noted_while_it_runs(settings, start_program):
    program = start_program(KURZ_DATABASE_URL=settings.database_url)
    wait_until(lambda: asyncio.run(read(settings, running)))
    assert asyncio.run(read(settings, running)) == [(kurz.__version__, HEAD)]
    program.stop()
    assert asyncio.run(read(settings, running)) == []


@on_postgres
async def test_while_a_migration_waits_for_a_table_others_use_it(settings, second):
    await make_with_link(settings)
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
    blocker = await database.hosts.connect()
    try:
        held = blocker.transaction()
        await held.start()
        await blocker.execute("SELECT count(*) FROM links")  # holds off `ALTER TABLE`
        upgrading = asyncio.create_task(upgrade(settings, second()))
        async with open_kurz(settings) as parts:
            for _ in range(30):  # longer than the migration waits at once
                assert (await parts.links.get_by_code(0, "kept")).original_url == URL
                await asyncio.sleep(0.05)
        assert not upgrading.done()
        assert await read(settings, find_state) == SchemaState(newest=HEAD, oldest="0023")
        await held.rollback()
        await upgrading
        assert await read(settings, find_state) == SchemaState(newest=NEXT, oldest=NEXT)
    finally:
        await blocker.close()
        await database.close()


@pytest.fixture
def building(second):
    """Makes a history whose last step builds an index."""

    def make(table: str, column: str) -> Migrations:
        made: Migrations = second()
        script = made.scripts / "versions" / f"{NEXT}_second.py"
        begin = script.read_text().partition("def upgrade")[0]
        script.write_text(
            f'{begin}def upgrade():\n    build_index("ix_try", "{table}", ["{column}"])\n'
        )
        return made

    return make


@on_postgres
async def test_an_index_that_was_left_broken_is_built_again(settings, building):
    await make_with_link(settings)
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
    connection = await database.hosts.connect()
    try:
        await connection.execute("CREATE TABLE twice AS SELECT 1 AS id FROM generate_series(1, 2)")
        with pytest.raises(Exception, match="could not create unique index"):
            await connection.execute("CREATE UNIQUE INDEX CONCURRENTLY ix_try ON twice (id)")
        assert await connection.fetchval(IS_VALID) is False
        await upgrade(settings, building("twice", "id"))
        assert await connection.fetchval(IS_VALID) is True
    finally:
        await connection.close()
        await database.close()


@on_postgres
async def test_an_index_of_a_partitioned_table_is_built_partition_by_partition(settings, building):
    await make_with_link(settings)
    await read(settings, lambda it: ensure_days(it, [DAY, DAY + 1]))
    await upgrade(settings, building("click_events", "country"))

    def found(connection: sa.Connection) -> tuple[bool, list[str]]:
        is_valid = connection.execute(sa.text(IS_VALID)).scalar_one()
        return is_valid, [*connection.execute(PARTS).scalars()]

    is_valid, partitions = await read(settings, found)
    assert is_valid
    assert {f"click_events_{DAY}", f"click_events_{DAY + 1}"} <= {*partitions}
    await read(settings, lambda it: ensure_days(it, [DAY + 2]))
    assert f"click_events_{DAY + 2}" in (await read(settings, found))[1]
