"""Callers and their permissions."""

from dataclasses import dataclass
from enum import StrEnum

from kurz.people.errors import PermissionMissing


class Permission(StrEnum):
    """What an API key can be allowed to do. A session can do all of this, but `admin` only if
    the person is an administrator."""

    LINKS_READ = "links:read"
    LINKS_CREATE = "links:create"
    LINKS_WRITE = "links:write"
    STATS_READ = "stats:read"
    ADMIN = "admin"


class Role(StrEnum):
    """The role of a member in a workspace."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


_INCLUDED = {Permission.LINKS_WRITE: {Permission.LINKS_CREATE}}
_OF_ROLES = {
    Role.VIEWER: frozenset({Permission.LINKS_READ, Permission.STATS_READ}),
    Role.EDITOR: frozenset(Permission) - {Permission.ADMIN},
    Role.OWNER: frozenset(Permission) - {Permission.ADMIN},
}


def implied(permissions: frozenset[Permission]) -> frozenset[Permission]:
    """These permissions and what they include."""
    return permissions.union(*(_INCLUDED.get(item, ()) for item in permissions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """An identified caller, by a session (`token_id`) or a key (`key_id`). A key may be limited to
    one workspace."""

    account_id: int
    email: str
    epoch: int  # of the account, when this caller was looked up
    permissions: frozenset[Permission]
    expires_at: int | None = None
    token_id: str | None = None
    key_id: int | None = None
    key_workspace_id: int | None = None
    links_per_month: int | None = None  # the account's own quota

    @property
    def name(self) -> str:
        """Identifies the caller, for idempotency and limits."""
        return f"account:{self.account_id}"

    def require(self, permission: Permission) -> None:
        if permission not in self.permissions:
            if self.key_id is None:
                raise PermissionMissing("Only administrators can do this.")
            raise PermissionMissing(f"This key does not have the scope `{permission}`.")
        if permission is Permission.ADMIN:  # is about everyone, not about one workspace
            self.require_personal()

    def require_session(self) -> None:
        """For changes of permissions: no key may give itself more."""
        if self.token_id is None:
            raise PermissionMissing("API keys cannot do this. Sign in with e-mail and password.")

    def require_personal(self) -> None:
        """For links at the root and the installation: a workspace's key is not allowed there."""
        if self.key_workspace_id is not None:
            raise PermissionMissing(
                "This key is limited to one workspace. Use a key for all workspaces."
            )


def require_role(role: Role, permission: Permission) -> None:
    if permission not in _OF_ROLES[role]:
        raise PermissionMissing(
            f"You are {_NAMES[role]} in this workspace and can only read. Ask an owner to"
            " make you an editor."
        )


def require_owner(role: Role) -> None:
    if role is not Role.OWNER:
        raise PermissionMissing("Only owners of the workspace can do this.")


_NAMES = {Role.OWNER: "an owner", Role.EDITOR: "an editor", Role.VIEWER: "a viewer"}
