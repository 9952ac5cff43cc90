"""What members may do with their workspace."""

from collections.abc import Mapping
from typing import Any

from kurz.clock import Clock
from kurz.paging import WHOLE, Part
from kurz.people.access import Caller, Permission, Role, require_owner, require_role
from kurz.people.accounts import AccountStore
from kurz.people.caps import UNCAPPED
from kurz.people.errors import (
    MemberNotFound,
    NameRefused,
    OneTimeLinkRefused,
    OwnerMissing,
    SlugTaken,
    WorkspaceNotFound,
)
from kurz.people.names import check_name
from kurz.people.one_time_tokens import hash_token
from kurz.people.receipts import Receipt
from kurz.people.recent import Recent
from kurz.people.workspaces import (
    MAX_EXPIRY_DAYS,
    Member,
    Workspace,
    WorkspaceStore,
    check_slug,
)

FRESH_SECONDS = 4.0  # another role takes effect everywhere within 5 s
STRATEGIES = ("deterministic", "random", "counter")

Membership = tuple[Workspace, Role]


class Teams:
    def __init__(self, store: WorkspaceStore, accounts: AccountStore, clock: Clock) -> None:
        self._store = store
        self._accounts = accounts
        self._clock = clock
        self._known: Recent[tuple[int, int], Membership] = Recent(FRESH_SECONDS)

    async def enter(self, caller: Caller, workspace_id: int, permission: Permission) -> Membership:
        """The workspace and the caller's role, if both the caller and the role may do that. For
        anyone who is not a member, it looks as if it did not exist."""
        workspace, role = await self._membership(caller, workspace_id)
        if workspace.deleted_at is not None:
            raise WorkspaceNotFound("This workspace was deleted. An owner can restore it.")
        caller.require(permission)
        require_role(role, permission)
        return workspace, role

    async def own(
        self, caller: Caller, workspace_id: int, *, with_deleted: bool = False
    ) -> Workspace:
        """The workspace as it is now, for a caller who may change it."""
        self._known.forget((workspace_id, caller.account_id))
        workspace, role = await self._membership(caller, workspace_id)
        caller.require_session()
        require_owner(role)
        if workspace.deleted_at is not None and not with_deleted:
            raise WorkspaceNotFound("This workspace was deleted. Restore it first.")
        return workspace

    async def create(
        self,
        owner_id: int,
        name: str,
        slug: str,
        receipt: Receipt | None = None,
        *,
        at_most: int = UNCAPPED,
    ) -> Workspace:
        check_name(name)
        check_slug(slug)
        wanted = Workspace(0, name, slug, created_at=self._clock.now())
        made = await self._store.insert(wanted, owner_id, receipt, at_most=at_most)
        if made is None:
            raise SlugTaken(
                f"The slug “{slug}” is or was used by another workspace. Choose another one."
            )
        return made

    async def list_of(self, caller: Caller, part: Part = WHOLE) -> list[Membership]:
        """Including deleted ones that can be restored, by name and id."""
        now, only = self._clock.now(), caller.key_workspace_id
        return await self._store.list_of(caller.account_id, now, only, part)

    async def edit(
        self, workspace_id: int, changes: Mapping[str, Any], *, max_slugs: int = UNCAPPED
    ) -> Workspace:
        if "name" in changes:
            check_name(changes["name"])
        if "slug" in changes:
            check_slug(changes["slug"])
        if changes.get("strategy", STRATEGIES[0]) not in STRATEGIES:
            raise NameRefused(
                f"`strategy` must be one of {', '.join(STRATEGIES)}.", field="strategy"
            )
        days = changes.get("default_expiry_days")
        if days is not None and not 0 <= days <= MAX_EXPIRY_DAYS:
            raise NameRefused(
                f"`default_expiry_days` must be a number from 0 to {MAX_EXPIRY_DAYS}.",
                field="default_expiry_days",
            )
        edited = await self._store.update(workspace_id, changes, max_slugs=max_slugs)
        if edited is None:
            raise SlugTaken("This slug is or was used by another workspace. Choose another one.")
        self._known.clear()
        return edited

    async def delete(self, workspace: Workspace) -> Workspace:
        """Its links stop working at once. It can be restored for 30 days; deleting it again does
        not extend that."""
        if workspace.deleted_at is not None:
            return workspace
        return await self.edit(workspace.id, {"deleted_at": self._clock.now()})

    async def restore(self, workspace: Workspace) -> Workspace:
        if workspace.deleted_at is None:
            return workspace
        return await self.edit(workspace.id, {"deleted_at": None})

    async def members(self, workspace_id: int, part: Part = WHOLE) -> list[Member]:
        return await self._store.members(workspace_id, part)

    async def join(self, caller: Caller, token: str, *, at_most: int = UNCAPPED) -> Workspace:
        """Follows an invitation link."""
        joined = await self._store.join(
            hash_token(token), caller.account_id, self._clock.now(), at_most=at_most
        )
        if joined is None:
            raise OneTimeLinkRefused(
                "This invitation is incomplete, has expired or has already been used. Ask"
                " for a new one."
            )
        self._known.clear()
        return joined

    async def set_role(
        self, workspace_id: int, account_id: int, role: Role, *, at_most: int = UNCAPPED
    ) -> Member:
        await self._change_role(workspace_id, account_id, role, at_most)
        member = await self._store.find_member(workspace_id, account_id)
        if member is None:
            raise MemberNotFound("This member has left the workspace.")
        return member

    async def remove(self, workspace_id: int, account_id: int) -> None:
        await self._change_role(workspace_id, account_id, None)

    async def transfer(
        self, caller: Caller, workspace_id: int, account_id: int, *, at_most: int = UNCAPPED
    ) -> Workspace:
        """Transfers the workspace: the other member becomes owner, the caller editor."""
        if account_id == caller.account_id:
            raise NameRefused("You already own this workspace.", field="account_id")
        from_id = caller.account_id
        if not await self._store.transfer(workspace_id, from_id, account_id, at_most=at_most):
            raise MemberNotFound("A workspace can only be transferred to one of its members.")
        self._known.clear()
        found = await self._store.find(workspace_id)
        if found is None:
            raise WorkspaceNotFound("This workspace was deleted in the meantime.")
        return found

    async def _change_role(
        self, workspace_id: int, account_id: int, role: Role | None, at_most: int = UNCAPPED
    ) -> None:
        if not await self._store.set_role(workspace_id, account_id, role, at_most=at_most):
            raise OwnerMissing("This is the only owner. Make someone else an owner first.")
        self._known.clear()

    async def _membership(self, caller: Caller, workspace_id: int) -> Membership:
        if caller.key_workspace_id not in (None, workspace_id):
            raise WorkspaceNotFound("This key is limited to another workspace.")
        key = (workspace_id, caller.account_id)
        found = self._known.peek(key)
        if found is None:
            found = await self._store.find_membership(*key)
            if found is None:
                raise WorkspaceNotFound("You are not a member of a workspace with this ID.")
            self._known.keep(key, found)
        if found[0].is_gone(self._clock.now()):
            raise WorkspaceNotFound("This workspace was deleted too long ago to be restored.")
        return found
