"""Whose links a request is about: one's own at the root, or a workspace's."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path, Request

from kurz.api.callers import get_caller
from kurz.api.dependencies import Context, context
from kurz.api.problems import refusal
from kurz.links.model import ROOT_WORKSPACE_ID, Link, Scope, space_of
from kurz.links.view import view
from kurz.people.access import Caller, Permission
from kurz.people.quotas import Allowance, account_quota, allowances
from kurz.people.workspaces import Workspace

MAX_WORKSPACE_ID = 2**53


@dataclass(frozen=True, slots=True)
class Place:
    """`workspace` None: the root."""

    scope: Scope
    workspace: Workspace | None
    caller: Caller

    @property
    def workspace_id(self) -> int:
        return ROOT_WORKSPACE_ID if self.workspace is None else self.workspace.id

    @property
    def space(self) -> int:
        return space_of(self.workspace_id, self.caller.account_id)

    def allowances(self, kurz: Context) -> tuple[Allowance, ...]:
        """What a new link here has to fit."""
        workspace = self.workspace
        return allowances(
            kurz.clock.now(),
            account_id=self.caller.account_id,
            per_account=account_quota(self.caller.links_per_month, kurz.links_per_month),
            workspace_id=None if workspace is None else workspace.id,
            per_workspace=None if workspace is None else workspace.links_per_month,
        )


async def place_of(
    request: Request, caller: Caller, permission: Permission, workspace_id: int | None
) -> Place:
    """The place, if the caller may do that there."""
    kurz = context(request)
    wanted = workspace_id or kurz.root_workspace_id
    if wanted is not None:
        workspace, _ = await kurz.teams.enter(caller, wanted, permission)
        return Place(Scope(workspace.id), workspace, caller)
    caller.require_personal()
    caller.require(permission)
    return Place(Scope(ROOT_WORKSPACE_ID, caller.account_id), None, caller)


Enter = Callable[..., Awaitable[Place]]


def at_root(permission: Permission) -> Enter:
    async def enter(request: Request) -> Place:
        return await place_of(request, await get_caller(request), permission, None)

    return enter


def in_workspace(permission: Permission) -> Enter:
    async def enter(
        request: Request, workspace_id: Annotated[int, Path(ge=1, lt=MAX_WORKSPACE_ID)]
    ) -> Place:
        return await place_of(request, await get_caller(request), permission, workspace_id)

    return enter


def workspace_id_of(request: Request) -> int | None:
    """The workspace that a path names, where FastAPI is not asked to read it."""
    text: str | None = request.scope["path_params"].get("workspace_id")
    if text is None:
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 17 else 0
    if not 1 <= number < MAX_WORKSPACE_ID:
        message = "Input should be a workspace ID"
        raise refusal([{"type": "number", "loc": ("workspace_id",), "msg": message}])
    return number


async def view_at(request: Request, link: Link, place: Place) -> dict[str, Any]:
    return (await views(request, [link], place))[0]


async def views(request: Request, links: Iterable[Link], place: Place) -> list[dict[str, Any]]:
    kurz = context(request)
    prefix = await kurz.prefix(request, place.workspace)
    return [view(link, kurz.links, prefix + link.short_code) for link in links]
