"""How many of something there may be, counted in the transaction of the write that adds one."""

import sqlalchemy as sa

from kurz.people.access import Role
from kurz.people.caps import UNCAPPED, CapReached
from kurz.storage.schema import (
    accounts,
    domains,
    keys,
    members,
    passes,
    workspace_slugs,
    workspaces,
)


def require_workspace(connection: sa.Connection, account_id: int, at_most: int) -> None:
    """Room for one more workspace that the account owns. Deleted ones count until they are purged:
    they can be restored."""
    owned = sa.select(members.c.workspace_id).where(
        members.c.account_id == account_id, members.c.role == Role.OWNER
    )
    refused = CapReached(
        "An account",
        "workspaces of its own",
        at_most,
        remedy="Transfer one to someone else",
        setting="KURZ_LIMIT_WORKSPACES",
    )
    _require(connection, _account(account_id), owned, at_most, refused)


def require_key(connection: sa.Connection, account_id: int, at_most: int) -> None:
    found = sa.select(keys.c.id).where(keys.c.account_id == account_id)
    refused = CapReached(
        "An account",
        "API keys",
        at_most,
        remedy="Revoke one you no longer use",
        setting="KURZ_LIMIT_KEYS",
    )
    _require(connection, _account(account_id), found, at_most, refused)


def require_slug(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Slugs of the past count: they stay this workspace's."""
    taken = sa.select(workspace_slugs.c.slug).where(workspace_slugs.c.workspace_id == workspace_id)
    refused = CapReached(
        "A workspace",
        "slugs, former ones included",
        at_most,
        remedy="Use a former one",
        setting="KURZ_LIMIT_SLUGS",
    )
    _require(connection, _workspace(workspace_id), taken, at_most, refused)


def require_domain(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Those that were given up count as long as they are kept from others."""
    found = sa.select(domains.c.host).where(domains.c.workspace_id == workspace_id)
    refused = CapReached(
        "A workspace",
        "domains",
        at_most,
        remedy="Remove one that is not verified",
        setting="KURZ_LIMIT_DOMAINS",
    )
    _require(connection, _workspace(workspace_id), found, at_most, refused)


def require_invitation(connection: sa.Connection, workspace_id: int, at_most: int) -> None:
    """Call it after deleting those that have expired."""
    found = sa.select(passes.c.id).where(passes.c.workspace_id == workspace_id)
    refused = CapReached(
        "A workspace",
        "open invitations",
        at_most,
        remedy="Revoke one",
        setting="KURZ_LIMIT_INVITATIONS",
    )
    _require(connection, _workspace(workspace_id), found, at_most, refused)


def lock_workspace(connection: sa.Connection, workspace_id: int) -> None:
    """For writes that also lock passes or domains: everybody locks the workspace before those, else
    two could wait for each other."""
    connection.execute(_workspace(workspace_id).with_for_update(key_share=True))


def _require(
    connection: sa.Connection,
    holder: sa.Select[tuple[int]],
    found: sa.Select[*tuple[object, ...]],
    at_most: int,
    refused: CapReached,
) -> None:
    """The holder stays locked until the transaction ends: others wait, and count this one too."""
    if at_most == UNCAPPED:
        return
    connection.execute(holder.with_for_update(key_share=True))
    some = found.limit(at_most).subquery()
    if connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one() >= at_most:
        raise refused


def _account(account_id: int) -> sa.Select[tuple[int]]:
    return sa.select(accounts.c.id).where(accounts.c.id == account_id)


def _workspace(workspace_id: int) -> sa.Select[tuple[int]]:
    return sa.select(workspaces.c.id).where(workspaces.c.id == workspace_id)
