"""How much of a month's quota has been used, by a person and by a workspace."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from kurz.api.http.callers import AnyCaller
from kurz.api.http.dependencies import Context, context
from kurz.api.http.spaces import LinkSpace, in_workspace
from kurz.api.schemas.people import QuotaRead
from kurz.api.schemas.problems import problems
from kurz.people.access import Permission
from kurz.people.quotas import Allowance, account_quota, allowances

router = APIRouter(prefix="/api/v1", responses=problems(401, 403, 503))


@router.get(
    "/me/quota",
    tags=["me"],
    summary="Get your quota",
)
async def get_my_quota(request: Request, caller: AnyCaller) -> QuotaRead:
    """Counts links you create at the root and in workspaces."""
    kurz = context(request)
    found = allowances(
        kurz.services.clock.now(),
        account_id=caller.account_id,
        per_account=account_quota(caller.links_per_month, kurz.options.links_per_month),
    )
    return await _read(kurz, found)


@router.get(
    "/workspaces/{workspace_id}/quota",
    tags=["workspaces"],
    summary="Get a workspace's quota",
    responses=problems(404, 422),
)
async def get_workspace_quota(
    request: Request, space: Annotated[LinkSpace, Depends(in_workspace(Permission.LINKS_READ))]
) -> QuotaRead:
    """Counts links that its members create in it."""
    kurz = context(request)
    limit = None if space.workspace is None else space.workspace.links_per_month
    found = allowances(
        kurz.services.clock.now(), workspace_id=space.workspace_id, per_workspace=limit
    )
    return await _read(kurz, found)


async def _read(kurz: Context, found: tuple[Allowance, ...]) -> QuotaRead:
    if not found:
        return QuotaRead(links_per_month=None, links_this_month=None, resets_at=None)
    (allowance,) = found
    return QuotaRead(
        links_per_month=allowance.limit,
        links_this_month=await kurz.usage.spent(allowance),
        resets_at=allowance.ends_at,
    )
