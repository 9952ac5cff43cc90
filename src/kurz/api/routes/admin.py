"""`/api/v1/admin`: the instance, people and workspaces, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from kurz.api.acts import note
from kurz.api.auth import account_read
from kurz.api.bodies import described, read_body, read_edit
from kurz.api.callers import get_admin
from kurz.api.dependencies import context
from kurz.api.members import invitation_list, make_pass
from kurz.api.pages import Page, page_by
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
from kurz.api.security import needs
from kurz.api.workspaces import WorkspaceId, workspace_read
from kurz.people.access import Permission
from kurz.people.errors import WorkspaceNotFound
from kurz.people.quotas import UNLIMITED

router = APIRouter(prefix="/api/v1/admin", tags=["admin"], responses=problems(401, 403, 503))

AccountId = Annotated[int, Path(ge=1, lt=2**53)]
InvitationId = Annotated[int, Path(ge=1, lt=2**53)]
ADMIN = needs(Permission.ADMIN)


@router.get(
    "/system",
    summary="Get the health and numbers of this instance",
    operation_id="get_system",
    openapi_extra=ADMIN,
)
async def get_system(request: Request) -> SystemRead:
    """A component that does not answer is reported as `error`; the request itself succeeds."""
    await get_admin(request)
    return await context(request).system()


@router.get(
    "/accounts",
    summary="List all accounts",
    operation_id="list_accounts",
    responses=problems(422),
    openapi_extra=ADMIN,
)
async def list_accounts(request: Request, page: Annotated[Page, page_by(str)]) -> AccountList:
    """Sorted by e-mail address."""
    await get_admin(request)
    found, following = await page.fetch(context(request).accounts.list, lambda it: (it.email,))
    return AccountList(accounts=[account_read(item) for item in found], next_cursor=following)


@router.patch(
    "/accounts/{account_id}",
    response_model=AccountRead,
    summary="Disable an account, change its administrator role, or allow large imports",
    operation_id="edit_account",
    responses=problems(400, 404, 409, 413, 415, 422),
    openapi_extra=described(AccountEdit) | ADMIN,
)
async def edit_account(request: Request, account_id: AccountId) -> AccountRead:
    """Changing `is_admin` or `is_disabled` ends all tokens of the account within 5 seconds."""
    kurz = context(request)
    caller = await get_admin(request)
    changes = await read_edit(request, AccountEdit)
    account = await kurz.accounts.get(account_id)
    await note(request, caller, "edit-account", f"account {account_id}", **changes)
    if "is_admin" in changes:
        account = await kurz.accounts.set_admin(account_id, is_admin=changes["is_admin"])
    if "is_disabled" in changes:
        account = await kurz.accounts.set_disabled(account_id, is_disabled=changes["is_disabled"])
    if "may_import_many" in changes:
        account = await kurz.accounts.set_imports(
            account_id, may_import_many=changes["may_import_many"]
        )
    kurz.identity.forget()
    return account_read(account)


@router.put(
    "/accounts/{account_id}/quota",
    response_model=AccountRead,
    summary="Set an account's quota",
    operation_id="set_account_quota",
    responses=problems(400, 404, 413, 415, 422),
    openapi_extra=described(AccountQuotaEdit) | ADMIN,
)
async def set_account_quota(request: Request, account_id: AccountId) -> AccountRead:
    """Takes effect on all instances within 5 seconds. Null: the server's default."""
    kurz = context(request)
    caller = await get_admin(request)
    body = await read_body(request, AccountQuotaEdit)
    await kurz.accounts.get(account_id)
    changes = {"links_per_month": body.links_per_month}
    await note(request, caller, "set-quota", f"account {account_id}", **changes)
    given = body.links_per_month
    account = await kurz.accounts.set_quota(
        account_id, UNLIMITED if given == "unlimited" else given
    )
    kurz.identity.forget()
    return account_read(account)


@router.post(
    "/accounts/{account_id}/reset-link",
    status_code=201,
    summary="Create a password reset link",
    operation_id="create_reset_link",
    response_model=OneTimeLink,
    responses=problems(404, 409, 422),
    openapi_extra=ADMIN,
)
async def create_reset_link(request: Request, account_id: AccountId) -> Response:
    """The link is shown once and works for a day. kurz sends no e-mail: give it to the user
    yourself."""
    kurz = context(request)
    caller = await get_admin(request)
    account = await kurz.accounts.get(account_id)
    await note(request, caller, "make-reset-link", f"account {account_id}")
    return await make_pass(
        request,
        caller,
        "reset",
        lambda receipt: kurz.passes.make_reset(
            account.id, caller.account_id, receipt, epoch=caller.epoch
        ),
    )


@router.post(
    "/invitations",
    status_code=201,
    summary="Create an invitation to register",
    operation_id="invite_account",
    response_model=OneTimeLink,
    responses=problems(409, 422),
    openapi_extra=ADMIN,
)
async def invite_account(request: Request) -> Response:
    """The link is shown once. It works once, for 7 days."""
    kurz = context(request)
    caller = await get_admin(request)
    await note(request, caller, "invite")
    return await make_pass(
        request,
        caller,
        "join",
        lambda receipt: kurz.passes.invite(caller.account_id, receipt=receipt, epoch=caller.epoch),
    )


@router.get(
    "/invitations",
    summary="List open invitations to register",
    operation_id="list_account_invitations",
    responses=problems(422),
    openapi_extra=ADMIN,
)
async def list_account_invitations(
    request: Request, page: Annotated[Page, page_by(int, int)]
) -> InvitationList:
    """Newest first."""
    await get_admin(request)
    return await invitation_list(request, None, page)


@router.delete(
    "/invitations/{invitation_id}",
    status_code=204,
    summary="Revoke an invitation",
    operation_id="revoke_account_invitation",
    responses=problems(404, 422),
    openapi_extra=ADMIN,
)
async def revoke_account_invitation(request: Request, invitation_id: InvitationId) -> Response:
    caller = await get_admin(request)
    await note(request, caller, "revoke-invitation", f"invitation {invitation_id}")
    await context(request).passes.revoke(invitation_id, None)
    return Response(status_code=204)


@router.get(
    "/workspaces",
    summary="List all workspaces",
    operation_id="list_all_workspaces",
    responses=problems(422),
    openapi_extra=ADMIN,
)
async def list_all_workspaces(
    request: Request, page: Annotated[Page, page_by(int)]
) -> WorkspaceList:
    """Sorted by id."""
    await get_admin(request)
    found, following = await page.fetch(context(request).workspaces.list_all, lambda it: (it.id,))
    shown = [workspace_read(item, None) for item in found]
    return WorkspaceList(workspaces=shown, next_cursor=following)


@router.put(
    "/workspaces/{workspace_id}/quota",
    response_model=WorkspaceRead,
    summary="Set a workspace's quota",
    operation_id="set_workspace_quota",
    responses=problems(400, 404, 413, 415, 422),
    openapi_extra=described(QuotaEdit) | ADMIN,
)
async def set_workspace_quota(request: Request, workspace_id: WorkspaceId) -> WorkspaceRead:
    kurz = context(request)
    caller = await get_admin(request)
    body = await read_body(request, QuotaEdit)
    if await kurz.workspaces.find(workspace_id) is None:
        raise WorkspaceNotFound("There is no workspace with this ID.")
    changes = {"links_per_month": body.links_per_month}
    await note(request, caller, "set-quota", f"workspace {workspace_id}", **changes)
    return workspace_read(await kurz.teams.edit(workspace_id, changes), None)
