"""Queries about workspaces, their slugs and domains."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from kurz.people.workspaces import Site, Workspace
from kurz.storage.database import Database
from kurz.storage.schema import domains, workspace_slugs, workspaces

_WORKSPACE = sa.select(workspaces.c.id, workspaces.c.name, workspaces.c.slug, workspaces.c.root_url)


def find_workspace(connection: sa.Connection, workspace_id: int) -> Workspace | None:
    return _one(connection, _WORKSPACE.where(workspaces.c.id == workspace_id))


def find_workspace_by_slug(connection: sa.Connection, slug: str) -> Workspace | None:
    holder = workspace_slugs.c.workspace_id == workspaces.c.id
    return _one(
        connection,
        _WORKSPACE.join(workspace_slugs, holder).where(workspace_slugs.c.slug == slug),
    )


def list_verified_sites(connection: sa.Connection) -> Mapping[str, Site]:
    query = (
        sa.select(domains.c.host, workspaces.c.id, workspaces.c.root_url)
        .join(workspaces, domains.c.workspace_id == workspaces.c.id)
        .where(domains.c.verified_at.is_not(None))
    )
    return {
        host: Site(workspace_id, is_custom_domain=True, root_url=root_url)
        for host, workspace_id, root_url in connection.execute(query)
    }


class SqlWorkspaceStore:
    """The `WorkspaceStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, workspace_id: int) -> Workspace | None:
        return await self._database.read(find_workspace, workspace_id)

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return await self._database.read(find_workspace_by_slug, slug)

    async def verified_sites(self) -> Mapping[str, Site]:
        return await self._database.read(list_verified_sites)


def _one(connection: sa.Connection, query: sa.Select[*tuple[Any, ...]]) -> Workspace | None:
    row = connection.execute(query).mappings().first()
    return None if row is None else Workspace(**row)
