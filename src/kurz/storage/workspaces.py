"""Queries about workspaces, their slugs and domains."""

from typing import Any

import sqlalchemy as sa

from kurz.people.workspaces import Workspace
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


def find_workspace_by_host(connection: sa.Connection, host: str) -> Workspace | None:
    holder = domains.c.workspace_id == workspaces.c.id
    return _one(
        connection,
        _WORKSPACE.join(domains, holder).where(
            domains.c.host == host, domains.c.verified_at.is_not(None)
        ),
    )


def list_verified_hosts(connection: sa.Connection) -> frozenset[str]:
    hosts = sa.select(domains.c.host).where(domains.c.verified_at.is_not(None))
    return frozenset(connection.execute(hosts).scalars())


class SqlWorkspaceStore:
    """The `WorkspaceStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, workspace_id: int) -> Workspace | None:
        return await self._database.read(find_workspace, workspace_id)

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return await self._database.read(find_workspace_by_slug, slug)

    async def find_by_host(self, host: str) -> Workspace | None:
        return await self._database.read(find_workspace_by_host, host)

    async def verified_hosts(self) -> frozenset[str]:
        return await self._database.read(list_verified_hosts)


def _one(connection: sa.Connection, query: sa.Select[*tuple[Any, ...]]) -> Workspace | None:
    row = connection.execute(query).mappings().first()
    return None if row is None else Workspace(**row)
