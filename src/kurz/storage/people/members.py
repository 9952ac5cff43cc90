"""Queries about who is in a workspace. Each that changes it locks the workspace first, so that two
owners cannot remove each other at once; before it the account that may become an owner, so that
nobody owns more workspaces than they may."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, to_micros
from kurz.paging import Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.errors import MemberNotFound
from kurz.people.passes import Purpose
from kurz.people.workspaces import Member
from kurz.storage.caps import require_workspace
from kurz.storage.pages import part_of
from kurz.storage.passes import find_pass, take_pass
from kurz.storage.schema import accounts, members, passes, workspaces

_RANKS = (Role.VIEWER, Role.EDITOR, Role.OWNER)
_MEMBERS = sa.select(accounts.c.id, accounts.c.email, members.c.role, members.c.created_at).join(
    members, members.c.account_id == accounts.c.id
)


def list_members(connection: sa.Connection, workspace_id: int, part: Part) -> list[Member]:
    query = _MEMBERS.where(members.c.workspace_id == workspace_id)
    rows = connection.execute(part_of(query, part, accounts.c.email)).mappings()
    return [_member(row) for row in rows]


def find_member(connection: sa.Connection, workspace_id: int, account_id: int) -> Member | None:
    mine = (members.c.workspace_id == workspace_id, members.c.account_id == account_id)
    row = connection.execute(_MEMBERS.where(*mine)).mappings().first()
    return None if row is None else _member(row)


def _member(row: sa.RowMapping) -> Member:
    created_at = from_micros(row["created_at"])
    return Member(row["id"], row["email"], Role(row["role"]), created_at)


def join(
    connection: sa.Connection,
    pass_hash: bytes,
    account_id: int,
    now: datetime,
    at_most: int = UNCAPPED,
) -> int | None:
    """The workspace's id. The invitation is only taken once it is known to be one."""
    found = find_pass(connection, pass_hash)
    if found is None or found.purpose is not Purpose.INVITATION or found.workspace_id is None:
        return None
    if not _has_account(connection, account_id) or not _lock(connection, found.workspace_id):
        return None
    if take_pass(connection, pass_hash, now) is None:
        return None
    invited = found.role or Role.VIEWER
    present = _role(connection, found.workspace_id, account_id)
    if present is None or _RANKS.index(invited) > _RANKS.index(present):
        if invited is Role.OWNER:
            require_workspace(connection, account_id, at_most)
        statement = insert(members).values(
            workspace_id=found.workspace_id,
            account_id=account_id,
            role=invited,
            created_at=to_micros(now),
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[members.c.workspace_id, members.c.account_id],
                set_={"role": invited},
            )
        )
    return found.workspace_id


def set_role(
    connection: sa.Connection,
    workspace_id: int,
    account_id: int,
    role: Role | None,
    at_most: int = UNCAPPED,
) -> bool:
    if role is Role.OWNER:
        _has_account(connection, account_id)
    _lock(connection, workspace_id)
    present = _role(connection, workspace_id, account_id)
    if present is None:
        raise MemberNotFound("There is no member with this ID.")
    if present is Role.OWNER and role is not Role.OWNER and _owners(connection, workspace_id) == 1:
        return False
    if role is not None:
        if role is Role.OWNER and present is not Role.OWNER:
            require_workspace(connection, account_id, at_most)
        _write_role(connection, workspace_id, account_id, role)
        return True
    mine = (members.c.workspace_id == workspace_id, members.c.account_id == account_id)
    connection.execute(sa.delete(members).where(*mine))
    _end_invitations(connection, workspace_id, account_id)
    return True


def transfer(
    connection: sa.Connection,
    workspace_id: int,
    from_id: int,
    to_id: int,
    at_most: int = UNCAPPED,
) -> bool:
    _has_account(connection, to_id)
    _lock(connection, workspace_id)
    if _role(connection, workspace_id, from_id) is not Role.OWNER:
        return False
    if _role(connection, workspace_id, to_id) in (Role.EDITOR, Role.VIEWER):
        require_workspace(connection, to_id, at_most)
    # The other may be deleting their account: then nobody is there to be written.
    if not _write_role(connection, workspace_id, to_id, Role.OWNER):
        return False
    return _write_role(connection, workspace_id, from_id, Role.EDITOR)


def _write_role(connection: sa.Connection, workspace_id: int, account_id: int, role: Role) -> bool:
    """False: there is no such member."""
    mine = (members.c.workspace_id == workspace_id, members.c.account_id == account_id)
    written = connection.execute(sa.update(members).where(*mine).values(role=role))
    if role is not Role.OWNER:
        _end_invitations(connection, workspace_id, account_id)
    return written.rowcount == 1


def _end_invitations(connection: sa.Connection, workspace_id: int, account_id: int) -> None:
    """Who may not invite any more does not come back by a link made while they might."""
    made = (passes.c.workspace_id == workspace_id, passes.c.created_by == account_id)
    connection.execute(sa.delete(passes).where(*made))


def _has_account(connection: sa.Connection, account_id: int) -> bool:
    """It stays until the transaction ends: nobody deletes it and leaves a member behind."""
    query = sa.select(accounts.c.id).where(accounts.c.id == account_id)
    return connection.execute(query.with_for_update(key_share=True)).first() is not None


def _lock(connection: sa.Connection, workspace_id: int) -> bool:
    """Locks the workspace, deleted or not; False if it is gone or deleted."""
    query = sa.select(workspaces.c.deleted_at).where(workspaces.c.id == workspace_id)
    row = connection.execute(query.with_for_update()).first()
    return row is not None and row.deleted_at is None


def _role(connection: sa.Connection, workspace_id: int, account_id: int) -> Role | None:
    query = sa.select(members.c.role).where(
        members.c.workspace_id == workspace_id, members.c.account_id == account_id
    )
    found = connection.execute(query).scalar()
    return None if found is None else Role(found)


def _owners(connection: sa.Connection, workspace_id: int) -> int:
    """Accounts that own it: a row that an account left behind counts for nothing."""
    query = (
        sa.select(sa.func.count())
        .join_from(members, accounts, accounts.c.id == members.c.account_id)
        .where(members.c.workspace_id == workspace_id, members.c.role == Role.OWNER)
    )
    return connection.execute(query).scalar_one()
