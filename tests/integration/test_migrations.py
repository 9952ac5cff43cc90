"""The schema: made once however many start at once, upgraded with a backup, never half."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import kurz
from kurz.bootstrap import open_kurz, prepare
from kurz.links.model import Draft
from kurz.settings import Settings
from kurz.storage import sqlite
from kurz.storage.migrate import Migrations, revision
from kurz.storage.postgres import PostgresDatabase
from kurz.storage.schema import metadata
from support.program import KURZ, Program

T = TypeVar("T")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://example.com/kept"
SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade():
    op.create_table("additions", sa.Column("id", sa.BigInteger(), primary_key=True))
    op.add_column("links", sa.Column("colour", sa.Text()))
    op.execute("UPDATE links SET colour = 'red'")
    {then}
"""
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


@pytest.fixture
def second(tmp_path: Path) -> Callable[..., Migrations]:
    """Makes a history with one more step than ours; `then` is what the step does at its end."""

    def make(then: str = "pass") -> Migrations:
        scripts = tmp_path / "migrations"
        shutil.rmtree(scripts, ignore_errors=True)
        shutil.copytree(Migrations().scripts, scripts)
        (scripts / "versions" / "0003_second.py").write_text(SECOND.format(then=then))
        return Migrations(scripts=scripts, head="0003")

    return make


async def upgrade(settings: Settings, migrations: Migrations) -> Path | None:
    """Upgrades the way the engine does it; gives the backup, if one was made."""
    if settings.database_url is None:
        return migrations.upgrade_sqlite(settings.database_path, settings.backup_dir, NOW)
    database = PostgresDatabase(settings.database_url, query_seconds=None)
    try:
        await migrations.upgrade_postgres(database, only_if_empty=False)
    finally:
        await database.close()
    return None


async def read(settings: Settings, query: Callable[[sa.Connection], T]) -> T:
    """Runs a query on a connection of its own."""
    if settings.database_url is None:
        with sqlite.create_engine(settings.database_path).connect() as connection:
            return query(connection)
    database = PostgresDatabase(settings.database_url)
    try:
        return await database.write(query)
    finally:
        await database.close()


def snapshot(connection: sa.Connection) -> tuple[str | None, dict[str, object]]:
    """The schema as the database describes it, its revision, and all rows."""
    inspector = sa.inspect(connection)
    tables: dict[str, object] = {}
    for name in sorted(inspector.get_table_names()):
        columns = [(column["name"], str(column["type"])) for column in inspector.get_columns(name)]
        rows = connection.execute(sa.text(f'SELECT * FROM "{name}"')).all()  # noqa: S608
        tables[name] = (columns, sorted(map(repr, rows)))
    return revision(connection), tables


async def make_with_link(settings: Settings) -> None:
    """A database of today's schema with a link in it."""
    await prepare(settings, upgrades_postgres=False)
    async with open_kurz(settings) as parts:
        await parts.links.create(Draft(original_url=URL, custom_code="kept"))


def run_kurz(
    settings: Settings, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("KURZ_")}
    environment |= {"KURZ_DATA_DIR": str(settings.data_dir), "KURZ_PORT": "0"}
    if settings.database_url is not None:
        environment["KURZ_DATABASE_URL"] = settings.database_url
    return subprocess.run(
        [KURZ, *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_the_migrations_make_the_schema_that_the_queries_expect(settings):
    await prepare(settings, upgrades_postgres=False)

    def compare(connection: sa.Connection) -> object:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    assert await read(settings, compare) == []
    assert await read(settings, revision) == Migrations().head


async def test_the_migrations_make_the_same_tables_as_the_metadata(settings, tmp_path):
    await prepare(settings, upgrades_postgres=False)

    def describe(connection: sa.Connection) -> dict[str, object]:
        inspector = sa.inspect(connection)
        return {
            name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(name)],
                inspector.get_pk_constraint(name)["constrained_columns"],
                sorted(str(c["name"]) for c in inspector.get_unique_constraints(name)),
                sorted(str(i["name"]) for i in inspector.get_indexes(name)),
            )
            for name in inspector.get_table_names()
            if name != "alembic_version"
        }

    def remake(connection: sa.Connection) -> None:
        metadata.drop_all(connection)
        metadata.create_all(connection)

    migrated = await read(settings, describe)
    await read(settings, remake)
    assert await read(settings, describe) == migrated
    assert migrated.keys() == metadata.tables.keys()


