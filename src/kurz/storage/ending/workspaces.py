"""Purges workspaces that were deleted so long ago that they cannot be restored."""

from collections.abc import Awaitable
from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.links.model import Status
from kurz.storage.ending.conditions import Condition
from kurz.storage.ending.purging import PurgingStore, purge_next
from kurz.storage.engine.batches import in_batches
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.store import reads, writes
from kurz.storage.schema.links import links
from kurz.storage.schema.people import domains, keys, members, one_time_tokens, workspaces


def find_gone(connection: sa.Connection, before: datetime) -> list[int]:
    query = sa.select(workspaces.c.id).where(workspaces.c.deleted_at <= to_micros(before))
    return [*connection.execute(query.order_by(workspaces.c.deleted_at, workspaces.c.id)).scalars()]


def purge_links_of(
    connection: sa.Connection,
    workspace_id: int,
    before: int,
    now: int,
    kept_until: int,
    limit: int,
) -> int:
    is_gone = sa.exists().where(workspaces.c.id == workspace_id, workspaces.c.deleted_at <= before)
    condition = sa.and_(_are_to_end(workspace_id), is_gone)
    order = (links.c.short_code,)  # this index has all links of a workspace
    return purge_next(connection, condition, order, limit, now, kept_until)


def purge_workspace(connection: sa.Connection, workspace_id: int, before: datetime) -> bool:
    gone = (workspaces.c.id == workspace_id, workspaces.c.deleted_at <= to_micros(before))
    locked = sa.select(workspaces.c.id).where(*gone).with_for_update()
    if connection.execute(locked).first() is None:
        return False
    left = sa.select(links.c.id).where(_are_to_end(workspace_id)).limit(1)
    if connection.execute(left).first() is not None:
        return False
    for table in members, domains, keys, one_time_tokens:
        connection.execute(sa.delete(table).where(table.c.workspace_id == workspace_id))
    connection.execute(sa.delete(workspaces).where(*gone))
    return True


def _are_to_end(workspace_id: int) -> Condition:
    return sa.and_(links.c.workspace_id == workspace_id, links.c.status != Status.BANNED)


class SqlWorkspaceEnds(PurgingStore):
    """The `WorkspaceEnds` of both engines."""

    find_gone = reads(find_gone, LIST_SECONDS)

    async def purge_links(
        self, workspace_id: int, before: datetime, now: datetime, limit: int
    ) -> int:
        since, at = to_micros(before), to_micros(now)

        def purge(most: int) -> Awaitable[int]:
            until = at + self._kept_micros
            return self._database.write(purge_links_of, workspace_id, since, at, until, most)

        return await in_batches(purge, limit)

    purge = writes(purge_workspace)
