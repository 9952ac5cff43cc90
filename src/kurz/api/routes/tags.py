"""Tags: list, rename, merge and remove them."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from kurz.api.http.bodies import read_body, takes
from kurz.api.http.dependencies import context, services
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.spaces import LinkSpace, SpacePath, at_root_and_in_workspaces
from kurz.api.schemas.links import TagChange, TagList, TagRead, TagRename
from kurz.api.schemas.problems import problems
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

Tag = Annotated[str, Path(max_length=200)]  # it may contain slashes: hence `:path` below

router = APIRouter(tags=["tags"], responses=problems(401, 403, 404, 422, 503))


@at_root_and_in_workspaces
def _add_routes(at: SpacePath) -> None:
    may_read = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_READ))]
    may_write = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_WRITE))]

    @router.get(
        f"{at.prefix}/tags",
        summary="List tags",
    )
    async def list_tags(
        request: Request, space: may_read, page: Annotated[PageRequest, page_by(str)]
    ) -> TagList:
        """Sorted by name, with the number of links that have each tag, including those in the
        trash. Up to 1,000 links of each tag are counted; `is_exact` is false if there are more."""
        found, following = await page.fetch(
            partial(services(request).tagging.list, space.list_id), lambda it: (it.tag,)
        )
        shown = [TagRead(tag=item.tag, links=item.links, is_exact=item.is_exact) for item in found]
        return TagList(tags=shown, next_cursor=following)

    @router.patch(
        f"{at.prefix}/tags/{{tag:path}}",
        summary="Rename a tag, or merge it into another",
        **takes(TagRename),
    )
    async def rename_tag(request: Request, space: may_write, tag: Tag) -> TagChange:
        body = await read_body(request, TagRename)
        return await _rename(request, space, tag, body.tag)

    @router.delete(
        f"{at.prefix}/tags/{{tag:path}}",
        summary="Remove a tag from all links",
    )
    async def delete_tag(request: Request, space: may_write, tag: Tag) -> TagChange:
        return await _rename(request, space, tag, None)


async def _rename(request: Request, space: LinkSpace, old: str, new: str | None) -> TagChange:
    """Every link that has the tag counts as an item of a bulk request."""
    kurz, account_id = context(request), space.caller.account_id
    if old != new:
        links = await kurz.services.tagging.count(space.list_id, old)
        await kurz.limits.check(LimitClass.BULK_ITEMS, str(account_id), max(links, 1))
    return TagChange(links=await kurz.services.tagging.rename(space.list_id, old, new, account_id))
