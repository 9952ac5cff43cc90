"""What a copy of the database for a backup contains, and what a restored one will issue."""

from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from kurz.links.model import Draft
from kurz.storage.backup.contents import check_copy, contents_of
from kurz.storage.backup.renewal import SKIPPED, renew
from kurz.storage.backup.snapshot import copy_database, open_copy, trim_copy
from kurz.storage.engine.changes import last_change
from kurz.storage.links.active import find_uncounted
from kurz.storage.links.installation import CACHE_EPOCH, find_key, lease_numbers
from kurz.storage.safety.destinations import follow_existing, has_lost_changes
from kurz.storage.schema.base import metadata
from kurz.storage.schema.links import changes, counters, installation, links
from kurz.storage.schema.people import accounts, one_time_tokens
from kurz.storage.schema.safety import destination_position
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


def count(connection: sa.Connection, table: sa.Table) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


async def test_what_follows_the_change_log_is_up_to_date_without_it(copy):
    trim_copy(copy, never)
    check_copy(copy)
    with open_copy(copy) as connection:
        assert contents_of(connection)[1:] == (3, 1, 0, 0)
        assert count(connection, changes) == 0
        assert count(connection, sa.table("counted_links")) == 3
        found = "SELECT count(*) FROM link_search WHERE link_search MATCH 'text : \"example\"'"
        assert connection.exec_driver_sql(found).scalar_one() == 3


async def test_every_numbered_table_skips_ahead(copy):
    trim_copy(copy, never)
    with open_copy(copy) as connection:
        before = dict(connection.exec_driver_sql("SELECT * FROM sqlite_sequence").tuples().all())
        first_key = find_key(connection, CACHE_EPOCH)
    with renewed(copy) as connection:
        after = dict(connection.exec_driver_sql("SELECT * FROM sqlite_sequence").tuples().all())
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
    from kurz.errors import StoreUnavailable

    data = bytearray(copy.read_bytes())
    data[8192:12288] = bytes(4096)
    copy.write_bytes(data)
    with pytest.raises(StoreUnavailable, match="damaged"):
        check_copy(copy)
