"""What a copy of the database for a backup contains, and what a restored one will issue."""

import asyncio
import threading
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from kurz.errors import BackupRefused, StoreUnavailable
from kurz.links.model import Draft
from kurz.storage.backup.contents import check_copy, contents_of
from kurz.storage.backup.renewal import SKIPPED, renew
from kurz.storage.backup.snapshot import copy_database, open_copy, trim_copy
from kurz.storage.engine.changes import last_change
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.sqlite import create_engine, default_driver
from kurz.storage.links.active import find_uncounted
from kurz.storage.links.installation import CACHE_EPOCH, find_key, lease_numbers
from kurz.storage.safety.destinations import follow_existing, has_lost_changes
from kurz.storage.schema.base import metadata
from kurz.storage.schema.links import changes, counters, installation, links
from kurz.storage.schema.people import accounts, one_time_tokens
from kurz.storage.schema.safety import destination_position
from kurz.wiring.backup import BackupWriter, staging
from kurz.wiring.backup_checking import verify_backup
from kurz.wiring.backup_storage import FileTarget
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from kurz.wiring.link_checking import verify_copy
from kurz.wiring.restore import BackupRestorer
from support.people import People

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
NOW = 1_790_000_000_000_000


def never() -> bool:
    return False


@pytest.fixture
async def copy(kurz, people: People, tmp_path):
    """Of a database with an account and three links, which nothing has followed yet."""
    owner = await people.add()
    for number in range(3):
        url = f"https://example.com/{number}"
        await kurz.links.create(Draft(original_url=url, owner_id=owner.id))
    await kurz.one_time_tokens.make_setup()
    path = tmp_path / "copy.db"
    copy_database(kurz.settings.database_path, path, never, lambda _: None)
    return path


@contextmanager
def renewed(path):
    with open_copy(path) as connection:
        connection.exec_driver_sql("BEGIN")
        renew(connection, NOW, "2026-05-01")
        connection.exec_driver_sql("COMMIT")
        yield connection


def last_numbers(connection: sa.Connection) -> dict[str, int]:
    rows = connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence")
    return {row.name: row.seq for row in rows}


def count(connection: sa.Connection, table: sa.FromClause) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


async def test_what_follows_the_change_log_is_up_to_date_without_it(copy):
    trim_copy(copy, never)
    check_copy(copy)
    with open_copy(copy) as connection:
        assert contents_of(connection)[2:] == (3, 1, 0, 0)
        assert count(connection, changes) == 0
        assert count(connection, sa.table("counted_links")) == 3
        found = "SELECT count(*) FROM link_search WHERE link_search MATCH 'text : \"example\"'"
        assert connection.exec_driver_sql(found).scalar_one() == 3


async def test_every_numbered_table_skips_ahead(copy):
    trim_copy(copy, never)
    with open_copy(copy) as connection:
        before = last_numbers(connection)
        first_key = find_key(connection, CACHE_EPOCH)
    with renewed(copy) as connection:
        after = last_numbers(connection)
        keys = {it.name for it in metadata.sorted_tables if it.kwargs["sqlite_autoincrement"]}
        assert {"links", "changes", "workspaces", "audit", "destinations", "checks"} <= keys
        for name in keys:
            assert after[name] >= before.get(name, 0) + SKIPPED, name
        assert find_key(connection, CACHE_EPOCH) != first_key
        assert lease_numbers(connection, "links", 10).start >= SKIPPED


async def test_a_counter_that_was_used_skips_ahead_too(kurz, copy):
    with open_copy(copy) as connection:
        connection.execute(sa.insert(counters).values(name="links", next_value=5000))
    with renewed(copy) as connection:
        assert lease_numbers(connection, "links", 10).start == 5000 + SKIPPED


async def test_nothing_that_was_followed_is_followed_again(copy):
    with open_copy(copy) as connection:
        while follow_existing(connection, 100, lambda _: "example.com", NOW):
            pass
        last = last_change(connection)
        connection.execute(sa.update(destination_position).values(change_id=last))
    trim_copy(copy, never)
    with renewed(copy) as connection:
        assert last_change(connection) > SKIPPED
        assert find_uncounted(connection) == (False, None)
        assert not has_lost_changes(connection)


async def test_sessions_and_one_time_links_end(copy):
    with open_copy(copy) as connection:
        epoch = connection.execute(sa.select(accounts.c.epoch)).scalar_one()
        assert count(connection, one_time_tokens) == 1
    with renewed(copy) as connection:
        assert connection.execute(sa.select(accounts.c.epoch)).scalar_one() > epoch
        assert count(connection, one_time_tokens) == 0
        assert count(connection, links) == 3
        assert count(connection, installation) >= 3


async def test_a_damaged_copy_is_noticed(copy):
    data = bytearray(copy.read_bytes())
    data[8192:12288] = bytes(4096)
    copy.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="damaged"):
        check_copy(copy)


