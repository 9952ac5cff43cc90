"""Links and the destinations that follow from them, for tests."""

from typing import Any

import sqlalchemy as sa

from kurz.links.model import Link, LinkType
from kurz.storage.engine.changes import record_changes
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import links
from kurz.storage.schema.safety import destinations
from kurz.wiring.core import Kurz
from support.checks import led_to, reread, rows

URLS = [f"https://example.com/{number}" for number in range(5)]


async def scan(kurz: Kurz) -> list[Link]:
    found = await kurz.database.read(lambda it: it.execute(sa.select(links)).mappings().all())
    return [to_link(row) for row in found]


async def expected(kurz: Kurz) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for link in await scan(kurz):
        if link.link_type is LinkType.PERMANENT:
            found.setdefault(link.location, set()).add(link.id)
    return found


async def remove(kurz: Kurz, link: Link) -> None:
    """As the end of a link's time in the trash leaves it."""

    def write(connection: sa.Connection) -> None:
        connection.execute(sa.delete(links).where(links.c.id == link.id))
        row = link.id, link.workspace_id, link.short_code, link.version + 1
        record_changes(connection, [row], kurz.clock.micros())

    await kurz.database.write(write)


async def edit(kurz: Kurz, link: Link, **changes: Any) -> Link:
    edited = await kurz.store.update(await reread(kurz, link), changes, kurz.clock.now())
    assert edited is not None
    return edited


async def due_of(kurz: Kurz, url: str = URLS[0]) -> int | None:
    found = {row["location"]: row["due_at"] for row in await rows(kurz, destinations)}
    due_at: int | None = found[url]
    return due_at


async def is_followed(kurz: Kurz) -> bool:
    return await led_to(kurz) == await expected(kurz)
