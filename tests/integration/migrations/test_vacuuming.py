"""An upgrade sets when PostgreSQL vacuums, and lists by clicks stay as they were."""

from collections.abc import Callable

import sqlalchemy as sa

from kurz.links.model import Filter, Sort
from kurz.settings.model import Settings
from kurz.storage.engine.migrate import Migrations
from kurz.storage.schema.base import metadata
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.listing import HERE, expected, insert_all, team_link
from support.migrations import on_postgres, read, snapshot, upgrade


async def test_links_and_their_order_by_clicks_survive_the_upgrade(
    settings: Settings, until: Callable[[str], Migrations]
) -> None:
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, until("0021"))
    made = [team_link(number, id=number + 1, redirect_count=number % 4) for number in range(12)]
    await read(settings, lambda it: insert_all(it, made))
    _, before = await read(settings, snapshot)
    await upgrade(settings, until("0022"))
    _, after = await read(settings, snapshot)
    for name in ("alembic_version", "schema_revision"):
        assert before.pop(name) != after.pop(name)
    assert after == before
    await upgrade(settings, Migrations())
    async with open_kurz(settings) as parts:
        for sort in Sort.CLICKS, Sort.CLICKS_DOWN:
            wanted = Filter(sort=sort)
            page = await parts.links.list(HERE, wanted)
            assert list(page.links) == expected(made, HERE, wanted)


@on_postgres
async def test_tables_have_the_settings_of_the_metadata(settings: Settings) -> None:
    await prepare(settings, upgrades_postgres=False)

    def options(connection: sa.Connection) -> dict[str, dict[str, float]]:
        query = (
            "SELECT relname, reloptions FROM pg_class WHERE relkind = 'r' AND reloptions <> '{}'"
        )
        found = connection.execute(sa.text(query)).all()
        pairs = {name: [each.split("=") for each in some] for name, some in found}
        return {name: {key: float(value) for key, value in some} for name, some in pairs.items()}

    expected = {
        name: dict(table.dialect_options["postgresql"]["with"])
        for name, table in metadata.tables.items()
        if table.dialect_options["postgresql"]["with"]
    }
    assert await read(settings, options) == expected