def test_programs_that_start_together_on_nothing_all_serve(settings, tmp_path):
    environment = {"KURZ_DATA_DIR": str(settings.data_dir)}
    if settings.database_url is not None:
        environment["KURZ_DATABASE_URL"] = settings.database_url
    programs = [Program(environment, tmp_path / f"log-{n}") for n in range(5)]
    try:
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(Program.start, programs))
        made = {}
        for number, program in enumerate(programs):
            with program.client() as client:
                url = f"https://example.com/{number}"
                answer = client.post("/api/v1/links", json={"original_url": url})
                assert answer.status_code == 201
                made[answer.json()["short_code"]] = url
        assert len(made) == 5
        for program in programs:
            with program.client() as client:
                for code, url in made.items():
                    assert client.get(f"/{code}").headers["location"] == url
    finally:
        for program in programs:
            program.stop()


async def test_five_upgrades_at_the_same_instant_make_one_schema(settings, second):
    await make_with_link(settings)
    migrations = second()

    def run() -> Path | None:
        return asyncio.run(upgrade(settings, migrations))

    backups = await asyncio.gather(*(asyncio.to_thread(run) for _ in range(5)))
    assert len([backup for backup in backups if backup]) == (settings.database_url is None)
    assert await read(settings, revision) == "0003"
    colours = await read(settings, lambda c: c.execute(sa.text("SELECT colour FROM links")).all())
    assert colours == [("red",)]


@pytest.fixture
def next_kurz(second: Callable[..., Migrations], tmp_path: Path) -> str:
    """The folder to import the next version of kurz from, which has one more migration."""
    source = Path(kurz.__file__).parent
    copy = tmp_path / "next" / "kurz"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(second().scripts, copy / "storage" / "migrations", dirs_exist_ok=True)
    module = copy / "storage" / "migrate.py"
    text = module.read_text()
    assert text.count(f'"{Migrations().head}"') == 1
    module.write_text(text.replace(f'"{Migrations().head}"', '"0003"'))
    return str(copy.parent)


@on_postgres
async def test_an_old_schema_on_postgres_is_left_to_kurz_migrate(
    settings, next_kurz, start_program
):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    ended = await asyncio.to_thread(run_kurz, settings, "serve", PYTHONPATH=next_kurz)
    assert ended.returncode == 78
    assert "`kurz migrate`" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert await read(settings, snapshot) == before
    ended = await asyncio.to_thread(run_kurz, settings, "migrate", PYTHONPATH=next_kurz)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "up to date (0002)" in ended.stdout
    program = start_program(PYTHONPATH=next_kurz, KURZ_DATABASE_URL=settings.database_url)
    with program.client() as client:
        assert client.get("/kept").headers["location"] == URL


