"""Tags of links: the table that lists are filtered by, and renaming a tag everywhere."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from kurz.clock import from_micros, to_micros
from kurz.links.model import Link, LinkAction, Status, space_of
from kurz.links.tagging import COUNTED_LINKS, TagCount, renamed
from kurz.paging import WHOLE, Part
from kurz.storage.engine.batches import among
from kurz.storage.engine.changes import record_changes
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.links.history import add_history_entries
from kurz.storage.schema.link_rows import to_link
from kurz.storage.schema.links import link_tags, links

BATCH = 500  # links a transaction, so that none takes long

_ADD_ON_SQLITE = (
    "INSERT INTO link_tags (space, tag, in_trash, link_id)"
    " SELECT DISTINCT space, each.value, status = 'DELETED', links.id"
    " FROM links, json_each(tags) AS each WHERE links.id >= ? AND space <> 0"
)
_ADD_ON_POSTGRES = (
    "INSERT INTO link_tags (space, tag, in_trash, link_id)"
    " SELECT DISTINCT space, each.value, status = 'DELETED', links.id"
    " FROM links, json_array_elements_text(tags::json) AS each(value)"
    " WHERE links.id = ANY($1::bigint[]) AND tags IS NOT NULL AND space <> 0"
)

_Row = dict[str, object]


def add_tags(connection: sa.Connection, link: Link, link_id: int) -> None:
    """For a new link, which does not have its id yet."""
    _insert(connection, _rows(link, link_id))


def add_tags_of(connection: sa.Connection, link_ids: Sequence[int]) -> None:
    """For new links, which on SQLite have the highest ids."""
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.execute(_ADD_ON_SQLITE, (link_ids[0],))
    else:
        connection.exec_driver_sql(_ADD_ON_POSTGRES, (list(link_ids),))


def follow_tags(connection: sa.Connection, before: Link, after: Link) -> None:
    """Updates the table after an edit, a deletion or a restore."""
    if _rows(before, before.id) != _rows(after, after.id):
        replace_tags(connection, [after])


def replace_tags(connection: sa.Connection, changed: Sequence[Link]) -> None:
    ids = [link.id for link in changed]
    connection.execute(sa.delete(link_tags).where(link_tags.c.link_id.in_(ids)))
    _insert(connection, [row for link in changed for row in _rows(link, link.id)])


def trash_tags_of(connection: sa.Connection, link_ids: Sequence[int]) -> None:
    """After these links were moved to the trash."""
    of_links = among(connection, link_tags.c.link_id, link_ids)
    connection.execute(sa.update(link_tags).where(of_links).values(in_trash=True))


def list_tags(connection: sa.Connection, space: int, part: Part = WHOLE) -> list[TagCount]:
    """By name, with the number of links that have each, including the trash. It seeks from each tag
    to the next one, and counts at most `COUNTED_LINKS` links of each. So its time does not grow
    with the number of links."""
    names = _names(space, part)
    some: sa.Select[tuple[int]] = sa.select(sa.literal_column("1")).where(
        link_tags.c.space == space, link_tags.c.tag == names.c.tag
    )
    counted = some.limit(COUNTED_LINKS + 1).correlate(names).subquery()
    count = sa.select(sa.func.count()).select_from(counted).scalar_subquery()
    query = sa.select(names.c.tag, count).where(names.c.tag.is_not(None)).order_by(names.c.tag)
    return [
        TagCount(tag, min(links, COUNTED_LINKS), links <= COUNTED_LINKS)
        for tag, links in connection.execute(query)
    ]


def _names(space: int, part: Part) -> sa.CTE:
    """The tags in use, each found by one lookup in the index, and None after the last one."""
    first = sa.select(sa.func.min(link_tags.c.tag).label("tag"), sa.literal(1).label("number"))
    first = first.where(link_tags.c.space == space)
    if part.after is not None:
        first = first.where(link_tags.c.tag > part.after[0])
    names = first.cte("names", recursive=True)
    following = sa.select(sa.func.min(link_tags.c.tag)).where(
        link_tags.c.space == space, link_tags.c.tag > names.c.tag
    )
    others = sa.select(following.correlate(names).scalar_subquery(), names.c.number + 1)
    others = others.where(names.c.tag.is_not(None))
    if part.limit is not None:
        others = others.where(names.c.number < part.limit)
    return names.union_all(others)


def count_tag(connection: sa.Connection, space: int, tag: str) -> int:
    query = sa.select(sa.func.count()).where(link_tags.c.space == space, link_tags.c.tag == tag)
    return connection.execute(query).scalar_one()


def rename_some(
    connection: sa.Connection, space: int, old: str, new: str | None, now: int, action: LinkAction
) -> tuple[int, int]:
    """Renames a tag in up to `BATCH` links (None removes it); returns how many seemed to have it,
    and how many did. It uses a few statements for all: one by one, a distant database would be too
    slow."""
    ids = sa.select(link_tags.c.link_id).where(link_tags.c.space == space, link_tags.c.tag == old)
    ids = ids.order_by(link_tags.c.in_trash, link_tags.c.link_id).limit(BATCH)
    found = connection.execute(ids).scalars().all()
    # Locked in the order of their ids, as everywhere where several are locked.
    query = sa.select(links).where(links.c.id.in_(found)).order_by(links.c.id).with_for_update()
    before = [to_link(row) for row in connection.execute(query).mappings()]
    after = [
        replace(
            link,
            tags=renamed(link.tags, old, new),
            version=link.version + 1,
            updated_at=from_micros(now),
        )
        for link in before
        if old in link.tags  # otherwise an edit has just removed it
    ]
    if found:
        replace_tags(connection, [*{link.id: link for link in (*before, *after)}.values()])
    if after:
        _write_tags(connection, after)
        written = [(it.id, it.workspace_id, it.short_code, it.version) for it in after]
        record_changes(connection, written, now)
        of = {link.id: link for link in before}
        add_history_entries(connection, [(of[link.id], link) for link in after], action)
    return len(found), len(after)


def _insert(connection: sa.Connection, rows: Sequence[_Row]) -> None:
    if rows:
        connection.execute(sa.insert(link_tags), rows)


def _rows(link: Link, link_id: int) -> list[_Row]:
    """None for a link that is in no list."""
    space = space_of(link.workspace_id, link.owner_id)
    in_trash = link.status is Status.DELETED
    return [
        {"space": space, "tag": tag, "in_trash": in_trash, "link_id": link_id}
        for tag in dict.fromkeys(link.tags if space else ())
    ]


def _write_tags(connection: sa.Connection, changed: list[Link]) -> None:
    statement = (
        sa.update(links)
        .where(links.c.id == sa.bindparam("link_id"))
        .values(
            tags=sa.bindparam("new_tags"),
            version=sa.bindparam("new_version"),
            updated_at=sa.bindparam("changed_at"),
        )
    )
    values = [
        {
            "link_id": link.id,
            "new_tags": json.dumps(link.tags, ensure_ascii=False) if link.tags else None,
            "new_version": link.version,
            "changed_at": to_micros(link.updated_at),
        }
        for link in changed
    ]
    connection.execute(statement, values)


class SqlTagStore(SqlStore):
    """The `TagStore` of both engines."""

    list = reads(list_tags, LIST_SECONDS)
    count = reads(count_tag, LIST_SECONDS)

    async def rename(
        self, space: int, old: str, new: str | None, now: datetime, action: LinkAction
    ) -> int:
        total = 0
        while True:
            with deadline(LONG_SECONDS):
                found, changed = await self._database.write(
                    rename_some, space, old, new, to_micros(now), action
                )
            total += changed
            if found < BATCH:
                return total
