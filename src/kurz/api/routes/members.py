"""Members of a workspace, invitations, and transferring it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from kurz.api.http.bodies import read_body, takes
from kurz.api.http.callers import Session
from kurz.api.http.dependencies import context, services
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import MEMBERS, OWNERS, Owner, WorkspaceId
from kurz.api.routes.workspaces import workspace_read
from kurz.api.schemas.people import (
    InvitationAccept,
    InvitationCreate,
    InvitationList,
    MemberEdit,
    MemberList,
    MemberRead,
    OneTimeLink,
    Transfer,
    WorkspaceRead,
)
from kurz.api.schemas.problems import problems
from kurz.clock import to_micros
from kurz.people.access import Caller, Permission, Role
from kurz.people.limits import LimitClass
from kurz.people.one_time_tokens import OneTimeToken
from kurz.people.receipts import Receipt

router = APIRouter(prefix="/api/v1", tags=["members"], responses=problems(401, 403, 503))

AccountId = Annotated[int, Path(ge=1, lt=2**53)]
InvitationId = Annotated[int, Path(ge=1, lt=2**53)]


@router.get(
    "/workspaces/{workspace_id}/members",
    summary="List a workspace's members",
    responses=problems(404, 422),
    dependencies=MEMBERS,
)
async def list_members(
    request: Request, workspace_id: WorkspaceId, page: Annotated[PageRequest, page_by(str)]
) -> MemberList:
    """Sorted by e-mail address."""
    members, following = await page.fetch(
        partial(services(request).teams.members, workspace_id), lambda it: (it.email,)
    )
    found = {"members": members, "next_cursor": following}
    return MemberList.model_validate(found, from_attributes=True)


@router.patch(
    "/workspaces/{workspace_id}/members/{account_id}",
    summary="Change a member's role",
    **takes(MemberEdit, 404, 409),
    dependencies=OWNERS,
)
async def edit_member(
    request: Request, workspace_id: WorkspaceId, account_id: AccountId
) -> MemberRead:
    kurz = context(request)
    body = await read_body(request, MemberEdit)
    member = await kurz.services.teams.set_role(
        workspace_id, account_id, body.role, at_most=kurz.options.caps.workspaces
    )
    return MemberRead.model_validate(member, from_attributes=True)


@router.delete(
    "/workspaces/{workspace_id}/members/{account_id}",
    status_code=204,
    summary="Remove a member, or leave the workspace",
    responses=problems(404, 409, 422),
)
async def remove_member(
    request: Request, caller: Session, workspace_id: WorkspaceId, account_id: AccountId
) -> Response:
    """Owners can remove any member; any member can leave. Their links stay in the workspace."""
    kurz = services(request)
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
    **takes(InvitationCreate, 404, 409),
)
async def create_invitation(request: Request, caller: Owner, workspace_id: WorkspaceId) -> Response:
    """The link is shown once. The person who opens it becomes a member. It works once,
    for 7 days."""
    kurz = context(request)
    body = await read_body(request, InvitationCreate)
    return await make_one_time_token(
        request,
        caller,
        "join",
        lambda receipt: kurz.services.one_time_tokens.invite(
            caller.account_id,
            workspace_id,
            body.role,
            receipt,
            kurz.options.caps.invitations,
            epoch=caller.epoch,
        ),
    )


@router.get(
    "/workspaces/{workspace_id}/invitations",
    summary="List open invitations",
    responses=problems(404, 422),
    dependencies=OWNERS,
)
async def list_invitations(
    request: Request, workspace_id: WorkspaceId, page: Annotated[PageRequest, page_by(int, int)]
) -> InvitationList:
    """Newest first, without the links themselves, which are shown only once."""
    return await invitation_list(request, workspace_id, page)


@router.delete(
    "/workspaces/{workspace_id}/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation",
    responses=problems(404, 422),
    dependencies=OWNERS,
)
async def revoke_invitation(
    request: Request, workspace_id: WorkspaceId, invitation_id: InvitationId
) -> Response:
    await services(request).one_time_tokens.revoke(invitation_id, workspace_id)
    return Response(status_code=204)


@router.post(
    "/invitations/accept",
    summary="Accept an invitation",
    **takes(InvitationAccept, 404, 409, 429),
)
async def accept_invitation(request: Request, caller: Session) -> WorkspaceRead:
    """Makes you a member. If you have no account yet, send the token with `register` instead."""
    kurz = context(request)
    body = await read_body(request, InvitationAccept)
    await kurz.limit_by_address(request, LimitClass.REDEEM)
    joined = await kurz.services.teams.join(
        caller, body.token, at_most=kurz.options.caps.workspaces
    )
    return workspace_read(
        *await kurz.services.teams.enter(caller, joined.id, Permission.LINKS_READ)
    )


@router.post(
    "/workspaces/{workspace_id}/transfer",
    summary="Transfer ownership of a workspace",
    **takes(Transfer, 404, 409),
)
async def transfer_workspace(
    request: Request, caller: Owner, workspace_id: WorkspaceId
) -> WorkspaceRead:
    """Another member becomes the owner; you become an editor."""
    kurz = context(request)
    body = await read_body(request, Transfer)
    handed_over = await kurz.services.teams.transfer(
        caller, workspace_id, body.account_id, at_most=kurz.options.caps.workspaces
    )
    return workspace_read(handed_over, Role.EDITOR)


async def make_one_time_token(
    request: Request,
    caller: Caller,
    page: str,
    act: Callable[[Receipt | None], Awaitable[tuple[str, OneTimeToken]]],
) -> Response:
    """Answers with a one-time link to a page. Its token comes after `#`, which browsers do not
    send, so no log contains it."""
    kurz = context(request)

    def render(made: tuple[str, OneTimeToken]) -> ApiAnswer:
        token, item = made
        url = f"{kurz.page_origin(request)}/app/{page}#{token}"
        link = OneTimeLink(id=item.id, url=url, token=token, expires_at=item.expires_at)
        return ApiAnswer(201, link.model_dump_json().encode())

    return (await kurz.receipts.once(request, caller.name, act, render)).respond()


async def invitation_list(
    request: Request, workspace_id: int | None, page: PageRequest
) -> InvitationList:
    items, following = await page.fetch(
        partial(services(request).one_time_tokens.invitations, workspace_id),
        lambda it: (to_micros(it.created_at), it.id),
    )
    found = {"invitations": items, "next_cursor": following}
    return InvitationList.model_validate(found, from_attributes=True)
