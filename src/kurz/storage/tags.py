"""Tags of links: the table that lists are filtered by, and renaming a tag everywhere."""

import json
from collections.abc import Iterable
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import Act
from kurz.links.tagging import TagCount, renamed
from kurz.storage.changes import record_change
from kurz.storage.database import Database
from kurz.storage.history import record_deed
from kurz.storage.link_rows import to_link
from kurz.storage.schema import link_tags, links

BATCH = 500  # links a transaction, so that none takes long


def add_tags(connection: sa.Connection, link_id: int, space: int, tags: Iterable[str]) -> None:
    """Links in nobody's list are not filtered by anybody."""
    if space:
        rows = [{"space": space, "tag": tag, "link_id": link_id} for tag in dict.fromkeys(tags)]
        connection.execute(sa.insert(link_tags), rows)


def replace_tags(connection: sa.Connection, link_id: int, space: int, tags: Iterable[str]) -> None:
    connection.execute(sa.delete(link_tags).where(link_tags.c.link_id == link_id))
    if tags:
        add_tags(connection, link_id, space, tags)


def list_tags(connection: sa.Connection, space: int) -> list[TagCount]:
    """By name, with the number of links that have each, those in the trash included."""
    query = (
        sa.select(link_tags.c.tag, sa.func.count())
        .where(link_tags.c.space == space)
        .group_by(link_tags.c.tag)
        .order_by(link_tags.c.tag)
    )
    return [TagCount(tag, count) for tag, count in connection.execute(query)]


def rename_some(
    connection: sa.Connection, space: int, old: str, new: str | None, now: int, act: Act
) -> int:
    """Renames a tag in up to `BATCH` links (None removes it) and tells in how many."""
    ids = sa.select(link_tags.c.link_id).where(link_tags.c.space == space, link_tags.c.tag == old)
    found = connection.execute(ids.order_by(link_tags.c.link_id).limit(BATCH)).scalars().all()
    for link_id in found:
        query = sa.select(links).where(links.c.id == link_id).with_for_update()
        before = to_link(connection.execute(query).mappings().one())
        tags = renamed(before.tags, old, new)
        statement = (
            sa.update(links)
            .where(links.c.id == link_id)
            .values(
                tags=json.dumps(tags, ensure_ascii=False) if tags else None,
                version=links.c.version + 1,
                updated_at=now,
            )
            .returning(*links.c)
        )
        after = to_link(connection.execute(statement).mappings().one())
        replace_tags(connection, link_id, space, tags)
        record_change(connection, link_id, after.workspace_id, after.short_code, after.version, now)
        record_deed(connection, before, after, act)
    return len(found)


class SqlTagStore:
    """The `TagStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, space: int) -> list[TagCount]:
        return await self._database.read(list_tags, space)

    async def rename(self, space: int, old: str, new: str | None, now: datetime, act: Act) -> int:
        total = 0
        while True:
            done = await self._database.write(rename_some, space, old, new, to_micros(now), act)
            total += done
            if done < BATCH:
                return total
