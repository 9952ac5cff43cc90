"""Migrations on a PostgreSQL that lacks extensions, or lets nobody add them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import uuid4

import pytest
import sqlalchemy as sa

from kurz.errors import StoreUnavailable
from kurz.settings.model import Settings
from kurz.storage.engine.schema_state import revision
from kurz.storage.links.checksums import KEY_NAME
from kurz.wiring.core import open_kurz
from support.migrations import (
    HEAD,
    SEARCH_INDEX,
    URL_INDEX,
    definitions,
    describe,
    execute,
    on_postgres,
    read,
    remake,
    run_kurz,
    snapshot,
    upgrade,
)
from support.old_schema import fill_old, rows_of


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
        with pytest.raises(StoreUnavailable, match="does not allow this role"):
            await execute(limited, f"CREATE EXTENSION {extension}")
    ended = await asyncio.to_thread(run_kurz, limited, "migrate")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert await read(limited, revision) == HEAD
    after = await read(limited, lambda connection: rows_of(connection, columns))
    of_old = [row for row in after["installation"] if row["name"] != KEY_NAME]
    assert after | {"installation": of_old} == before
    migrated = await read(limited, describe)
    assert SEARCH_INDEX not in migrated["links"]["indexes"]
    async with open_kurz(limited) as parts:
        found = await parts.links.get_by_code(0, "mine")
        assert found.original_url == "https://example.com/mine"
    await read(limited, remake)
    del migrated["links"]["indexes"][URL_INDEX]
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
