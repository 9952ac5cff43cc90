"""The end of workspaces that were deleted longer ago than anybody can restore them."""

from collections.abc import Awaitable
from datetime import datetime, timedelta

import sqlalchemy as sa

from kurz.clock import MICROSECOND, to_micros
from kurz.links.model import Status
from kurz.storage.batches import in_batches
from kurz.storage.database import Database
from kurz.storage.ended import Condition
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.purging import purge_next
from kurz.storage.schema import domains, keys, links, members, passes, workspaces


def find_gone(connection: sa.Connection, before: int) -> list[int]:
    query = sa.select(workspaces.c.id).where(workspaces.c.deleted_at <= before)
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
    order = (links.c.short_code,)  # the index that has all links of a workspace
    return purge_next(connection, condition, order, limit, now, kept_until)


def purge_workspace(connection: sa.Connection, workspace_id: int, before: int) -> bool:
    gone = (workspaces.c.id == workspace_id, workspaces.c.deleted_at <= before)
    locked = sa.select(workspaces.c.id).where(*gone).with_for_update()
    if connection.execute(locked).first() is None:
        return False
    left = sa.select(links.c.id).where(_are_to_end(workspace_id)).limit(1)
    if connection.execute(left).first() is not None:
        return False
    for table in members, domains, keys, passes:
        connection.execute(sa.delete(table).where(table.c.workspace_id == workspace_id))
    connection.execute(sa.delete(workspaces).where(*gone))
    return True


def _are_to_end(workspace_id: int) -> Condition:
    return sa.and_(links.c.workspace_id == workspace_id, links.c.status != Status.BANNED)


class SqlWorkspaceEnds:
    """The `WorkspaceEnds` of both engines."""

    def __init__(self, database: Database, kept: timedelta) -> None:
        """No stranger gets a purged link's code for as long as `kept` says."""
        self._database = database
        self._kept_micros = kept // MICROSECOND

    async def find_gone(self, before: datetime) -> list[int]:
        with patience(LIST_SECONDS):
            return await self._database.read(find_gone, to_micros(before))

    async def purge_links(
        self, workspace_id: int, before: datetime, now: datetime, limit: int
    ) -> int:
        since, at = to_micros(before), to_micros(now)

        def purge(most: int) -> Awaitable[int]:
            until = at + self._kept_micros
            return self._database.write(purge_links_of, workspace_id, since, at, until, most)

        return await in_batches(purge, limit)

    async def purge(self, workspace_id: int, before: datetime) -> bool:
        return await self._database.write(purge_workspace, workspace_id, to_micros(before))
