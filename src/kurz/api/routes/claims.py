"""`POST /api/v1/claims`: claim links that were created without an account."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic_core import to_json
from starlette.responses import Response

from kurz.api.http.bodies import described, read_body
from kurz.api.http.callers import get_caller
from kurz.api.http.dependencies import context, services
from kurz.api.http.problems import status_of
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import declares, needs
from kurz.api.http.spaces import LinkSpace, require_space
from kurz.api.schemas.links import ClaimItem, ClaimResults, Claims
from kurz.api.schemas.problems import problems
from kurz.errors import KurzError, Unavailable, problem
from kurz.links.model import Created, Draft
from kurz.links.view import view
from kurz.people.access import Permission
from kurz.people.errors import PermissionMissing
from kurz.people.limits import LimitClass

router = APIRouter(tags=["links"], responses=problems(400, 401, 403, 413, 415, 422, 429, 503))


@dataclass(frozen=True, slots=True)
class ClaimOutcome:
    """The result of an item; `error` if it failed."""

    result: str
    created: Created | None = None
    error: KurzError | None = None


@declares(needs(Permission.LINKS_WRITE))
async def claiming_space(request: Request) -> LinkSpace:
    """Where claimed links go, if the caller may have links there."""
    kurz = context(request)
    caller = await get_caller(request)
    if kurz.options.root_workspace_id is not None:
        raise PermissionMissing(
            "Links cannot be created without an account on this installation, so there is"
            " nothing to claim."
        )
    space = await require_space(request, caller, Permission.LINKS_WRITE, None)
    await kurz.limits.check(LimitClass.CLAIM, str(caller.account_id))
    return space


ClaimingSpace = Annotated[LinkSpace, Depends(claiming_space)]


@router.post(
    "/api/v1/claims",
    response_model=ClaimResults,
    summary="Claim links created without an account",
    openapi_extra=described(Claims),
)
async def claim_links(request: Request, space: ClaimingSpace) -> Response:
    """With its `claim_token`, a link becomes permanent and yours. Without a valid token, a new link
    is created for `original_url`, and the original link stays as it is. Claiming again returns the
    same links."""
    body = await read_body(request, Claims)
    prefix = await context(request).prefix(request, None)
    links = services(request).links
    results = []
    for outcome in await claim_all(request, space, body.items):
        result: dict[str, Any] = {"result": outcome.result, "link": None, "problem": None}
        if outcome.created is not None:
            link = outcome.created.link
            result["link"] = view(link, links, prefix + link.short_code)
        if outcome.error is not None:
            result["problem"] = problem(outcome.error, status_of(type(outcome.error)))
        results.append(result)
    return ApiAnswer(200, to_json({"results": results})).respond()


async def claim_all(
    request: Request, space: LinkSpace, items: list[ClaimItem]
) -> list[ClaimOutcome]:
    """Each item may create a link, so items count like those of a bulk request."""
    if items:
        limits, account = context(request).limits, str(space.caller.account_id)
        await limits.check(LimitClass.BULK_ITEMS, account, len(items))
    return [await _claim(request, space, item) for item in items]


async def _claim(request: Request, space: LinkSpace, item: ClaimItem) -> ClaimOutcome:
    kurz = context(request)
    account_id = space.caller.account_id
    draft = None
    if item.original_url is not None:
        draft = Draft(original_url=item.original_url, owner_id=account_id)
    try:
        created = await kurz.services.links.claim(
            account_id,
            draft,
            short_code=item.short_code,
            claim_token=item.claim_token,
            own_hosts=kurz.own_hosts_of(request),
            allowances=space.allowances(kurz),
        )
    except Unavailable:
        raise
    except KurzError as error:
        return ClaimOutcome("not_claimed", error=error)
    is_the_same = created.link.short_code == item.short_code
    return ClaimOutcome("claimed" if is_the_same else "created", created)
