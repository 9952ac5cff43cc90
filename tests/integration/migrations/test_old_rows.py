"""An upgrade from the first schema keeps every row."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from kurz.clicks.batch import Batch, JournalPosition
from kurz.links.model import Draft, Filter, Scope, Sort, Status
from kurz.settings.model import Settings
from kurz.storage.clicks.store import SqlClickStore
from kurz.storage.engine.migrate import Migrations
from kurz.storage.engine.schema_state import revision
from kurz.storage.schema.base import metadata
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.migrations import URL, execute, read, snapshot, snapshot_of_file, upgrade
from support.old_schema import AT, OLD_LINKS, OLD_ROWS, PERSON, fill_old, rows_of


def select(query: str) -> Callable[[sa.Connection], list[tuple[Any, ...]]]:
    return lambda connection: [tuple(row) for row in connection.execute(sa.text(query))]


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


async def test_after_an_upgrade_the_operator_lists_every_old_link(upgraded, until):
    await upgrade(upgraded, until("0015"))
    await upgrade(upgraded, Migrations())
    async with open_kurz(upgraded) as parts:
        page = await parts.links.list(Scope(), Filter(with_deleted=True))
        assert page.total == len(OLD_LINKS)
        assert {link.short_code for link in page.links} == {it["short_code"] for it in OLD_LINKS}
        trash = await parts.links.list(Scope(), Filter(status=Status.DELETED, sort=Sort.UPDATED))
        assert {link.id for link in trash.links} == {
            link.id for link in page.links if link.status is Status.DELETED
        }


async def test_after_an_upgrade_nobody_waits_for_the_check_of_an_old_link(upgraded, until):
    await upgrade(upgraded, until("0013"))
    await execute(upgraded, "INSERT INTO link_destinations VALUES (1, 2, 3)")
    await upgrade(upgraded, until("0014"))
    found = await read(upgraded, select("SELECT * FROM link_destinations WHERE link_id = 1"))
    assert found == [(1, 2, 3, None)]


async def test_an_upgrade_keeps_one_time_links_and_reserved_codes(upgraded, until):
    await upgrade(upgraded, until("0014"))
    token = (
        "INSERT INTO passes VALUES (1, CAST('hash' AS {}), 'reset', 7, 2, 'viewer', 8, 100, 200)"
    )
    await execute(upgraded, token.format("BYTEA" if upgraded.database_url else "BLOB"))
    await execute(upgraded, "INSERT INTO code_quarantine VALUES ('gone', 7, 300)")
    await upgrade(upgraded, until("0015"))
    [found] = await read(upgraded, select("SELECT * FROM one_time_tokens"))
    assert found == (1, b"hash", "reset", 7, 2, "viewer", 8, 100, 200)
    reserved = select("SELECT short_code, reserved_for, until FROM code_quarantine")
    assert await read(upgraded, reserved) == [("gone", 7, 300)]


async def test_an_upgrade_keeps_what_was_done_and_requested(upgraded, until):
    await upgrade(upgraded, until("0014"))
    is_true = "TRUE" if upgraded.database_url else "1"
    for table, columns, values in (
        ("history", "link_id, version, changed_at, act, changes", "1, 2, 3, 'edit', '{}'"),
        ("audit", "done_at, via, act, details", "3, 'cli', 'ban-host', '{}'"),
        ("leases", "name, holder, taken_at, until, asked_at", "'old', 'one', 1, 2, 3"),
        ("job_runs", "job, holder, is_asked, started_at, counts", f"'a', 'b', {is_true}, 1, ''"),
    ):
        row = f"INSERT INTO {table} ({columns}) VALUES ({values})"  # noqa: S608
        await execute(upgraded, row)
    await upgrade(upgraded, until("0015"))
    for query, expected in (
        ("SELECT action FROM history WHERE version = 2", "edit"),
        ("SELECT action FROM audit", "ban-host"),
        ("SELECT requested_at FROM leases WHERE name = 'old'", 3),
        ("SELECT is_requested FROM job_runs", True),
    ):
        assert await read(upgraded, select(query)) == [(expected,)]


async def test_after_an_upgrade_no_account_is_being_deleted(upgraded, until):
    await upgrade(upgraded, until("0015"))
    links = await read(upgraded, select("SELECT id, status, version FROM links ORDER BY id"))
    await upgrade(upgraded, until("0016"))
    assert await read(upgraded, select("SELECT * FROM ending_accounts")) == []
    same = select("SELECT id, status, version FROM links ORDER BY id")
    assert await read(upgraded, same) == links != []


async def test_after_an_upgrade_counting_goes_on_where_it_was(upgraded, until):
    await upgrade(upgraded, until("0015"))
    segment = f"CAST('{'s' * 16}' AS {'BYTEA' if upgraded.database_url else 'BLOB'})"
    await execute(upgraded, f"INSERT INTO journal_position VALUES ({segment}, 7, 8)")  # noqa: S608
    await upgrade(upgraded, Migrations())
    [found] = await read(upgraded, select("SELECT * FROM journal_position"))
    assert found == (b"s" * 16, 7, 8, None, None, None)
    async with open_kurz(upgraded) as parts:
        store = SqlClickStore(parts.database, parts.clock)
        assert await store.positions([b"s" * 16]) == {b"s" * 16: (7, None)}
        start, end = JournalPosition(b"s" * 16, 7), JournalPosition(b"s" * 16, 9)
        assert await store.apply(Batch(start, end))
        assert await store.positions([b"s" * 16]) == {b"s" * 16: (9, None)}
