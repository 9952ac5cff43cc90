"""Who is in a workspace: members, invitations, handing it over."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from kurz.api.bodies import described, read_body
from kurz.api.callers import get_caller, get_session
from kurz.api.dependencies import context
from kurz.api.pages import Page, page_by
from kurz.api.responses import Answer
from kurz.api.schemas.people import (
    InvitationAccept,
    InvitationCreate,
    InvitationList,
    InvitationRead,
    MemberEdit,
    MemberList,
    MemberRead,
    OneTimeLink,
    Transfer,
    WorkspaceRead,
)
from kurz.api.schemas.problems import problems
from kurz.api.security import needs, owner, session
from kurz.api.workspaces import WorkspaceId, workspace_read
from kurz.clock import to_micros
from kurz.people.access import Caller, Permission, Role
from kurz.people.limits import LimitClass
from kurz.people.passes import Pass
from kurz.people.receipts import Receipt

router = APIRouter(prefix="/api/v1", tags=["members"], responses=problems(401, 403, 503))

AccountId = Annotated[int, Path(ge=1, lt=2**53)]
InvitationId = Annotated[int, Path(ge=1, lt=2**53)]


@router.get(
    "/workspaces/{workspace_id}/members",
    summary="List a workspace's members",
    operation_id="list_members",
    responses=problems(404, 422),
    openapi_extra=needs(Permission.LINKS_READ),
)
async def list_members(
    request: Request, workspace_id: WorkspaceId, page: Annotated[Page, page_by(str)]
) -> MemberList:
    """Sorted by e-mail address."""
    kurz = context(request)
    await kurz.teams.enter(await get_caller(request), workspace_id, Permission.LINKS_READ)
    members, following = await page.fetch(
        partial(kurz.teams.members, workspace_id), lambda it: (it.email,)
    )
    return MemberList(
        members=[MemberRead.model_validate(item, from_attributes=True) for item in members],
        next_cursor=following,
    )


@router.patch(
    "/workspaces/{workspace_id}/members/{account_id}",
    response_model=MemberRead,
    summary="Change a member's role",
    operation_id="edit_member",
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=described(MemberEdit) | owner(),
)
async def edit_member(
    request: Request, workspace_id: WorkspaceId, account_id: AccountId
) -> MemberRead:
    kurz = context(request)
    await kurz.teams.own(await get_caller(request), workspace_id)
    body = await read_body(request, MemberEdit)
    member = await kurz.teams.set_role(
        workspace_id, account_id, body.role, at_most=kurz.caps.workspaces
    )
    return MemberRead.model_validate(member, from_attributes=True)


@router.delete(
    "/workspaces/{workspace_id}/members/{account_id}",
    status_code=204,
    summary="Remove a member, or leave the workspace",
    operation_id="remove_member",
    responses=problems(404, 409, 422),
    openapi_extra=session(),
)
async def remove_member(
    request: Request, workspace_id: WorkspaceId, account_id: AccountId
) -> Response:
    """Owners can remove any member; any member can leave. Their links stay in the workspace."""
    kurz = context(request)
    caller = await get_session(request)
    if account_id == caller.account_id:
        await kurz.teams.enter(caller, workspace_id, Permission.LINKS_READ)
    else:
        await kurz.teams.own(caller, workspace_id)
    await kurz.teams.remove(workspace_id, account_id)
    return Response(status_code=204)


@router.post(
    "/workspaces/{workspace_id}/invitations",
    status_code=201,
    response_model=OneTimeLink,
    summary="Create an invitation link",
    operation_id="create_invitation",
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=described(InvitationCreate) | owner(),
)
async def create_invitation(request: Request, workspace_id: WorkspaceId) -> Response:
    """The link is shown once. Whoever opens it becomes a member. It works once, for 7 days."""
    kurz = context(request)
    caller = await get_caller(request)
    await kurz.teams.own(caller, workspace_id)
    body = await read_body(request, InvitationCreate)
    return await make_pass(
        request,
        caller,
        "join",
        lambda receipt: kurz.passes.invite(
            caller.account_id,
            workspace_id,
            body.role,
            receipt,
            kurz.caps.invitations,
            epoch=caller.epoch,
        ),
    )


@router.get(
    "/workspaces/{workspace_id}/invitations",
    summary="List open invitations",
    operation_id="list_invitations",
    responses=problems(404, 422),
    openapi_extra=owner(),
)
async def list_invitations(
    request: Request, workspace_id: WorkspaceId, page: Annotated[Page, page_by(int, int)]
) -> InvitationList:
    """Newest first, without the links themselves, which are shown only once."""
    kurz = context(request)
    await kurz.teams.own(await get_caller(request), workspace_id)
    return await invitation_list(request, workspace_id, page)


@router.delete(
    "/workspaces/{workspace_id}/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation",
    operation_id="revoke_invitation",
    responses=problems(404, 422),
    openapi_extra=owner(),
)
async def revoke_invitation(
    request: Request, workspace_id: WorkspaceId, invitation_id: InvitationId
) -> Response:
    kurz = context(request)
    await kurz.teams.own(await get_caller(request), workspace_id)
    await kurz.passes.revoke(invitation_id, workspace_id)
    return Response(status_code=204)


@router.post(
    "/invitations/accept",
    response_model=WorkspaceRead,
    summary="Accept an invitation",
    operation_id="accept_invitation",
    responses=problems(400, 404, 409, 413, 415, 422, 429),
    openapi_extra=described(InvitationAccept) | session(),
)
async def accept_invitation(request: Request) -> WorkspaceRead:
    """Makes you a member. If you have no account yet, send the token with `register` instead."""
    kurz = context(request)
    caller = await get_session(request)
    body = await read_body(request, InvitationAccept)
    await kurz.limit_by_address(request, LimitClass.REDEEM)
    joined = await kurz.teams.join(caller, body.token, at_most=kurz.caps.workspaces)
    return workspace_read(*await kurz.teams.enter(caller, joined.id, Permission.LINKS_READ))


@router.post(
    "/workspaces/{workspace_id}/transfer",
    response_model=WorkspaceRead,
    summary="Transfer ownership of a workspace",
    operation_id="transfer_workspace",
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=described(Transfer) | owner(),
)
async def transfer_workspace(request: Request, workspace_id: WorkspaceId) -> WorkspaceRead:
    """Another member becomes the owner; you become an editor."""
    kurz = context(request)
    caller = await get_caller(request)
    await kurz.teams.own(caller, workspace_id)
    body = await read_body(request, Transfer)
    handed_over = await kurz.teams.transfer(
        caller, workspace_id, body.account_id, at_most=kurz.caps.workspaces
    )
    return workspace_read(handed_over, Role.EDITOR)


async def make_pass(
    request: Request,
    caller: Caller,
    page: str,
    act: Callable[[Receipt | None], Awaitable[tuple[str, Pass]]],
) -> Response:
    """Answers with a one-time link to a page. Its token stands behind `#`, which browsers do not
    send: no log ever sees it."""
    kurz = context(request)

    def render(made: tuple[str, Pass]) -> Answer:
        token, item = made
        url = f"{kurz.page_origin(request)}/app/{page}#{token}"
        link = OneTimeLink(id=item.id, url=url, token=token, expires_at=item.expires_at)
        return Answer(201, link.model_dump_json().encode())

    return (await kurz.receipts.once(request, caller.name, act, render)).respond()


async def invitation_list(request: Request, workspace_id: int | None, page: Page) -> InvitationList:
    items, following = await page.fetch(
        partial(context(request).passes.invitations, workspace_id),
        lambda it: (to_micros(it.created_at), it.id),
    )
    return InvitationList(
        invitations=[InvitationRead.model_validate(item, from_attributes=True) for item in items],
        next_cursor=following,
    )
