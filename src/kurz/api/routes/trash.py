"""`/api/v1/trash` and `/api/v1/workspaces/{id}/trash`: deleting for ever. What is in the trash,
lists of links show; what was moved there by mistake, `restore` brings back."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from kurz.api.dependencies import context
from kurz.api.links import IfMatch, LinkId, version_of
from kurz.api.places import Enter, Place, at_root, in_workspace
from kurz.api.schemas.links import TrashEmptied
from kurz.api.schemas.problems import problems
from kurz.api.security import needs
from kurz.people.access import Permission

EMPTY_SECONDS = 10.0  # then the request is answered, and another one may go on

router = APIRouter(tags=["trash"], responses=problems(401, 403, 404, 422, 503))


def _family(prefix: str, suffix: str, whose: str, enter: Callable[[Permission], Enter]) -> None:
    """Adds the operations below `prefix`."""
    may_write = Annotated[Place, Depends(enter(Permission.LINKS_WRITE))]

    @router.delete(
        prefix,
        summary=f"Permanently delete all links in {whose} trash",
        operation_id=f"empty_trash{suffix}",
        openapi_extra=needs(Permission.LINKS_WRITE),
    )
    async def empty_trash(request: Request, place: may_write) -> TrashEmptied:
        """If there are too many for one request, the oldest are deleted first."""
        emptied = await context(request).trash.empty(
            place.scope, EMPTY_SECONDS, account_id=place.caller.account_id
        )
        return TrashEmptied(purged=emptied.purged, is_empty=emptied.is_empty)

    @router.delete(
        f"{prefix}/{{link_id}}",
        status_code=204,
        summary="Permanently delete a link in the trash",
        operation_id=f"purge_link{suffix}",
        responses=problems(409, 410, 412),
        openapi_extra=needs(Permission.LINKS_WRITE),
    )
    async def purge_link(
        request: Request,
        place: may_write,
        link_id: LinkId,
        if_match: IfMatch = None,
    ) -> Response:
        """Its history and statistics are deleted too; the workspace's totals stay."""
        version = version_of(if_match)
        await context(request).trash.purge(
            link_id, place.scope, expected_version=version, account_id=place.caller.account_id
        )
        return Response(status_code=204)


_family("/api/v1/trash", "", "your", at_root)
_family("/api/v1/workspaces/{workspace_id}/trash", "_in_workspace", "a workspace's", in_workspace)
