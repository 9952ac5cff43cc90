"""Queries about members of a workspace. Each write locks the workspace, so that two owners cannot
remove each other at once. Before that, it locks an account that may become an owner, so that nobody
exceeds the number of owned workspaces."""

from datetime import datetime

import sqlalchemy as sa

from kurz.clock import to_micros
from kurz.paging import WHOLE, Part
from kurz.people.access import Role
from kurz.people.caps import UNCAPPED
from kurz.people.errors import MemberNotFound
from kurz.people.one_time_tokens import Purpose
from kurz.people.workspaces import Member
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, find_one, upsert
from kurz.storage.people.caps import require_workspace
from kurz.storage.people.one_time_tokens import find_token, take_token
from kurz.storage.schema.people import accounts, members, one_time_tokens, workspaces

_RANKS = (Role.VIEWER, Role.EDITOR, Role.OWNER)
_MEMBERS = sa.select(members, accounts.c.email).join(
    accounts, accounts.c.id == members.c.account_id
)


def list_members(connection: sa.Connection, workspace_id: int, part: Part = WHOLE) -> list[Member]:
    query = _MEMBERS.where(members.c.workspace_id == workspace_id)
    return find_all(connection, part_of(query, part, accounts.c.email), Member)


def find_member(connection: sa.Connection, workspace_id: int, account_id: int) -> Member | None:
    mine = (members.c.workspace_id == workspace_id, members.c.account_id == account_id)
    return find_one(connection, _MEMBERS.where(*mine), Member)


def join(
    connection: sa.Connection,
    token_hash: bytes,
    account_id: int,
    now: datetime,
    at_most: int = UNCAPPED,
) -> int | None:
    """The workspace's id. The token is only spent once it is known to be an invitation."""
    found = find_token(connection, token_hash)
    if found is None or found.purpose is not Purpose.INVITATION or found.workspace_id is None:
        return None
    if not _has_account(connection, account_id) or not _lock(connection, found.workspace_id):
        return None
    if take_token(connection, token_hash, now) is None:
        return None
    invited = found.role or Role.VIEWER
    present = _role(connection, found.workspace_id, account_id)
    if present is None or _RANKS.index(invited) > _RANKS.index(present):
        if invited is Role.OWNER:
            require_workspace(connection, account_id, at_most)
        row = {
            "workspace_id": found.workspace_id,
            "account_id": account_id,
            "role": invited,
            "created_at": to_micros(now),
        }
        connection.execute(upsert(members, "role"), row)
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
    # The other account may be being deleted: then there is no row to write.
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
    """A former owner cannot come back with an invitation from before."""
    made = (
        one_time_tokens.c.workspace_id == workspace_id,
        one_time_tokens.c.created_by == account_id,
    )
    connection.execute(sa.delete(one_time_tokens).where(*made))


def _has_account(connection: sa.Connection, account_id: int) -> bool:
    """The account is locked until the transaction ends, so that it cannot be deleted and leave a
    member behind."""
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
    """Accounts that own it: rows of deleted accounts do not count."""
    query = (
        sa.select(sa.func.count())
        .join_from(members, accounts, accounts.c.id == members.c.account_id)
        .where(members.c.workspace_id == workspace_id, members.c.role == Role.OWNER)
    )
    return connection.execute(query).scalar_one()
