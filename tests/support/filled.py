"""An installation that has a row in every table that a portable backup contains."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kurz.links.model import Draft, Link, LinkAction, Status, Strategy
from kurz.people.access import Permission
from kurz.safety.audit import OPERATOR
from kurz.storage.portable.tables import CARRIED
from kurz.wiring.core import Kurz
from kurz.wiring.loader import open_loader
from support.clicks import click, write_segment
from support.people import People, Person

EVERYTHING: dict[type, Any] = {
    sa.BigInteger: 2**40 + 1,
    sa.Integer: 20_500,
    sa.SmallInteger: 12,
    sa.Double: 0.1 + 0.2,
    sa.Boolean: True,
    sa.LargeBinary: bytes(range(256)),
    sa.Text: "ünï\U0001f517 'quoted' \\ \t|",
}


@dataclass(frozen=True)
class Filled:
    person: Person
    key: str
    workspace_id: int
    links: dict[str, Link]


async def fill(kurz: Kurz, people: People) -> Filled:
    person = await people.add("ada@example.com")
    workspace_id = (await people.workspace(person)).id
    key = await people.key(person, Permission.LINKS_READ)
    links = {}
    for name, draft in {
        "plain": Draft(original_url="https://example.com/plain", owner_id=person.id),
        "anonymous": Draft(original_url="https://example.com/1", is_anonymous=True),
        "custom": Draft(original_url="https://example.com/2", custom_code="chosen"),
        "counter": Draft(original_url="https://example.com/3", strategy=Strategy.COUNTER),
        "tagged": Draft(
            original_url="https://example.com/tagged?ä=1",
            workspace_id=workspace_id,
            owner_id=person.id,
            strategy=Strategy.DETERMINISTIC,
            tags=("autumn", "größe"),
            title="A title",
            forward_query=True,
        ),
        "deleted": Draft(original_url="https://example.com/4", owner_id=person.id),
        "banned": Draft(original_url="https://example.com/5", owner_id=person.id),
    }.items():
        links[name] = (await kurz.links.create(draft)).link
    now = kurz.clock.now()
    trash = {"status": Status.DELETED, "deleted_at": now}
    deleted = await kurz.store.update(links["deleted"], trash, now, LinkAction("delete", person.id))
    assert deleted is not None
    links["deleted"] = deleted
    await kurz.bans.ban_link(links["banned"], "malware", OPERATOR)
    await kurz.bans.ban_host("bad.example", None, OPERATOR)
    records = [click(links[name].id) for name in ("plain", "tagged", "plain", "counter")]
    write_segment(kurz.settings.journal_dir, *records)
    async with open_loader(kurz) as loader:
        assert await loader.load_all() == len(records)
    await kurz.one_time_tokens.make_setup()
    await kurz.database.write(fill_tables)
    return Filled(person, key, workspace_id, links)


def fill_tables(connection: sa.Connection) -> None:
    """Extreme values, where there are no rows yet."""
    for table in CARRIED:
        if connection.execute(sa.select(table).limit(1)).first() is None:
            rows = [_row(table, {}), _row(table, {"short": True})]
            for row in rows:
                connection.execute(sa.insert(table).values(row))


def _row(table: sa.Table, kind: dict[str, Any]) -> dict[str, Any]:
    """`short`: another key, and nothing that need not be there."""
    row = {}
    for column in table.columns:
        value = next(it for of, it in EVERYTHING.items() if type(column.type) is of)
        if kind and (column.primary_key or column.unique):
            value = -value if isinstance(value, int | float) else value[:3]
        elif kind:
            value = None if column.nullable else value
        row[column.name] = value
    return row


def dump(connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of these tables."""
    return {
        table.name: sorted((tuple(row) for row in connection.execute(sa.select(table))), key=repr)
        for table in CARRIED
    }
