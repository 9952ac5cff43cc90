"""Queries about workspaces, their slugs and domains."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.receipts import Receipt
from kurz.people.workspaces import GRACE, Site, Workspace
from kurz.storage.engine.changes import record_move
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, find_one, to_object
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.receipts import save_receipt
from kurz.storage.people import members as membership
from kurz.storage.people.caps import require_slug, require_workspace
from kurz.storage.schema.people import domains, members, workspace_slugs, workspaces


def insert_workspace(
    connection: sa.Connection,
    workspace: Workspace,
    owner_id: int | None,
    receipt: Receipt | None = None,
    at_most: int = UNCAPPED,
) -> Workspace | None:
    if owner_id is not None:
        require_workspace(connection, owner_id, at_most)
    created_at = to_micros_or_none(workspace.created_at)
    values = {"name": workspace.name, "slug": workspace.slug, "created_at": created_at}
    statement = sa.insert(workspaces).values(values).returning(*workspaces.c)
    made = to_object(Workspace, connection.execute(statement).mappings().one())
    if not _take_slug(connection, made.slug, made.id):
        connection.execute(sa.delete(workspaces).where(workspaces.c.id == made.id))
        return None
    if owner_id is not None:
        row = {"workspace_id": made.id, "account_id": owner_id, "role": Role.OWNER}
        connection.execute(sa.insert(members).values(**row, created_at=created_at))
    record_move(connection, made.id)
    save_receipt(connection, receipt, made)
    return made


def update_workspace(
    connection: sa.Connection,
    workspace_id: int,
    changes: Mapping[str, Any],
    max_slugs: int = UNCAPPED,
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
    edited = find_one(connection, statement, Workspace)
    if edited is not None:
        record_move(connection, workspace_id)
    return edited


def find_workspace(connection: sa.Connection, workspace_id: int) -> Workspace | None:
    query = sa.select(workspaces).where(workspaces.c.id == workspace_id)
    return find_one(connection, query, Workspace)


def find_workspace_by_slug(connection: sa.Connection, slug: str) -> Workspace | None:
    holder = workspace_slugs.c.workspace_id == workspaces.c.id
    query = sa.select(workspaces).join(workspace_slugs, holder)
    is_it = (workspace_slugs.c.slug == slug, workspaces.c.deleted_at.is_(None))
    return find_one(connection, query.where(*is_it), Workspace)


def list_workspaces(connection: sa.Connection, part: Part = WHOLE) -> list[Workspace]:
    query = part_of(sa.select(workspaces), part, workspaces.c.id)
    return find_all(connection, query, Workspace)


def list_workspaces_of(
    connection: sa.Connection,
    account_id: int,
    now: datetime,
    only: int | None = None,
    part: Part = WHOLE,
) -> list[tuple[Workspace, Role]]:
    can_be_used = workspaces.c.deleted_at.is_(None) | (
        workspaces.c.deleted_at > to_micros(now - GRACE)
    )
    query = _MEMBERSHIPS.where(members.c.account_id == account_id, can_be_used)
    if only is not None:
        query = query.where(workspaces.c.id == only)
    rows = connection.execute(part_of(query, part, workspaces.c.name, workspaces.c.id)).mappings()
    return [(to_object(Workspace, row), Role(row["role"])) for row in rows]


def find_membership(
    connection: sa.Connection, workspace_id: int, account_id: int
) -> tuple[Workspace, Role] | None:
    mine = (members.c.account_id == account_id, members.c.workspace_id == workspace_id)
    row = connection.execute(_MEMBERSHIPS.where(*mine)).mappings().first()
    return None if row is None else (to_object(Workspace, row), Role(row["role"]))


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
    """Gives the slug to this workspace permanently; False if it is or was another one's."""
    holder = sa.select(workspace_slugs.c.workspace_id).where(workspace_slugs.c.slug == slug)
    if connection.execute(holder).scalar() is None:
        require_slug(connection, workspace_id, max_slugs)
        row = {"slug": slug, "workspace_id": workspace_id}
        connection.execute(insert(workspace_slugs).values(row).on_conflict_do_nothing())
    found: int = connection.execute(holder).scalar_one()
    return found == workspace_id


_MEMBERSHIPS = sa.select(workspaces, members.c.role).join(
    members, members.c.workspace_id == workspaces.c.id
)


class SqlWorkspaceStore(SqlStore):
    """The `WorkspaceStore` of both engines."""

    insert = writes(insert_workspace)
    update = writes(update_workspace)
    find = reads(find_workspace)
    find_by_slug = reads(find_workspace_by_slug)

    async def find_id(self, slug: str) -> int | None:
        found = await self._database.look_up(find_workspace_by_slug, slug)
        return None if found is None else found.id

    list_all = reads(list_workspaces, LIST_SECONDS)
    list_of = reads(list_workspaces_of)
    find_membership = reads(find_membership)
    members = reads(membership.list_members)
    find_member = reads(membership.find_member)

    async def join(
        self, token_hash: bytes, account_id: int, now: datetime, *, at_most: int = UNCAPPED
    ) -> Workspace | None:
        joined = await self._database.write(membership.join, token_hash, account_id, now, at_most)
        return None if joined is None else await self.find(joined)

    set_role = writes(membership.set_role)
    transfer = writes(membership.transfer)

    async def verified_sites(self) -> Mapping[str, Site]:
        return await self._database.look_up(list_verified_sites)
