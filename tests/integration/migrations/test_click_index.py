"""An upgrade adds the index for exports to existing clicks, and new clicks get it too."""

import sqlalchemy as sa

from kurz.storage.clicks.events import COLUMNS, ensure_days
from kurz.storage.schema.clicks import click_events
from support.migrations import read, upgrade

DAY = 20_500


def click(number: int, day: int) -> dict[str, object]:
    numbers = {"day": day, "id": number, "at": day * 86_400_000_000, "link_id": 4, "space": 7}
    texts = {name: "text" for name in COLUMNS if name not in numbers}
    return texts | numbers | {"latency_micros": 1.0, "visitor": bytes(8)}


def add(connection: sa.Connection, *days: int) -> None:
    ensure_days(connection, days)
    rows = [click(number, day) for number, day in enumerate(days, 1)]
    connection.execute(sa.insert(click_events), rows)


def keys(connection: sa.Connection) -> list[tuple[int, int]]:
    query = sa.select(click_events.c.day, click_events.c.id).order_by(click_events.c.day)
    return [(row.day, row.id) for row in connection.execute(query)]


def indexes(connection: sa.Connection, table: str) -> list[list[str | None]]:
    return [index["column_names"] for index in sa.inspect(connection).get_indexes(table)]


async def test_clicks_are_kept_and_old_and_new_days_get_the_index(settings, until):
    settings.data_dir.mkdir(exist_ok=True)
    await upgrade(settings, until("0015"))
    await read(settings, lambda it: add(it, DAY, DAY + 1))
    before = await read(settings, keys)
    await upgrade(settings, until("0017"))
    assert await read(settings, keys) == before == [(DAY, 1), (DAY + 1, 2)]
    await read(settings, lambda it: add(it, DAY + 2))
    tables = ["click_events"]
    if settings.database_url is not None:  # a partition has its own
        tables += [f"click_events_{DAY + ahead}" for ahead in range(3)]
    for table in tables:
        assert await read(settings, lambda it, of=table: indexes(it, of)) == [  # type: ignore[misc]
            ["day", "link_id", "id"]
        ]
