"""`/api/v1/links/{id}/checks` and the same in workspaces: whether the destination answers."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from kurz.api.dependencies import context
from kurz.api.links import LinkId
from kurz.api.places import Enter, Place, at_root, in_workspace
from kurz.api.schemas.checks import CheckAsked, CheckRead, LinkChecksRead
from kurz.api.schemas.problems import problems
from kurz.api.security import needs
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

router = APIRouter(tags=["links"], responses=problems(401, 403, 404, 422, 503))


def _family(prefix: str, suffix: str, enter: Callable[[Permission], Enter]) -> None:
    """Adds the operations below `prefix`."""
    may_read = Annotated[Place, Depends(enter(Permission.LINKS_READ))]
    may_write = Annotated[Place, Depends(enter(Permission.LINKS_WRITE))]

    @router.post(
        prefix,
        status_code=202,
        summary="Check a link's destination now",
        operation_id=f"check_link{suffix}",
        responses=problems(409, 429),
        openapi_extra=needs(Permission.LINKS_WRITE),
    )
    async def check_link(request: Request, place: may_write, link_id: LinkId) -> CheckAsked:
        """The check runs within seconds, or as soon as the site can be requested again: each site
        is requested at most once a minute. The result is there when `last_checked_at` is later than
        `asked_at`. 409 `checks-off` if checks are off, `link-not-checked` if the link is not
        active."""
        kurz = context(request)
        await kurz.limits.check(LimitClass.CHECK, str(place.caller.account_id))
        link, asked_at = await kurz.link_checks.ask(link_id, place.scope)
        return CheckAsked(
            asked_at=asked_at,
            destination_status=link.destination_status,
            destination_http_status=link.destination_http_status,
            last_checked_at=link.last_checked_at,
        )

    @router.get(
        prefix,
        summary="List a link's destination checks",
        operation_id=f"get_link_checks{suffix}",
        openapi_extra=needs(Permission.LINKS_READ),
    )
    async def get_checks(request: Request, place: may_read, link_id: LinkId) -> LinkChecksRead:
        """The last 100 checks of the current destination, newest first, with the minute in which
        each started."""
        link, found = await context(request).link_checks.last(link_id, place.scope)
        return LinkChecksRead(
            destination_status=link.destination_status,
            destination_http_status=link.destination_http_status,
            last_checked_at=link.last_checked_at,
            checks=[
                CheckRead(
                    checked_at=check.checked_at.replace(second=0, microsecond=0),
                    result=check.finding.result,
                    reason=check.finding.reason,
                    http_status=check.finding.http_status,
                )
                for check in found
            ],
        )


_family("/api/v1/links/{link_id}/checks", "", at_root)
_family("/api/v1/workspaces/{workspace_id}/links/{link_id}/checks", "_in_workspace", in_workspace)
