"""Tags: which there are, renaming and merging them, taking them off everywhere."""

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from kurz.api.bodies import described, read_body
from kurz.api.dependencies import context
from kurz.api.pages import Page, page_by
from kurz.api.places import Enter, Place, at_root, in_workspace
from kurz.api.schemas.links import TagChange, TagList, TagRead, TagRename
from kurz.api.schemas.problems import problems
from kurz.api.security import needs
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

Tag = Annotated[str, Path(max_length=200)]  # it may have slashes in it: hence `:path` below

router = APIRouter(tags=["tags"], responses=problems(401, 403, 404, 422, 503))


def _family(prefix: str, suffix: str, enter: Callable[[Permission], Enter]) -> None:
    may_read = Annotated[Place, Depends(enter(Permission.LINKS_READ))]
    may_write = Annotated[Place, Depends(enter(Permission.LINKS_WRITE))]

    @router.get(
        prefix,
        summary="List tags",
        operation_id=f"list_tags{suffix}",
        openapi_extra=needs(Permission.LINKS_READ),
    )
    async def list_tags(
        request: Request, place: may_read, page: Annotated[Page, page_by(str)]
    ) -> TagList:
        """Sorted by name, with the number of links that have each tag, including those in the
        trash."""
        found, following = await page.fetch(
            partial(context(request).tagging.list, place.space), lambda it: (it.tag,)
        )
        shown = [TagRead(tag=item.tag, links=item.links) for item in found]
        return TagList(tags=shown, next_cursor=following)

    @router.patch(
        f"{prefix}/{{tag:path}}",
        response_model=TagChange,
        summary="Rename a tag, or merge it into another",
        operation_id=f"rename_tag{suffix}",
        responses=problems(400, 413, 415),
        openapi_extra=described(TagRename) | needs(Permission.LINKS_WRITE),
    )
    async def rename_tag(request: Request, place: may_write, tag: Tag) -> TagChange:
        body = await read_body(request, TagRename)
        return await _rename(request, place, tag, body.tag)

    @router.delete(
        f"{prefix}/{{tag:path}}",
        summary="Remove a tag from all links",
        operation_id=f"delete_tag{suffix}",
        openapi_extra=needs(Permission.LINKS_WRITE),
    )
    async def delete_tag(request: Request, place: may_write, tag: Tag) -> TagChange:
        return await _rename(request, place, tag, None)


async def _rename(request: Request, place: Place, old: str, new: str | None) -> TagChange:
    """Every link that has the tag counts as an item of a bulk request."""
    kurz, account_id = context(request), place.caller.account_id
    if old != new:
        links = await kurz.tagging.count(place.space, old)
        await kurz.limits.check(LimitClass.BULK_ITEMS, str(account_id), max(links, 1))
    return TagChange(links=await kurz.tagging.rename(place.space, old, new, account_id))


_family("/api/v1/tags", "", at_root)
_family("/api/v1/workspaces/{workspace_id}/tags", "_in_workspace", in_workspace)
