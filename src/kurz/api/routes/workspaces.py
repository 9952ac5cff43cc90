"""`/api/v1/workspaces`: create, change, delete and restore workspaces."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from kurz.api.http.bodies import read_body, read_edit, takes
from kurz.api.http.callers import Session, permitted
from kurz.api.http.dependencies import context, services
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import OWNERS, WorkspaceId, get_membership, get_owned
from kurz.api.schemas.people import WorkspaceCreate, WorkspaceEdit, WorkspaceList, WorkspaceRead
from kurz.api.schemas.problems import problems
from kurz.errors import renamed
from kurz.links import urls
from kurz.links.errors import DestinationRefused
from kurz.people.access import Caller, Permission, Role
from kurz.people.errors import PermissionMissing
from kurz.people.own_hosts import OwnHosts
from kurz.people.receipts import Receipt
from kurz.people.teams import Membership
from kurz.people.workspaces import Workspace

router = APIRouter(
    prefix="/api/v1/workspaces", tags=["workspaces"], responses=problems(401, 403, 503)
)

Reader = Annotated[Caller, Depends(permitted(Permission.LINKS_READ))]
OwnWorkspace = Annotated[Workspace, Depends(get_owned)]


@router.post(
    "",
    status_code=201,
    response_model=WorkspaceRead,
    summary="Create a workspace",
    **takes(WorkspaceCreate, 409),
)
async def create_workspace(request: Request, caller: Session) -> Response:
    """You become its owner."""
    kurz = context(request)
    body = await read_body(request, WorkspaceCreate)

    async def act(receipt: Receipt | None) -> Workspace:
        return await kurz.services.teams.create(
            caller.account_id, body.name, body.slug, receipt, at_most=kurz.options.caps.workspaces
        )

    def render(made: Workspace) -> ApiAnswer:
        return ApiAnswer(201, workspace_read(made, Role.OWNER).model_dump_json().encode())

    return (await kurz.receipts.once(request, caller.name, act, render)).respond()


@router.get(
    "",
    summary="List your workspaces",
    responses=problems(422),
)
async def list_workspaces(
    request: Request, caller: Reader, page: Annotated[PageRequest, page_by(str, int)]
) -> WorkspaceList:
    """Workspaces you are a member of, sorted by name. Includes deleted ones that can still be
    restored."""
    found, following = await page.fetch(
        partial(services(request).teams.list_of, caller), lambda it: (it[0].name, it[0].id)
    )
    shown = [workspace_read(*item) for item in found]
    return WorkspaceList(workspaces=shown, next_cursor=following)


@router.get(
    "/{workspace_id}",
    summary="Get a workspace",
    responses=problems(404, 422),
)
async def get_workspace(
    found: Annotated[Membership, Depends(get_membership)],
) -> WorkspaceRead:
    return workspace_read(*found)


@router.patch(
    "/{workspace_id}",
    summary="Change a workspace",
    **takes(WorkspaceEdit, 404, 409),
    dependencies=OWNERS,
)
async def edit_workspace(request: Request, workspace_id: WorkspaceId) -> WorkspaceRead:
    kurz = context(request)
    changes = await read_edit(request, WorkspaceEdit, "root_url", "default_expiry_days")
    if changes.get("root_url") is not None:
        own_hosts = await OwnHosts(
            kurz.options.base_url, kurz.services.domains, kurz.options.dashboard_url
        ).get()
        with renamed("original_url", "root_url"):
            judged = urls.judge(changes["root_url"], own_hosts, kurz.own_hosts_of(request))
            if not kurz.services.screen.admit(judged.location):
                raise DestinationRefused(
                    "Some blocklists cannot be read at the moment. Try again later."
                )
        changes["root_url"] = judged.location
    edited = await kurz.services.teams.edit(
        workspace_id, changes, max_slugs=kurz.options.caps.slugs
    )
    return workspace_read(edited, Role.OWNER)


@router.delete(
    "/{workspace_id}",
    summary="Delete a workspace",
    responses=problems(404, 422),
)
async def delete_workspace(request: Request, workspace: OwnWorkspace) -> WorkspaceRead:
    """Its links stop working immediately. An owner can restore it for 30 days."""
    kurz = context(request)
    if workspace.id == kurz.options.root_workspace_id:
        raise PermissionMissing(
            "This workspace is the root workspace (KURZ_ROOT_WORKSPACE) and cannot be"
            " deleted. Ask the operator to change that setting first."
        )
    return workspace_read(await kurz.services.teams.delete(workspace), Role.OWNER)


@router.post(
    "/{workspace_id}/restore",
    summary="Restore a deleted workspace",
    responses=problems(404, 422),
)
async def restore_workspace(request: Request, workspace: OwnWorkspace) -> WorkspaceRead:
    return workspace_read(await services(request).teams.restore(workspace), Role.OWNER)


def workspace_read(workspace: Workspace, role: Role | None) -> WorkspaceRead:
    fields: dict[str, Any] = {
        name: getattr(workspace, name) for name in WorkspaceRead.model_fields if name != "role"
    }
    return WorkspaceRead(**fields, role=role)