def serve_once(environment: dict[str, str]) -> str:
    """Starts a program that has more to say than usual, follows the link, and stops it; gives what
    it printed at its start."""
    command = [str(KURZ), "serve"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            output = ""
            while "stop " not in output:
                line = process.stdout.readline()
                assert line
                output += line
            match = re.search(r"kurz +(http://127\.0\.0\.1:\d+)", output)
            assert match is not None
            assert httpx2.get(f"{match[1]}/kept", trust_env=False).headers["location"] == URL
        finally:
            process.terminate()
    assert process.returncode == 0
    return output


@on_sqlite
async def test_an_embedded_kurz_upgrades_itself_and_says_where_the_backup_is(settings, next_kurz):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    environment = {**os.environ, "PYTHONPATH": next_kurz, "KURZ_PORT": "0"}
    environment["KURZ_DATA_DIR"] = str(settings.data_dir)
    output = await asyncio.to_thread(serve_once, environment)
    (backup,) = settings.backup_dir.iterdir()
    assert str(backup) in output.splitlines()[0]
    assert snapshot_of_file(backup) == before
    assert await read(settings, revision) == "0003"


@on_postgres
def test_kurz_migrate_makes_an_empty_postgres_ready(settings):
    ended = run_kurz(settings, "migrate")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "up to date (0002)" in ended.stdout
    again = run_kurz(settings, "migrate")
    assert (again.returncode, again.stdout) == (0, ended.stdout)
    assert run_kurz(settings, "list").returncode == 0


async def test_a_newer_schema_is_refused_and_left_alone(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second())
    before = await read(settings, snapshot)
    for command in ("serve", "migrate", "list"):
        ended = await asyncio.to_thread(run_kurz, settings, command)
        assert (command, ended.returncode) == (command, 78)
        assert "schema 0002" in ended.stderr
        assert "newer kurz" in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    assert await read(settings, snapshot) == before
    assert not settings.backup_dir.exists() or len(list(settings.backup_dir.iterdir())) == 1


@on_sqlite
async def test_an_embedded_upgrade_makes_a_backup_first(settings, second):
    await make_with_link(settings)
    before = await read(settings, snapshot)
    backup = await upgrade(settings, second())
    assert backup is not None
    assert backup.parent == settings.backup_dir
    assert [path.name for path in settings.backup_dir.iterdir()] == [
        "kurz-0002-20260301T120000Z.db"
    ]
    assert snapshot_of_file(backup) == before
    assert await read(settings, revision) == "0003"
    colours = await read(settings, lambda c: c.execute(sa.text("SELECT colour FROM links")).all())
    assert colours == [("red",)]


def snapshot_of_file(path: Path) -> tuple[str | None, dict[str, object]]:
    with sqlite.create_engine(path).connect() as connection:
        assert connection.execute(sa.text("PRAGMA integrity_check")).scalar() == "ok"
        return snapshot(connection)


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
    assert await read(settings, revision) == "0003"


async def test_a_first_start_that_fails_leaves_nothing(settings, second):
    settings.data_dir.mkdir()
    with pytest.raises(RuntimeError):
        await upgrade(settings, second("raise RuntimeError('no')"))
    assert await read(settings, snapshot) == (None, {})
    await prepare(settings, upgrades_postgres=False)
    assert await read(settings, revision) == "0001"


MIGRATE = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from kurz.storage.migrate import Migrations
from kurz.storage.postgres import PostgresDatabase

scripts, data, url = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
migrations = Migrations(scripts=scripts, head="0003")
if url:
    database = PostgresDatabase(url, query_seconds=None)
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
    where = [migrations.scripts, settings.data_dir, settings.database_url or ""]
    command = [sys.executable, "-c", MIGRATE, *map(str, where)]
    await asyncio.to_thread(kill_in_the_middle, command)
    assert await read(settings, snapshot) == before
    async with open_kurz(settings) as parts:
        assert (await parts.links.get_by_code(0, "kept")).original_url == URL
    await upgrade(settings, second())
    assert await read(settings, revision) == "0003"
    assert not list(settings.data_dir.rglob("*.part"))


@on_sqlite
async def test_a_backup_left_half_does_not_stand_in_the_way(settings, second):
    await make_with_link(settings)
    settings.backup_dir.mkdir()
    (settings.backup_dir / "kurz-0002-20260301T120000Z.part").write_bytes(b"half a backup")
    backup = await upgrade(settings, second())
    assert backup is not None
    assert [path.name for path in settings.backup_dir.iterdir()] == [backup.name]
    assert snapshot_of_file(backup)[0] == "0001"
