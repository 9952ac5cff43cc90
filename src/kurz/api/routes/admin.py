"""`/api/v1/admin`: the instance, people and workspaces, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Request
from starlette.responses import Response

from kurz.api.http.administrators import ADMINS, Admin, note
from kurz.api.http.bodies import read_body, read_edit, takes
from kurz.api.http.dependencies import context, services
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.spaces import WorkspaceId
from kurz.api.routes.auth import account_read
from kurz.api.routes.members import AccountId, InvitationId, invitation_list, make_one_time_token
from kurz.api.routes.workspaces import workspace_read
from kurz.api.schemas.people import (
    AccountEdit,
    AccountList,
    AccountQuotaEdit,
    AccountRead,
    InvitationList,
    OneTimeLink,
    QuotaEdit,
    WorkspaceList,
    WorkspaceRead,
)
from kurz.api.schemas.problems import problems
from kurz.api.schemas.system import SystemRead
from kurz.people.errors import WorkspaceNotFound
from kurz.people.quotas import UNLIMITED

router = APIRouter(prefix="/api/v1/admin", tags=["admin"], responses=problems(401, 403, 503))


@router.get(
    "/system",
    summary="Get the health and numbers of this instance",
    dependencies=ADMINS,
)
async def get_system(request: Request) -> SystemRead:
    """A component that does not answer is reported as `error`; the request itself succeeds."""
    return await context(request).state.system()


@router.get(
    "/accounts",
    summary="List all accounts",
    responses=problems(422),
    dependencies=ADMINS,
)
async def list_accounts(
    request: Request, page: Annotated[PageRequest, page_by(str)]
) -> AccountList:
    """Sorted by e-mail address."""
    found, following = await page.fetch(services(request).accounts.list, lambda it: (it.email,))
    return AccountList(accounts=[account_read(item) for item in found], next_cursor=following)


@router.patch(
    "/accounts/{account_id}",
    summary="Disable an account, change its administrator role, or allow large imports",
    **takes(AccountEdit, 404, 409),
)
async def edit_account(request: Request, caller: Admin, account_id: AccountId) -> AccountRead:
    """Changing `is_admin` or `is_disabled` ends all tokens of the account within 5 seconds."""
    kurz = context(request)
    changes = await read_edit(request, AccountEdit)
    await kurz.services.accounts.get(account_id)
    await note(request, caller, "edit-account", f"account {account_id}", **changes)
    account = await kurz.services.accounts.edit(account_id, changes)
    kurz.sessions.identity.forget()
    return account_read(account)


@router.put(
    "/accounts/{account_id}/quota",
    summary="Set an account's quota",
    **takes(AccountQuotaEdit, 404),
)
async def set_account_quota(request: Request, caller: Admin, account_id: AccountId) -> AccountRead:
    """Takes effect on all instances within 5 seconds. Null: the server's default."""
    kurz = context(request)
    body = await read_body(request, AccountQuotaEdit)
    await kurz.services.accounts.get(account_id)
    changes = {"links_per_month": body.links_per_month}
    await note(request, caller, "set-quota", f"account {account_id}", **changes)
    given = body.links_per_month
    account = await kurz.services.accounts.set_quota(
        account_id, UNLIMITED if given == "unlimited" else given
    )
    kurz.sessions.identity.forget()
    return account_read(account)


@router.post(
    "/accounts/{account_id}/reset-link",
    status_code=201,
    summary="Create a password reset link",
    response_model=OneTimeLink,
    responses=problems(404, 409, 422),
)
async def create_reset_link(request: Request, caller: Admin, account_id: AccountId) -> Response:
    """The link is shown once and works for a day. kurz sends no e-mail: give it to the user
    yourself."""
    kurz = services(request)
    account = await kurz.accounts.get(account_id)
    await note(request, caller, "make-reset-link", f"account {account_id}")
    return await make_one_time_token(
        request,
        caller,
        "reset",
        lambda receipt: kurz.one_time_tokens.make_reset(
            account.id, caller.account_id, receipt, epoch=caller.epoch
        ),
    )


@router.post(
    "/invitations",
    status_code=201,
    summary="Create an invitation to register",
    response_model=OneTimeLink,
    responses=problems(409, 422),
)
async def invite_account(request: Request, caller: Admin) -> Response:
    """The link is shown once. It works once, for 7 days."""
    kurz = services(request)
    await note(request, caller, "invite")
    return await make_one_time_token(
        request,
        caller,
        "join",
        lambda receipt: kurz.one_time_tokens.invite(
            caller.account_id, receipt=receipt, epoch=caller.epoch
        ),
    )


@router.get(
    "/invitations",
    summary="List open invitations to register",
    responses=problems(422),
    dependencies=ADMINS,
)
async def list_account_invitations(
    request: Request, page: Annotated[PageRequest, page_by(int, int)]
) -> InvitationList:
    """Newest first."""
    return await invitation_list(request, None, page)


@router.delete(
    "/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation",
    responses=problems(404, 422),
)
async def revoke_account_invitation(
    request: Request, caller: Admin, invitation_id: InvitationId
) -> Response:
    await note(request, caller, "revoke-invitation", f"invitation {invitation_id}")
    await services(request).one_time_tokens.revoke(invitation_id, None)
    return Response(status_code=204)


@router.get(
    "/workspaces",
    summary="List all workspaces",
    responses=problems(422),
    dependencies=ADMINS,
)
async def list_all_workspaces(
    request: Request, page: Annotated[PageRequest, page_by(int)]
) -> WorkspaceList:
    """Sorted by ID."""
    found, following = await page.fetch(services(request).workspaces.list_all, lambda it: (it.id,))
    shown = [workspace_read(item, None) for item in found]
    return WorkspaceList(workspaces=shown, next_cursor=following)


@router.put(
    "/workspaces/{workspace_id}/quota",
    summary="Set a workspace's quota",
    **takes(QuotaEdit, 404),
)
async def set_workspace_quota(
    request: Request, caller: Admin, workspace_id: WorkspaceId
) -> WorkspaceRead:
    kurz = services(request)
    body = await read_body(request, QuotaEdit)
    if await kurz.workspaces.find(workspace_id) is None:
        raise WorkspaceNotFound("There is no workspace with this ID.")
    changes = {"links_per_month": body.links_per_month}
    await note(request, caller, "set-quota", f"workspace {workspace_id}", **changes)
    return workspace_read(await kurz.teams.edit(workspace_id, changes), None)
