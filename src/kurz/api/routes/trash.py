"""`/api/v1/trash` and `/api/v1/workspaces/{id}/trash`: delete permanently. Lists of links show what
is in the trash, and `restore` restores it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from kurz.api.http.dependencies import services
from kurz.api.http.spaces import LinkSpace, SpacePath, at_root_and_in_workspaces
from kurz.api.routes.links import IfMatch, LinkId, version_of
from kurz.api.schemas.links import TrashEmptied
from kurz.api.schemas.problems import problems
from kurz.people.access import Permission

EMPTY_SECONDS = 10.0  # then the request is answered, and another one may continue

router = APIRouter(tags=["trash"], responses=problems(401, 403, 404, 422, 503))


@at_root_and_in_workspaces
def _add_routes(at: SpacePath) -> None:
    may_write = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_WRITE))]

    @router.delete(
        f"{at.prefix}/trash",
        summary=f"Permanently delete all links in {at.whose} trash",
    )
    async def empty_trash(request: Request, space: may_write) -> TrashEmptied:
        """If there are too many for one request, the oldest are deleted first."""
        emptied = await services(request).trash.empty(
            space.scope, EMPTY_SECONDS, account_id=space.caller.account_id
        )
        return TrashEmptied(purged=emptied.purged, is_empty=emptied.is_empty)

    @router.delete(
        f"{at.prefix}/trash/{{link_id}}",
        status_code=204,
        summary="Permanently delete a link in the trash",
        responses=problems(409, 410, 412),
    )
    async def purge_link(
        request: Request,
        space: may_write,
        link_id: LinkId,
        if_match: IfMatch = None,
    ) -> Response:
        """Its history and statistics are deleted too; the workspace's totals stay."""
        version = version_of(if_match)
        await services(request).trash.purge(
            link_id, space.scope, expected_version=version, account_id=space.caller.account_id
        )
        return Response(status_code=204)
