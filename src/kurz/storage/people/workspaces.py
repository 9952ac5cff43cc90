"""Queries about workspaces, their slugs and domains."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.receipts import Receipt
from kurz.people.workspaces import GRACE, Member, Site, Workspace
from kurz.storage import members as membership
from kurz.storage.caps import require_slug, require_workspace
from kurz.storage.changes import record_move
from kurz.storage.database import Database
from kurz.storage.pages import part_of
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.receipts import keep_receipt
from kurz.storage.schema import domains, members, workspace_slugs, workspaces


def insert_workspace(
    connection: sa.Connection,
    workspace: Workspace,
    owner_id: int | None,
    receipt: Receipt | None,
    at_most: int,
) -> Workspace | None:
    if owner_id is not None:
        require_workspace(connection, owner_id, at_most)
    created_at = to_micros_or_none(workspace.created_at)
    values = {"name": workspace.name, "slug": workspace.slug, "created_at": created_at}
    statement = sa.insert(workspaces).values(values).returning(*workspaces.c)
    made = to_workspace(connection.execute(statement).mappings().one())
    if not _take_slug(connection, made.slug, made.id):
        connection.execute(sa.delete(workspaces).where(workspaces.c.id == made.id))
        return None
    if owner_id is not None:
        row = {"workspace_id": made.id, "account_id": owner_id, "role": Role.OWNER}
        connection.execute(sa.insert(members).values(**row, created_at=created_at))
    record_move(connection, made.id)
    keep_receipt(connection, receipt, made)
    return made


def update_workspace(
    connection: sa.Connection, workspace_id: int, changes: Mapping[str, Any], max_slugs: int
) -> Workspace | None:
    values = dict(changes)
    if "deleted_at" in values:
        values["deleted_at"] = to_micros_or_none(values["deleted_at"])
    if "slug" in values and not _take_slug(connection, values["slug"], workspace_id, max_slugs):
        return None
    statement = (
        sa.update(workspaces)
        .where(workspaces.c.id == workspace_id)
        .values(values)
        .returning(*workspaces.c)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        return None
    record_move(connection, workspace_id)
    return to_workspace(row)


def find_workspace(connection: sa.Connection, workspace_id: int) -> Workspace | None:
    query = sa.select(workspaces).where(workspaces.c.id == workspace_id)
    return _one(connection, query)


def find_workspace_by_slug(connection: sa.Connection, slug: str) -> Workspace | None:
    holder = workspace_slugs.c.workspace_id == workspaces.c.id
    query = sa.select(workspaces).join(workspace_slugs, holder)
    return _one(
        connection,
        query.where(workspace_slugs.c.slug == slug, workspaces.c.deleted_at.is_(None)),
    )


def list_workspaces(connection: sa.Connection, part: Part) -> list[Workspace]:
    query = part_of(sa.select(workspaces), part, workspaces.c.id)
    return [to_workspace(row) for row in connection.execute(query).mappings()]


def list_workspaces_of(
    connection: sa.Connection, account_id: int, now: datetime, only: int | None, part: Part
) -> list[tuple[Workspace, Role]]:
    can_be_used = workspaces.c.deleted_at.is_(None) | (
        workspaces.c.deleted_at > to_micros(now - GRACE)
    )
    query = _MEMBERSHIPS.where(members.c.account_id == account_id, can_be_used)
    if only is not None:
        query = query.where(workspaces.c.id == only)
    rows = connection.execute(part_of(query, part, workspaces.c.name, workspaces.c.id)).mappings()
    return [(to_workspace(row), Role(row["role"])) for row in rows]


def find_membership(
    connection: sa.Connection, workspace_id: int, account_id: int
) -> tuple[Workspace, Role] | None:
    mine = (members.c.account_id == account_id, members.c.workspace_id == workspace_id)
    row = connection.execute(_MEMBERSHIPS.where(*mine)).mappings().first()
    return None if row is None else (to_workspace(row), Role(row["role"]))


def list_verified_sites(connection: sa.Connection) -> Mapping[str, Site]:
    query = (
        sa.select(domains.c.host, workspaces.c.id, workspaces.c.root_url)
        .join(workspaces, domains.c.workspace_id == workspaces.c.id)
        .where(domains.c.verified_at.is_not(None), domains.c.removed_at.is_(None))
        .where(workspaces.c.deleted_at.is_(None))
    )
    return {
        host: Site(workspace_id, is_custom_domain=True, root_url=root_url)
        for host, workspace_id, root_url in connection.execute(query)
    }


def _take_slug(
    connection: sa.Connection, slug: str, workspace_id: int, max_slugs: int = UNCAPPED
) -> bool:
    """Makes the slug this workspace's for ever; False if it is or was another one's."""
    holder = sa.select(workspace_slugs.c.workspace_id).where(workspace_slugs.c.slug == slug)
    if connection.execute(holder).scalar() is None:
        require_slug(connection, workspace_id, max_slugs)
        row = {"slug": slug, "workspace_id": workspace_id}
        connection.execute(insert(workspace_slugs).values(row).on_conflict_do_nothing())
    found: int = connection.execute(holder).scalar_one()
    return found == workspace_id


def _one(connection: sa.Connection, query: sa.Select[*tuple[Any, ...]]) -> Workspace | None:
    row = connection.execute(query).mappings().first()
    return None if row is None else to_workspace(row)


_MEMBERSHIPS = sa.select(workspaces, members.c.role).join(
    members, members.c.workspace_id == workspaces.c.id
)


def to_workspace(row: sa.RowMapping) -> Workspace:
    return Workspace(
        id=row["id"],
        name=row["name"],
        slug=row["slug"],
        root_url=row["root_url"],
        strategy=row["strategy"],
        default_expiry_days=row["default_expiry_days"],
        links_per_month=row["links_per_month"],
        created_at=from_micros(row["created_at"]),
        deleted_at=from_micros_or_none(row["deleted_at"]),
    )


class SqlWorkspaceStore:
    """The `WorkspaceStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self,
        workspace: Workspace,
        owner_id: int | None,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
    ) -> Workspace | None:
        return await self._database.write(insert_workspace, workspace, owner_id, receipt, at_most)

    async def update(
        self, workspace_id: int, changes: Mapping[str, Any], *, max_slugs: int = UNCAPPED
    ) -> Workspace | None:
        return await self._database.write(update_workspace, workspace_id, changes, max_slugs)

    async def find(self, workspace_id: int) -> Workspace | None:
        return await self._database.read(find_workspace, workspace_id)

    async def find_by_slug(self, slug: str) -> Workspace | None:
        return await self._database.read(find_workspace_by_slug, slug)

    async def find_id(self, slug: str) -> int | None:
        found = await self._database.look_up(find_workspace_by_slug, slug)
        return None if found is None else found.id

    async def list_all(self, part: Part = WHOLE) -> list[Workspace]:
        with patience(LIST_SECONDS):
            return await self._database.read(list_workspaces, part)

    async def list_of(
        self, account_id: int, now: datetime, only: int | None = None, part: Part = WHOLE
    ) -> list[tuple[Workspace, Role]]:
        return await self._database.read(list_workspaces_of, account_id, now, only, part)

    async def find_membership(
        self, workspace_id: int, account_id: int
    ) -> tuple[Workspace, Role] | None:
        return await self._database.read(find_membership, workspace_id, account_id)

    async def members(self, workspace_id: int, part: Part = WHOLE) -> list[Member]:
        return await self._database.read(membership.list_members, workspace_id, part)

    async def find_member(self, workspace_id: int, account_id: int) -> Member | None:
        return await self._database.read(membership.find_member, workspace_id, account_id)

    async def join(
        self, pass_hash: bytes, account_id: int, now: datetime, *, at_most: int = UNCAPPED
    ) -> Workspace | None:
        joined = await self._database.write(membership.join, pass_hash, account_id, now, at_most)
        return None if joined is None else await self.find(joined)

    async def set_role(
        self, workspace_id: int, account_id: int, role: Role | None, *, at_most: int = UNCAPPED
    ) -> bool:
        return await self._database.write(
            membership.set_role, workspace_id, account_id, role, at_most
        )

    async def transfer(
        self, workspace_id: int, from_id: int, to_id: int, *, at_most: int = UNCAPPED
    ) -> bool:
        return await self._database.write(
            membership.transfer, workspace_id, from_id, to_id, at_most
        )

    async def verified_sites(self) -> Mapping[str, Site]:
        return await self._database.look_up(list_verified_sites)
