"""Caps, checked in the transaction of the write that adds one."""

import sqlalchemy as sa

from kurz.people.access import Role
from kurz.people.caps import (
    DOMAINS,
    INVITATIONS,
    KEYS,
    SLUGS,
    UNCAPPED,
    WORKSPACES,
    Cap,
    CapReached,
)
from kurz.storage.schema.people import (
    accounts,
    domains,
    keys,
    members,
    one_time_tokens,
    workspace_slugs,
    workspaces,
)


def require_workspace(connection: sa.Connection, account_id: int, at_most: int) -> None:
    """Checks that the account may own one more workspace. Deleted ones count until they are purged,
    because they can be restored."""
    owned = sa.select(members.c.workspace_id).where(
        members.c.account_id == account_id, members.c.role == Role.OWNER
    )
    _require(connection, _account(account_id), owned, at_most, WORKSPACES)


def require_key(connection: sa.Connection, account_id: int, at_most: int) -> None:
    found = sa.select(keys.c.id).where(keys.c.account_id == account_id)
    _require(connection, _account(account_id), found, at_most, KEYS)


def require_slug(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Earlier slugs count: they stay this workspace's."""
    taken = sa.select(workspace_slugs.c.slug).where(workspace_slugs.c.workspace_id == workspace_id)
    _require(connection, _workspace(workspace_id), taken, at_most, SLUGS)


def require_domain(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Removed domains count as long as they are reserved."""
    found = sa.select(domains.c.host).where(domains.c.workspace_id == workspace_id)
    _require(connection, _workspace(workspace_id), found, at_most, DOMAINS)


def require_invitation(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Call it after deleting those that have expired."""
    found = sa.select(one_time_tokens.c.id).where(one_time_tokens.c.workspace_id == workspace_id)
    _require(connection, _workspace(workspace_id), found, at_most, INVITATIONS)


def lock_workspace(connection: sa.Connection, workspace_id: int) -> None:
    """For writes that also lock one-time links or domains: the workspace is always locked before
    those, otherwise there could be a deadlock."""
    connection.execute(_workspace(workspace_id).with_for_update(key_share=True))


def _require(
    connection: sa.Connection,
    holder: sa.Select[tuple[int]],
    found: sa.Select[*tuple[object, ...]],
    at_most: int,
    cap: Cap,
) -> None:
    """The holder stays locked until the transaction ends: other writes wait, and then count this
    one too."""
    if at_most == UNCAPPED:
        return
    connection.execute(holder.with_for_update(key_share=True))
    some = found.limit(at_most).subquery()
    if connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one() >= at_most:
        raise CapReached(cap, at_most)


def _account(account_id: int) -> sa.Select[tuple[int]]:
    return sa.select(accounts.c.id).where(accounts.c.id == account_id)


def _workspace(workspace_id: int) -> sa.Select[tuple[int]]:
    return sa.select(workspaces.c.id).where(workspaces.c.id == workspace_id)
