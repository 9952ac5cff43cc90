"""The schema: made once however many start at once, upgraded with a backup, never half."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx2
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import kurz
from kurz.bootstrap import open_kurz, prepare
from kurz.errors import StoreUnavailable
from kurz.links.model import Draft, Filter, Scope, Status
from kurz.settings import Settings
from kurz.storage import click_schema, job_schema, sqlite  # noqa: F401  they have tables too
from kurz.storage.migrate import Migrations, revision
from kurz.storage.postgres import PostgresDatabase
from kurz.storage.schema import metadata
from support import nursery
from support.engines import DATABASES, usually_on, without_redis
from support.long_run import in_the_long_run
from support.patience import PATIENT
from support.program import KURZ, Program

T = TypeVar("T")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
URL = "https://example.com/kept"
HEAD = Migrations().head
NEXT = f"{int(HEAD) + 1:04}"
SECOND = """
import sqlalchemy as sa
from alembic import op

revision = "{next}"
down_revision = "{head}"


def upgrade():
    op.create_table("additions", sa.Column("id", sa.BigInteger(), primary_key=True))
    op.add_column("links", sa.Column("colour", sa.Text()))
    op.execute("UPDATE links SET colour = 'red'")
    {then}
"""

# Redis has no schema.
engine = without_redis
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
# SQLAlchemy does not read indexes of expressions from SQLite; `definitions` does.
unread_index = pytest.mark.filterwarnings(
    "ignore:Skipped unsupported reflection of expression-based index ix_links_expiry$"
    ":sqlalchemy.exc.SAWarning",
    "ignore:autogenerate skipping metadata-specified expression-based index 'ix_links_expiry';"
    ":UserWarning",
)

# What the migrations make beyond the metadata, which has no words for it: what searches use.
IS_LEAN = sqlite.default_driver.sqlite_version_info >= (3, 43)
SEARCH_TABLES = {"link_search", *(f"link_search_{part}" for part in ("config", "data", "docsize"))}
SEARCH_TABLES |= {"link_search_idx"} if IS_LEAN else {"link_search_idx", "link_search_content"}
SEARCH_INDEX = "ix_links_text"


@pytest.fixture
def second(tmp_path: Path) -> Callable[..., Migrations]:
    """Makes a history with one more step than ours; `then` is what the step does at its end."""

    def make(then: str = "pass") -> Migrations:
        scripts = tmp_path / "migrations"
        shutil.rmtree(scripts, ignore_errors=True)
        shutil.copytree(Migrations().scripts, scripts)
        (scripts / "versions" / f"{NEXT}_second.py").write_text(
            SECOND.format(then=then, head=HEAD, next=NEXT)
        )
        return Migrations(scripts=scripts, head=NEXT)

    return make


async def upgrade(settings: Settings, migrations: Migrations) -> Path | None:
    """Upgrades the way the engine does it; gives the backup, if one was made."""
    if settings.database_url is None:
        return migrations.upgrade_sqlite(settings.database_path, settings.backup_dir, NOW)
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
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
    database = PostgresDatabase(settings.database_url, deadlines=PATIENT)
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
    done = nursery.run(arguments, {**inherited, **environment})
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def definitions(connection: sa.Connection) -> dict[str, dict[str, str]]:
    """By table and name: how the database itself defines its indexes."""
    query = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    if connection.dialect.name == "sqlite":  # the indexes of its constraints have no SQL
        query = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'index' AND sql > ''"
    found: dict[str, dict[str, str]] = {}
    for table, name, definition in connection.execute(sa.text(query)):
        found.setdefault(table, {})[name] = definition
    return found


def describe(connection: sa.Connection) -> dict[str, dict[str, Any]]:
    """All that tables are made of, but the order of their columns, which no query relies on."""
    inspector = sa.inspect(connection)
    indexes = definitions(connection)
    tables: dict[str, dict[str, Any]] = {
        name: {
            "columns": {
                column["name"]: (str(column["type"]), column["nullable"], column["default"])
                for column in inspector.get_columns(name)
            },
            "key": (
                inspector.get_pk_constraint(name)["name"],
                inspector.get_pk_constraint(name)["constrained_columns"],
            ),
            "unique": sorted(
                (str(constraint["name"]), constraint["column_names"])
                for constraint in inspector.get_unique_constraints(name)
            ),
            "indexes": indexes.get(name, {}),
        }
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }
    if connection.dialect.name == "sqlite":
        for name, sql in connection.execute(sa.text("SELECT name, sql FROM sqlite_master")):
            if name in tables:
                tables[name]["kind"] = ("AUTOINCREMENT" in sql, "WITHOUT ROWID" in sql)
    return tables


def remake(connection: sa.Connection) -> None:
    """Makes all tables anew, from the metadata."""
    metadata.drop_all(connection)
    if connection.dialect.name == "sqlite":
        connection.execute(sa.text("DROP TABLE link_search"))
    metadata.create_all(connection)


@unread_index
async def test_the_migrations_make_the_schema_that_the_queries_expect(settings):
    await prepare(settings, upgrades_postgres=False)

    def compare(connection: sa.Connection) -> Any:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    def name(difference: Any) -> object:
        match difference:
            case (("remove_table" | "remove_index") as act, sa.Table() | sa.Index() as thing):
                return act, thing.name
        return difference

    expected: list[object] = [("remove_table", table) for table in sorted(SEARCH_TABLES)]
    if settings.database_url is not None:
        expected = [("remove_index", SEARCH_INDEX)]
    differences = await read(settings, compare)
    assert sorted(map(name, differences), key=repr) == expected
    assert await read(settings, revision) == HEAD


@unread_index
async def test_the_migrations_make_the_same_tables_as_the_metadata(settings):
    await prepare(settings, upgrades_postgres=False)
    migrated = await read(settings, describe)
    await read(settings, remake)
    if settings.database_url is None:
        for name in SEARCH_TABLES:
            del migrated[name]
    else:
        del migrated["links"]["indexes"][SEARCH_INDEX]
    assert await read(settings, describe) == migrated
    assert migrated.keys() == metadata.tables.keys()
    assert "coalesce(expires_at" in migrated["links"]["indexes"]["ix_links_expiry"].lower()
    assert migrated["domains"]["key"] == ("pk_domains", ["host", "workspace_id"])


@on_postgres
async def test_the_index_for_searches_on_postgres_finds_parts_of_words_in_a_space(settings):
    await prepare(settings, upgrades_postgres=False)
    definition = (await read(settings, definitions))["links"][SEARCH_INDEX]
    assert "USING gin (space, " in definition
    assert re.search(r"short_code.*original_url.*title.* gin_trgm_ops\) WHERE", definition)
    assert definition.endswith("WHERE (space <> 0)")


@on_sqlite
async def test_the_table_for_searches_on_sqlite_finds_parts_of_words_and_forgets_them(settings):
    await prepare(settings, upgrades_postgres=False)

    def search(connection: sa.Connection) -> list[int]:
        query = "SELECT rowid FROM link_search WHERE link_search MATCH :words ORDER BY rowid"
        return list(connection.execute(sa.text(query), {"words": 'text:"ample"'}).scalars())

    def fill(connection: sa.Connection) -> None:
        row = sa.text("INSERT INTO link_search (rowid, space, text) VALUES (:id, 's7', :text)")
        for number, text in enumerate(("https://EXAMPLE.com/", "sample", "other"), start=1):
            connection.execute(row, {"id": number, "text": text})

    await read(settings, fill)
    assert await read(settings, search) == [1, 2]
    delete = sa.text("DELETE FROM link_search WHERE rowid = 1")
    await read(settings, lambda connection: connection.execute(delete))
    assert await read(settings, search) == [2]


@pytest.mark.parametrize("count", [3, *in_the_long_run(5)])
def test_programs_that_start_together_on_nothing_all_serve(environment, tmp_path, count):
    environment = environment | {"KURZ_DATA_DIR": str(tmp_path / "data")}
    programs = [Program(environment, tmp_path / f"log-{n}") for n in range(count)]
    try:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(Program.start, programs))
        made = {}
        for number, program in enumerate(programs):
            with program.client() as client:
                url = f"https://example.com/{number}"
                answer = client.post("/api/v1/links", json={"original_url": url})
                assert answer.status_code == 201
                made[answer.json()["short_code"]] = url
        assert len(made) == count
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
    assert await read(settings, revision) == NEXT
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
    assert text.count(f'"{HEAD}"') == 1
    module.write_text(text.replace(f'"{HEAD}"', f'"{NEXT}"'))
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
    assert f"up to date ({NEXT})" in ended.stdout
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
    assert await read(settings, revision) == NEXT


@on_postgres
def test_kurz_migrate_makes_an_empty_postgres_ready(settings):
    ended = run_kurz(settings, "migrate")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"up to date ({HEAD})" in ended.stdout
    again = run_kurz(settings, "migrate")
    assert (again.returncode, again.stdout) == (0, ended.stdout)
    assert run_kurz(settings, "list").returncode == 0


@usually_on("sqlite", among=DATABASES)
async def test_a_newer_schema_is_refused_and_left_alone(settings, second):
    await make_with_link(settings)
    await upgrade(settings, second())
    before = await read(settings, snapshot)
    for command in ("serve", "migrate", "list"):
        ended = await asyncio.to_thread(run_kurz, settings, command)
        assert (command, ended.returncode) == (command, 78)
        assert f"schema {NEXT}" in ended.stderr
        assert "newer version of kurz" in ended.stderr
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
        f"kurz-{HEAD}-20260301T120000Z.db"
    ]
    assert snapshot_of_file(backup) == before
    assert await read(settings, revision) == NEXT
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
from kurz.storage.migrate import Migrations
from kurz.storage.postgres import PostgresDatabase

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


# From 0001 to 0002, with rows.

AT = 1_760_000_000_000_000  # microseconds
PERSON = 2**62 + 1  # ids of accounts are random
Rows = dict[str, list[dict[str, Any]]]


def old_link(code: str, **fields: Any) -> dict[str, Any]:
    url = f"https://example.com/{code}"
    usual = {"workspace_id": 0, "short_code": code, "version": 1, "strategy": "random"}
    usual |= {"original_url": url, "canonical_url": url, "link_type": "PERMANENT"}
    usual |= {"status": "ACTIVE", "created_at": AT, "updated_at": AT, "redirect_status": 302}
    return usual | {"forward_query": False, "clicks_used": 0, "redirect_count": 0} | fields


FULL = {
    "strategy": "deterministic",
    "canonical_hash": bytes(range(32)),
    "location": "https://example.com/%C3%A9",
    "starts_at": AT + 1,
    "expires_at": AT + 2,
    "deleted_at": AT + 3,
    "title": "Ein ‘Titel’ — 短",
    "notes": "two\nlines",
    "forward_query": True,
    "max_clicks": 9,
    "clicks_used": 9,
    "redirect_count": 12,
    "avg_redirect_ms": 1.5,
    "redirect_ms_m2": 0.25,
    "last_checked_at": AT + 4,
    "claim_hash": b"\x00\xff",
}
OLD_LINKS = [
    old_link("shared", workspace_id=1, tags='["one", "two"]'),
    old_link("shared", workspace_id=2, tags='["one"]', owner_id=PERSON, **FULL),
    old_link("untagged", workspace_id=1, owner_id=7),
    old_link("mine", owner_id=PERSON, tags='["grün & \\"fett\\"", "短", "twice", "twice"]'),
    old_link("deleted", owner_id=7, status="DELETED", deleted_at=AT, tags='["one"]'),
    old_link("no-tags", owner_id=7, tags="[]"),
    old_link("shared", tags='["nobody’s"]'),
    old_link("plain"),
]
OLD_ROWS: Rows = {
    "workspaces": [
        {"name": "Eins", "slug": "eins", "root_url": "https://example.com/", "created_at": AT},
        {"name": "Zwei", "slug": "zwei", "root_url": None, "created_at": AT + 1},
    ],
    "workspace_slugs": [
        {"slug": "eins", "workspace_id": 1},
        {"slug": "eins-before", "workspace_id": 1},
        {"slug": "zwei", "workspace_id": 2},
    ],
    "domains": [
        {"host": "go.example", "workspace_id": 1, "created_at": AT, "verified_at": AT + 5},
        {"host": "to.example", "workspace_id": 2, "created_at": AT, "verified_at": None},
    ],
    "links": OLD_LINKS,
    "changes": [
        {"link_id": number, "workspace_id": link["workspace_id"], "version": 1, "changed_at": AT}
        | {"short_code": link["short_code"]}
        for number, link in enumerate(OLD_LINKS, start=1)
    ],
    "counters": [{"name": "codes", "next_value": 2**40}],
    "installation": [{"name": "key", "value": b"\x00\x01\xfe"}],
    "leases": [{"name": "reaper", "holder": "me", "taken_at": AT, "until": AT + 6}],
}


def rows_of(connection: sa.Connection, columns: dict[str, list[str]]) -> Rows:
    """All rows, of the given columns of the given tables."""
    found: Rows = {}
    for name, wanted in columns.items():
        query = sa.select(sa.table(name, *(sa.column(column) for column in wanted)))
        rows = [dict(row) for row in connection.execute(query).mappings()]
        found[name] = sorted(rows, key=repr)
    return found


def select(query: str) -> Callable[[sa.Connection], list[tuple[Any, ...]]]:
    return lambda connection: [tuple(row) for row in connection.execute(sa.text(query))]


@pytest.fixture
def until(tmp_path: Path) -> Callable[[str], Migrations]:
    """Gives the history as it was when its newest step was the given one."""

    def cut(head: str) -> Migrations:
        scripts = tmp_path / f"until-{head}"
        shutil.copytree(Migrations().scripts, scripts)
        for script in (scripts / "versions").glob("*.py"):
            if script.name[:4] > head:
                script.unlink()
        return Migrations(scripts=scripts, head=head)

    return cut


async def fill_old(settings: Settings, first: Migrations) -> dict[str, list[str]]:
    """Makes a database of the first schema and fills it; gives its tables and their columns."""
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, first)

    def insert(connection: sa.Connection) -> dict[str, list[str]]:
        old = sa.MetaData()
        old.reflect(connection)
        old.remove(old.tables["alembic_version"])
        for name, rows in OLD_ROWS.items():
            for row in rows:
                connection.execute(old.tables[name].insert().values(row))
        return {name: list(table.columns.keys()) for name, table in old.tables.items()}

    columns = await read(settings, insert)
    assert columns.keys() == OLD_ROWS.keys()
    return columns


@pytest.fixture
async def upgraded(settings: Settings, until: Callable[[str], Migrations]) -> Settings:
    """Settings of a database with rows that was upgraded from 0001 to 0002."""
    await fill_old(settings, until("0001"))
    await upgrade(settings, until("0002"))
    return settings


async def test_an_upgrade_from_the_first_schema_keeps_every_row(settings, until):
    columns = await fill_old(settings, until("0001"))
    before = await read(settings, lambda connection: rows_of(connection, columns))
    assert {name: len(rows) for name, rows in before.items()} == {
        name: len(rows) for name, rows in OLD_ROWS.items()
    }
    whole = await read(settings, snapshot)
    backup = await upgrade(settings, until("0002"))
    assert await read(settings, revision) == "0002"
    assert await read(settings, lambda connection: rows_of(connection, columns)) == before
    if backup is not None:
        assert backup.name.startswith("kurz-0001-")
        assert snapshot_of_file(backup) == whole


async def test_an_upgrade_puts_every_old_link_into_the_space_of_its_workspace_or_owner(upgraded):
    query = select("SELECT workspace_id, short_code, space FROM links ORDER BY id")
    assert await read(upgraded, query) == [
        (1, "shared", 1),
        (2, "shared", 2),
        (1, "untagged", 1),
        (0, "mine", -PERSON),
        (0, "deleted", -7),
        (0, "no-tags", -7),
        (0, "shared", 0),
        (0, "plain", 0),
    ]


async def test_an_upgrade_lists_the_tags_of_every_old_link_that_is_in_a_space(upgraded):
    found = await read(upgraded, select("SELECT space, tag, link_id FROM link_tags"))
    assert sorted(found) == [
        (-PERSON, 'grün & "fett"', 4),
        (-PERSON, "twice", 4),
        (-PERSON, "短", 4),
        (-7, "one", 5),
        (1, "one", 1),
        (1, "two", 1),
        (2, "one", 2),
    ]


async def test_an_upgrade_keeps_domains_and_lets_another_workspace_name_them(upgraded):
    columns = "host, workspace_id, created_at, verified_at, checked_at, removed_at"
    query = select(f"SELECT {columns} FROM domains ORDER BY host")  # noqa: S608
    assert await read(upgraded, query) == [
        ("go.example", 1, AT, AT + 5, None, None),
        ("to.example", 2, AT, None, None, None),
    ]

    def name(connection: sa.Connection, workspace_id: int, verified_at: int | None) -> None:
        row = {"host": "go.example", "workspace_id": workspace_id, "created_at": AT}
        connection.execute(metadata.tables["domains"].insert(), row | {"verified_at": verified_at})

    await read(upgraded, lambda connection: name(connection, 2, None))
    with pytest.raises(sa.exc.IntegrityError):  # it has named it already
        await read(upgraded, lambda connection: name(connection, 2, None))
    with pytest.raises(sa.exc.IntegrityError):  # it is proven to be another one's
        await read(upgraded, lambda connection: name(connection, 3, AT))
    assert len(await read(upgraded, query)) == 3


async def test_an_upgrade_gives_old_workspaces_the_usual_choices(upgraded):
    columns = "slug, strategy, default_expiry_days, links_per_month, deleted_at"
    query = select(f"SELECT {columns} FROM workspaces ORDER BY id")  # noqa: S608
    assert await read(upgraded, query) == [
        ("eins", "deterministic", None, None, None),
        ("zwei", "deterministic", None, None, None),
    ]


async def test_after_an_upgrade_searches_on_sqlite_start_at_the_first_change(upgraded):
    positions = await read(upgraded, select("SELECT id, change_id FROM search_position"))
    assert positions == ([(1, 0)] if upgraded.database_url is None else [])
    query = "SELECT id FROM links WHERE id NOT IN (SELECT link_id FROM changes WHERE id > 0)"
    assert await read(upgraded, select(query)) == []


async def test_an_upgraded_kurz_serves_old_links_and_numbers_new_ones_on(upgraded):
    await prepare(upgraded, upgrades_postgres=True)
    async with open_kurz(upgraded) as parts:
        for number, row in enumerate(OLD_LINKS, start=1):
            link = await parts.links.get_by_code(row["workspace_id"], row["short_code"])
            assert (link.id, link.original_url) == (number, row["original_url"])
        created = await parts.links.create(Draft(original_url=URL, custom_code="kept"))
        assert created.link.id > len(OLD_LINKS)


async def test_an_upgrade_sets_the_tags_of_the_trash_apart(upgraded, until):
    await execute(upgraded, "INSERT INTO link_tags VALUES (1, 'of no link', 99)")
    await upgrade(upgraded, until("0004"))
    found = await read(upgraded, select("SELECT space, tag, in_trash, link_id FROM link_tags"))
    assert sorted(found) == [
        (-PERSON, 'grün & "fett"', False, 4),
        (-PERSON, "twice", False, 4),
        (-PERSON, "短", False, 4),
        (-7, "one", True, 5),
        (1, "one", False, 1),
        (1, "two", False, 1),
        (2, "one", False, 2),
    ]
    await prepare(upgraded, upgrades_postgres=True)
    async with open_kurz(upgraded) as parts:
        for status, count in (None, 0), (Status.DELETED, 1):
            page = await parts.links.list(Scope(0, 7), Filter(tag="one", status=status))
            assert page.total == len(page.links) == count


async def test_after_an_upgrade_nobody_waits_for_the_check_of_an_old_link(upgraded, until):
    await upgrade(upgraded, until("0013"))
    await execute(upgraded, "INSERT INTO link_destinations VALUES (1, 2, 3)")
    await upgrade(upgraded, until("0014"))
    found = await read(upgraded, select("SELECT * FROM link_destinations WHERE link_id = 1"))
    assert found == [(1, 2, 3, None)]


async def execute(settings: Settings, *statements: str) -> None:
    for statement in statements:
        await read(settings, lambda connection: connection.exec_driver_sql(statement))  # noqa: B023


@pytest.fixture
async def limited(settings: Settings) -> AsyncIterator[Settings]:
    """Settings of a role that may make tables, and nothing else in the database."""
    url = sa.make_url(settings.database_url or "")
    role = f"kurz_{uuid4().hex}"
    await execute(
        settings,
        f"REVOKE CREATE ON DATABASE {url.database} FROM PUBLIC",
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE, CREATE ON SCHEMA public TO {role}",
    )
    yield replace(settings, database_url=url.set(username=role).render_as_string())
    await execute(settings, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


@on_postgres
async def test_a_role_that_may_not_add_extensions_can_migrate(limited, until):
    columns = await fill_old(limited, until("0001"))
    before = await read(limited, lambda connection: rows_of(connection, columns))
    for extension in ("pg_trgm", "btree_gin"):
        with pytest.raises(sa.exc.DBAPIError, match="permission denied to create extension"):
            await execute(limited, f"CREATE EXTENSION {extension}")
    ended = await asyncio.to_thread(run_kurz, limited, "migrate")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert await read(limited, revision) == HEAD
    assert await read(limited, lambda connection: rows_of(connection, columns)) == before
    migrated = await read(limited, describe)
    assert SEARCH_INDEX not in migrated["links"]["indexes"]
    async with open_kurz(limited) as parts:
        found = await parts.links.get_by_code(0, "mine")
        assert found.original_url == "https://example.com/mine"
    await read(limited, remake)
    assert await read(limited, describe) == migrated


@on_postgres
async def test_a_role_that_may_not_add_extensions_uses_those_that_are_there(
    settings, limited, until
):
    await fill_old(limited, until("0001"))
    await execute(settings, "CREATE EXTENSION pg_trgm", "CREATE EXTENSION btree_gin")
    await upgrade(limited, until("0002"))
    assert SEARCH_INDEX in (await read(limited, definitions))["links"]


@on_postgres
async def test_extensions_in_a_schema_that_kurz_does_not_look_into_do_not_stop_it(settings, until):
    await fill_old(settings, until("0001"))
    await execute(settings, "CREATE SCHEMA apart")
    for extension in ("pg_trgm", "btree_gin"):
        await execute(settings, f"CREATE EXTENSION {extension} SCHEMA apart")
    await upgrade(settings, until("0002"))
    assert await read(settings, revision) == "0002"
    assert SEARCH_INDEX not in (await read(settings, definitions))["links"]


REFUSE = """
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{state}'; END $$
"""
WHEN = """
CREATE EVENT TRIGGER refusal ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION')
EXECUTE FUNCTION refuse()
"""


@on_postgres
@pytest.mark.parametrize("state", ["0A000", "58P01", "P0001"])
async def test_a_server_without_the_extensions_is_migrated_all_the_same(settings, until, state):
    await fill_old(settings, until("0001"))
    await execute(settings, REFUSE.format(state=state), WHEN)
    await upgrade(settings, until("0002"))
    assert await read(settings, revision) == "0002"
    assert SEARCH_INDEX not in (await read(settings, definitions))["links"]


@on_postgres
async def test_a_full_disk_while_extensions_are_added_is_not_taken_for_their_absence(
    settings, until
):
    await fill_old(settings, until("0001"))
    before = await read(settings, snapshot)
    await execute(settings, REFUSE.format(state="53100"), WHEN)
    migrations = until("0002")
    with pytest.raises(StoreUnavailable):
        await upgrade(settings, migrations)
    assert await read(settings, snapshot) == before
    await execute(settings, "DROP EVENT TRIGGER refusal")
    await upgrade(settings, migrations)
    assert SEARCH_INDEX in (await read(settings, definitions))["links"]
