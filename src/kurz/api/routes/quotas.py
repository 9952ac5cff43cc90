"""How much of a month's quota has been used, by a person and by a workspace."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from kurz.api.callers import get_caller
from kurz.api.dependencies import Context, context
from kurz.api.places import Place, in_workspace
from kurz.api.schemas.people import QuotaRead
from kurz.api.schemas.problems import problems
from kurz.api.security import needs, somebody
from kurz.people.access import Permission
from kurz.people.quotas import Allowance, account_quota, allowances

router = APIRouter(prefix="/api/v1", responses=problems(401, 403, 503))


@router.get(
    "/me/quota",
    tags=["me"],
    summary="Get your quota",
    operation_id="get_my_quota",
    openapi_extra=somebody(),
)
async def get_my_quota(request: Request) -> QuotaRead:
    """Counts links you create at the root and in workspaces."""
    kurz = context(request)
    caller = await get_caller(request)
    found = allowances(
        kurz.clock.now(),
        account_id=caller.account_id,
        per_account=account_quota(caller.links_per_month, kurz.links_per_month),
    )
    return await _read(kurz, found)


@router.get(
    "/workspaces/{workspace_id}/quota",
    tags=["workspaces"],
    summary="Get a workspace's quota",
    operation_id="get_workspace_quota",
    responses=problems(404, 422),
    openapi_extra=needs(Permission.LINKS_READ),
)
async def get_workspace_quota(
    request: Request, place: Annotated[Place, Depends(in_workspace(Permission.LINKS_READ))]
) -> QuotaRead:
    """Counts links that its members create in it."""
    kurz = context(request)
    limit = None if place.workspace is None else place.workspace.links_per_month
    found = allowances(kurz.clock.now(), workspace_id=place.workspace_id, per_workspace=limit)
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