async def test_a_copy_in_a_folder_with_any_name_is_read(copy, tmp_path):
    folder = tmp_path / "50 %41 #1?"
    folder.mkdir()
    moved = copy.rename(folder / "copy.db")
    check_copy(moved)
    found = verify_copy(moved)
    assert found is not None
    assert found.links == 3


class Writer:
    """Writes pairs of rows, and never waits for a lock."""

    def __init__(self, path) -> None:
        self.pairs = self.refused = 0
        self._is_over = threading.Event()
        driver: Any = default_driver
        self._connection = driver.connect(
            path, timeout=0, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("CREATE TABLE pairs (id INTEGER PRIMARY KEY, text BLOB)")
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for _ in range(2):
                    self._connection.execute("INSERT INTO pairs (text) VALUES (randomblob(4000))")
                self._connection.execute("COMMIT")
                self.pairs += 1
            except default_driver.OperationalError:
                self.refused += 1


async def test_no_writer_meets_a_lock_while_a_copy_is_made(kurz, tmp_path):
    path, target = kurz.settings.database_path, tmp_path / "copy.db"
    with Writer(path) as writer:
        writer._is_over.wait(0.5)
        before = writer.pairs
        seen: list[int] = []
        copy_database(path, target, never, seen.append)
        after = writer.pairs
    assert writer.refused == 0
    with closing(default_driver.connect(target)) as connection:
        [(rows,)] = connection.execute("SELECT count(*) FROM pairs").fetchall()
    assert rows % 2 == 0  # one state of the database
    assert before <= rows // 2 <= after + 1


def test_a_copy_is_given_up_when_it_is_to_stop(settings, sqlite_template, tmp_path):
    settings.data_dir.mkdir()
    settings.database_path.write_bytes(sqlite_template.read_bytes())
    target = FileTarget(tmp_path / "kurz.backup")
    with pytest.raises(BackupRefused, match="stopped"):
        BackupWriter(settings, is_stopping=lambda: True).create(target, datetime.now(UTC))
    assert [*settings.backup_dir.iterdir()] == []
    assert not (tmp_path / "kurz.backup").exists()


def test_what_a_killed_process_left_is_removed(engine, tmp_path):
    left = tmp_path / "backup-0123.part"
    left.mkdir()
    (left / "kurz.db").touch()
    with staging(tmp_path) as one, staging(tmp_path) as other:
        assert {it.name for it in tmp_path.iterdir()} == {one.name, other.name}
    assert [*tmp_path.iterdir()] == []


async def test_a_backup_of_a_newer_schema_is_not_restored(kurz, tmp_path):
    file, folder = tmp_path / "kurz.backup", tmp_path / "restored"
    database = kurz.settings.database_path
    with closing(default_driver.connect(database, isolation_level=None)) as connection:
        for table in ("alembic_version", "schema_revision"):
            connection.execute(f"UPDATE {table} SET version_num = '9999'")  # noqa: S608
    BackupWriter(kurz.settings).create(FileTarget(file), kurz.clock.now())
    assert verify_backup(kurz.settings, FileTarget(file)).manifest.schema == "9999"
    restorer = BackupRestorer(replace(kurz.settings, data_dir=folder))
    with pytest.raises(BackupRefused, match="only knows"):
        restorer.restore(FileTarget(file), kurz.clock.now())
    assert not folder.exists()


def make_older(settings, schema: str) -> None:
    """A database as an earlier version left it, with a link."""
    config = Config()
    config.set_main_option("script_location", str(Migrations().scripts))
    settings.data_dir.mkdir(mode=0o700)
    with create_engine(settings.database_path, is_new=True).connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        command.upgrade(config, schema)
        connection.exec_driver_sql(
            "INSERT INTO links (workspace_id, short_code, version, strategy, original_url,"
            " canonical_url, link_type, status, created_at, updated_at, redirect_status,"
            " forward_query, clicks_used, redirect_count) VALUES (0, 'known', 1, 'custom',"
            " 'https://example.com/', 'https://example.com/', 'PERMANENT', 'ACTIVE', 1, 1, 302,"
            " 0, 0, 0)"
        )
        connection.exec_driver_sql("COMMIT")


async def test_a_backup_of_an_older_schema_is_upgraded_at_the_next_start(settings, tmp_path):
    older = replace(settings, data_dir=tmp_path / "older")
    await asyncio.to_thread(make_older, older, "0022")
    file = FileTarget(tmp_path / "kurz.backup")
    now = datetime.now(UTC)
    assert BackupWriter(older).create(file, now).manifest.schema == "0022"
    BackupRestorer(settings).restore(file, now)
    assert await prepare(settings, upgrades_postgres=False) is not None
    async with open_kurz(settings) as kurz:
        found = await kurz.store.find_by_code(0, "known")
        assert found is not None
        made = await kurz.links.create(Draft(original_url="https://example.com/new"))
        assert made.link.id > SKIPPED
