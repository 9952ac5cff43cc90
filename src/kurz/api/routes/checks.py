"""`/api/v1/links/{id}/checks` and the same in workspaces: whether the destination answers."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from kurz.api.http.dependencies import context
from kurz.api.http.spaces import LinkSpace, SpacePath, at_root_and_in_workspaces
from kurz.api.routes.links import LinkId
from kurz.api.schemas.checks import CheckRead, CheckRequested, LinkChecksRead
from kurz.api.schemas.problems import problems
from kurz.links.model import Link
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

router = APIRouter(tags=["links"], responses=problems(401, 403, 404, 422, 503))


@at_root_and_in_workspaces
def _add_routes(at: SpacePath) -> None:
    path = f"{at.prefix}/links/{{link_id}}/checks"
    may_read = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_READ))]
    may_write = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_WRITE))]

    @router.post(
        path,
        status_code=202,
        summary="Check a link's destination now",
        responses=problems(409, 429),
    )
    async def check_link(request: Request, space: may_write, link_id: LinkId) -> CheckRequested:
        """The check runs within seconds, or later if others of the same site were requested: each
        site gets one requested check per minute. It is done when `last_checked_at` is later than
        `requested_at`. 409 `checks-off` if checks are off, `link-not-checked` if the link is not
        active."""
        kurz = context(request)
        await kurz.limits.check(LimitClass.CHECK, str(space.caller.account_id))
        link, requested_at = await kurz.link_checks.ask(link_id, space.scope)
        return CheckRequested(requested_at=requested_at, **_state(link))

    @router.get(
        path,
        summary="List a link's destination checks",
    )
    async def get_link_checks(request: Request, space: may_read, link_id: LinkId) -> LinkChecksRead:
        """The last 100 checks of the current destination, newest first, with the minute in which
        each started."""
        link, found = await context(request).link_checks.last(link_id, space.scope)
        checks = [
            CheckRead(
                checked_at=check.checked_at.replace(second=0, microsecond=0),
                result=check.finding.result,
                reason=check.finding.reason,
                http_status=check.finding.http_status,
            )
            for check in found
        ]
        return LinkChecksRead(checks=checks, **_state(link))


def _state(link: Link) -> dict[str, Any]:
    names = "destination_status", "destination_http_status", "last_checked_at"
    return {name: getattr(link, name) for name in names}
