"""Upgrades make a backup first, and are done completely or not at all."""

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from kurz.storage.engine.schema_state import revision
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.migrations import (
    HEAD,
    NEXT,
    URL,
    make_with_link,
    on_sqlite,
    read,
    snapshot,
    snapshot_of_file,
    upgrade,
)


async def test_five_upgrades_at_the_same_instant_make_one_schema(settings, second):
    await make_with_link(settings)
    migrations = second()

    def run() -> Path | None:
        return asyncio.run(upgrade(settings, migrations))

    backups = await asyncio.gather(*(asyncio.to_thread(run) for _ in range(5)))
    assert len([backup for backup in backups if backup]) == (settings.database_url is None)
    assert await read(settings, revision) == NEXT
    colours = await read(settings, lambda c: c.execute(sa.text("SELECT colour FROM links")).all())
    assert colours == [("red",)]


@on_sqlite
async def test_an_embedded_upgrade_makes_a_backup_first(settings, second):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    backup = await upgrade(settings, second())
    assert backup is not None
    assert backup.parent == settings.backup_dir
    assert [path.name for path in settings.backup_dir.iterdir()] == [
        f"kurz-{HEAD}-20260301T120000Z.db"
    ]
    assert snapshot_of_file(backup) == before
    assert await read(settings, revision) == NEXT
    colours = await read(settings, lambda c: c.execute(sa.text("SELECT colour FROM links")).all())
    assert colours == [("red",)]


@on_sqlite
async def test_the_backup_serves_in_the_place_of_the_database(settings, second, start_program):
    await make_with_link(settings)
    backup = await upgrade(settings, second())
    assert backup is not None
    for path in settings.data_dir.glob("kurz.db*"):
        path.unlink()
    shutil.copy(backup, settings.database_path)
    with start_program().client() as client:
        assert client.get("/kept").headers["location"] == URL


@on_sqlite
async def test_where_nothing_is_to_migrate_no_backup_is_made(settings, second):
    assert await prepare(settings, upgrades_postgres=True) is None
    assert await prepare(settings, upgrades_postgres=True) is None
    await make_with_link(settings)
    assert not settings.backup_dir.exists()
    assert await upgrade(settings, second()) is not None
    assert await upgrade(settings, second()) is None
    assert len(list(settings.backup_dir.iterdir())) == 1


async def test_a_step_that_fails_leaves_the_database_as_it_was(settings, second):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    for then in ("raise RuntimeError('no')", "op.execute('INSERT INTO nowhere VALUES (1)')"):
        with pytest.raises(Exception, match=r"no|nowhere"):
            await upgrade(settings, second(then))
        assert await read(settings, snapshot) == before
    await upgrade(settings, second())
    assert await read(settings, revision) == NEXT


async def test_a_first_start_that_fails_leaves_nothing(settings, second):
    settings.data_dir.mkdir()
    with pytest.raises(RuntimeError):
        await upgrade(settings, second("raise RuntimeError('no')"))
    assert await read(settings, snapshot) == (None, {})
    await prepare(settings, upgrades_postgres=False)
    assert await read(settings, revision) == HEAD


MIGRATE = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.postgres import PostgresDatabase

scripts, data, url, head = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
migrations = Migrations(scripts=scripts, head=head)
if url:
    database = PostgresDatabase(url)
    asyncio.run(migrations.upgrade_postgres(database, only_if_empty=False))
else:
    migrations.upgrade_sqlite(data / "kurz.db", data / "backups", datetime.now(UTC))
"""
HANG = "print('in the middle', flush=True); import time; time.sleep(60)"


def kill_in_the_middle(command: list[str]) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        process.send_signal(signal.SIGKILL)


async def test_a_migration_killed_in_the_middle_can_be_run_again(settings, second):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    migrations = second(HANG)
    where = [migrations.scripts, settings.data_dir, settings.database_url or "", NEXT]
    command = [sys.executable, "-c", MIGRATE, *map(str, where)]
    await asyncio.to_thread(kill_in_the_middle, command)
    assert await read(settings, snapshot) == before
    async with open_kurz(settings) as parts:
        assert (await parts.links.get_by_code(0, "kept")).original_url == URL
    await upgrade(settings, second())
    assert await read(settings, revision) == NEXT
    assert not list(settings.data_dir.rglob("*.part"))


@on_sqlite
async def test_a_backup_left_half_does_not_stand_in_the_way(settings, second):
    await make_with_link(settings)
    settings.backup_dir.mkdir()
    (settings.backup_dir / f"kurz-{HEAD}-20260301T120000Z.part").write_bytes(b"half a backup")
    backup = await upgrade(settings, second())
    assert backup is not None
    assert [path.name for path in settings.backup_dir.iterdir()] == [backup.name]
    assert snapshot_of_file(backup)[0] == HEAD
