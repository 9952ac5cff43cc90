"""Whose links a request is about: the caller's own at the root, or a workspace's."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Path, Request

from kurz.api.http.callers import get_caller
from kurz.api.http.dependencies import Context, context, services
from kurz.api.http.problems import refusal
from kurz.api.http.security import declares, needs, owner
from kurz.links.model import ROOT_WORKSPACE_ID, Link, Scope, space_of
from kurz.links.view import view
from kurz.people.access import Caller, Permission
from kurz.people.quotas import Allowance, account_quota, allowances
from kurz.people.teams import Membership
from kurz.people.workspaces import Workspace

MAX_WORKSPACE_ID = 2**53

WorkspaceId = Annotated[int, Path(ge=1, lt=MAX_WORKSPACE_ID)]


@dataclass(frozen=True, slots=True)
class LinkSpace:
    """`workspace` None: the root."""

    scope: Scope
    workspace: Workspace | None
    caller: Caller

    @property
    def workspace_id(self) -> int:
        return ROOT_WORKSPACE_ID if self.workspace is None else self.workspace.id

    @property
    def list_id(self) -> int:
        """The list that links here are in."""
        return space_of(self.workspace_id, self.caller.account_id)

    def allowances(self, kurz: Context) -> tuple[Allowance, ...]:
        """The quotas that a new link here must fit into."""
        workspace = self.workspace
        return allowances(
            kurz.services.clock.now(),
            account_id=self.caller.account_id,
            per_account=account_quota(self.caller.links_per_month, kurz.options.links_per_month),
            workspace_id=None if workspace is None else workspace.id,
            per_workspace=None if workspace is None else workspace.links_per_month,
        )


async def require_space(
    request: Request, caller: Caller, permission: Permission, workspace_id: int | None
) -> LinkSpace:
    """The space, if the caller has this permission there."""
    kurz = context(request)
    wanted = workspace_id or kurz.options.root_workspace_id
    if wanted is not None:
        workspace, _ = await kurz.services.teams.enter(caller, wanted, permission)
        return LinkSpace(Scope(workspace.id), workspace, caller)
    caller.require_personal()
    caller.require(permission)
    return LinkSpace(Scope(ROOT_WORKSPACE_ID, caller.account_id), None, caller)


RequireSpace = Callable[..., Awaitable[LinkSpace]]


def root_space(permission: Permission) -> RequireSpace:
    @declares(needs(permission))
    async def require(request: Request) -> LinkSpace:
        return await require_space(request, await get_caller(request), permission, None)

    return require


def in_workspace(permission: Permission) -> RequireSpace:
    @declares(needs(permission))
    async def require(request: Request, workspace_id: WorkspaceId) -> LinkSpace:
        return await require_space(request, await get_caller(request), permission, workspace_id)

    return require


class SpacePath(NamedTuple):
    """Operations below `prefix` are about the links of the space that `enter` finds."""

    prefix: str
    whose: str
    enter: Callable[[Permission], RequireSpace]


def at_root_and_in_workspaces(add_routes: Callable[[SpacePath], None]) -> None:
    """Adds the same operations twice: on the caller's own links, and on a workspace's."""
    add_routes(SpacePath("/api/v1", "your", root_space))
    add_routes(SpacePath("/api/v1/workspaces/{workspace_id}", "a workspace's", in_workspace))


@declares(needs(Permission.LINKS_READ))
async def get_membership(request: Request, workspace_id: WorkspaceId) -> Membership:
    caller = await get_caller(request)
    return await services(request).teams.enter(caller, workspace_id, Permission.LINKS_READ)


@declares(owner())
async def get_owner(request: Request, workspace_id: WorkspaceId) -> Caller:
    caller = await get_caller(request)
    await services(request).teams.own(caller, workspace_id)
    return caller


@declares(owner())
async def get_owned(request: Request, workspace_id: WorkspaceId) -> Workspace:
    """The caller's workspace, which may be deleted."""
    caller = await get_caller(request)
    return await services(request).teams.own(caller, workspace_id, with_deleted=True)


MEMBERS = [Depends(get_membership)]
OWNERS = [Depends(get_owner)]
Owner = Annotated[Caller, Depends(get_owner)]


def workspace_id_of(request: Request) -> int | None:
    """The workspace in a path, for routes that do not use FastAPI's parameters."""
    text: str | None = request.scope["path_params"].get("workspace_id")
    if text is None:
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 17 else 0
    if not 1 <= number < MAX_WORKSPACE_ID:
        message = "Input should be a workspace ID"
        raise refusal([{"type": "number", "loc": ("workspace_id",), "msg": message}])
    return number


async def view_at(request: Request, link: Link, space: LinkSpace) -> dict[str, Any]:
    return (await views(request, [link], space))[0]


async def views(request: Request, links: Iterable[Link], space: LinkSpace) -> list[dict[str, Any]]:
    kurz = context(request)
    prefix = await kurz.prefix(request, space.workspace)
    return [view(link, kurz.services.links, prefix + link.short_code) for link in links]
