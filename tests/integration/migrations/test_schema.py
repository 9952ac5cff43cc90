"""The schema that the migrations make is the one that the queries expect."""

import re
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kurz.storage.engine import sqlite
from kurz.storage.engine.schema_state import REVISIONS, revision
from kurz.storage.schema.base import metadata
from kurz.wiring.engine import prepare
from support.migrations import (
    HEAD,
    SEARCH_INDEX,
    URL_INDEX,
    definitions,
    describe,
    on_postgres,
    on_sqlite,
    read,
    remake,
)

# SQLAlchemy does not read indexes of expressions from SQLite; `definitions` does.
unread_index = pytest.mark.filterwarnings(
    "ignore:Skipped unsupported reflection of expression-based index ix_links_expiry$"
    ":sqlalchemy.exc.SAWarning",
    "ignore:autogenerate skipping metadata-specified expression-based index 'ix_links_expiry';"
    ":UserWarning",
)

# What the migrations make beyond the metadata, which has no words for it: what searches use, and an
# index of which each engine has its own.
IS_LEAN = sqlite.default_driver.sqlite_version_info >= (3, 43)
SEARCH_TABLES = {"link_search", *(f"link_search_{part}" for part in ("config", "data", "docsize"))}
SEARCH_TABLES |= {"link_search_idx"} if IS_LEAN else {"link_search_idx", "link_search_content"}


@unread_index
async def test_the_migrations_make_the_schema_that_the_queries_expect(settings):
    await prepare(settings, upgrades_postgres=False)

    def compare(connection: sa.Connection) -> Any:
        options: dict[str, Any] = {"compare_type": True, "compare_server_default": True}
        options["version_table"] = REVISIONS
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    def name(difference: Any) -> object:
        match difference:
            case (("remove_table" | "remove_index") as act, sa.Table() | sa.Index() as thing):
                return act, thing.name
        return difference

    expected: list[object] = [("remove_table", table) for table in sorted(SEARCH_TABLES)]
    if settings.database_url is not None:
        expected = [("remove_index", SEARCH_INDEX)]
    expected.append(("remove_table", "alembic_version"))  # read by older programs
    expected.append(("remove_index", URL_INDEX))
    expected.sort(key=repr)
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
    del migrated["links"]["indexes"][URL_INDEX]
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
