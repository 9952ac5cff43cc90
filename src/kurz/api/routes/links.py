"""`/api/v1/links` and `/api/v1/workspaces/{id}/links`: the same operations, on the caller's own
links and on a workspace's."""

import re
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from pydantic import AwareDatetime
from pydantic_core import to_json
from starlette.responses import Response

from kurz.api.http.bodies import read_body, read_edit, takes
from kurz.api.http.dependencies import context, services
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.problems import refusal, status_of
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.spaces import LinkSpace, SpacePath, at_root_and_in_workspaces, view_at, views
from kurz.api.schemas.links import (
    CodeAvailability,
    LinkEdit,
    LinkHistory,
    LinkList,
    LinkRead,
    LinkRestore,
    QrQuery,
)
from kurz.api.schemas.problems import Problem, problems
from kurz.errors import problem
from kurz.links import qr
from kurz.links.errors import InstantRefused
from kurz.links.model import DestinationStatus, Edit, Filter, Link, Sort, Status
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

LinkId = Annotated[int, Path(ge=0, lt=2**53)]
IfMatch = Annotated[str | None, Header(description="The `ETag` you last received.")]
CLEARABLE = ("starts_at", "expires_at", "title", "tags", "notes", "max_clicks")
MAX_SECONDS = 36_500 * 86_400
_ETAG = re.compile(r'(?:W/)?"([0-9]{1,18})"')

router = APIRouter(tags=["links"], responses=problems(401, 403, 404, 422, 503))


async def filter_of(
    search: Annotated[
        str | None, Query(description="Part of the code, URL or title; at least 3 characters.")
    ] = None,
    status: Status | None = None,
    tag: str | None = None,
    owner_id: Annotated[int | None, Query(ge=1, lt=2**53)] = None,
    destination_status: DestinationStatus | None = None,
    created_from: AwareDatetime | None = None,
    created_before: AwareDatetime | None = None,
) -> Filter:
    """Which links a list or an export has."""
    return Filter(
        search=search,
        status=status,
        tag=tag,
        owner_id=owner_id,
        destination_status=destination_status,
        created_from=created_from,
        created_before=created_before,
    )


@at_root_and_in_workspaces
def _add_reads(at: SpacePath) -> None:
    may_read = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_READ))]
    may_create = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_CREATE))]

    @router.get(
        f"{at.prefix}/links",
        summary=f"List {at.whose} links",
        response_model=LinkList,
    )
    async def list_links(
        request: Request,
        space: may_read,
        wanted: Annotated[Filter, Depends(filter_of)],
        sort: Sort = Sort.CREATED_DOWN,
        cursor: Annotated[str | None, Query(max_length=500)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> Response:
        """Links in the trash are only listed with `status=DELETED`."""
        return await _list(request, space, replace(wanted, sort=sort), cursor, limit)

    @router.get(
        f"{at.prefix}/links/availability",
        summary="Check whether a code is available",
        responses=problems(429),
    )
    async def get_availability(
        request: Request,
        space: may_create,
        code: Annotated[str, Query(description="The `custom_code` to check.")],
    ) -> CodeAvailability:
        """Uses the same rules as creating a link. It does not reserve the code: someone else may
        take it first."""
        return await _look(request, space, code)

    @router.get(
        f"{at.prefix}/links/{{link_id}}",
        summary="Get a link",
        response_model=LinkRead,
    )
    async def get_link(request: Request, space: may_read, link_id: LinkId) -> Response:
        link = await services(request).links.get(link_id, space.scope)
        return await _shown(request, link, space)


@at_root_and_in_workspaces
def _add_changes(at: SpacePath) -> None:
    may_write = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_WRITE))]

    @router.patch(
        f"{at.prefix}/links/{{link_id}}",
        summary="Change a link",
        response_model=LinkRead,
        **takes(LinkEdit, 409, 410, 412),
    )
    async def edit_link(
        request: Request,
        space: may_write,
        link_id: LinkId,
        if_match: IfMatch = None,
    ) -> Response:
        changes = await read_edit(request, LinkEdit, *CLEARABLE)
        link = await edit(request, space, link_id, changes, version_of(if_match))
        return await _shown(request, link, space)

    @router.delete(
        f"{at.prefix}/links/{{link_id}}",
        status_code=204,
        summary="Move a link to the trash",
        responses=problems(409, 410, 412),
    )
    async def delete_link(
        request: Request,
        space: may_write,
        link_id: LinkId,
        if_match: IfMatch = None,
    ) -> Response:
        """It can be restored."""
        await delete(request, space, link_id, version_of(if_match))
        return Response(status_code=204)

    @router.post(
        f"{at.prefix}/links/{{link_id}}/restore",
        summary="Restore an expired or deleted link",
        response_model=LinkRead,
        **takes(LinkRestore, 409, 410, 412, is_required=False),
    )
    async def restore_link(
        request: Request,
        space: may_write,
        link_id: LinkId,
        if_match: IfMatch = None,
    ) -> Response:
        has_body = bool(await request.body())
        body = await read_body(request, LinkRestore) if has_body else LinkRestore(expires_at=None)
        link = await services(request).links.restore(
            link_id,
            space.scope,
            expires_at=body.expires_at,
            expected_version=version_of(if_match),
            account_id=space.caller.account_id,
        )
        return await _shown(request, link, space)


@at_root_and_in_workspaces
def _add_details(at: SpacePath) -> None:
    may_read = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_READ))]

    @router.get(
        f"{at.prefix}/links/{{link_id}}/history",
        summary="Get a link's history",
    )
    async def get_link_history(
        request: Request,
        space: may_read,
        link_id: LinkId,
        page: Annotated[PageRequest, page_by(int)],
    ) -> LinkHistory:
        """Newest first."""
        entries, following = await page.fetch(
            partial(services(request).links.history, link_id, space.scope),
            lambda it: (it.version,),
        )
        found = {"history": entries, "next_cursor": following}
        return LinkHistory.model_validate(found, from_attributes=True)

    @router.get(
        f"{at.prefix}/links/{{link_id}}/qr",
        summary="Get a link's QR code",
        response_class=Response,
        responses={
            200: {
                "content": {
                    "image/svg+xml": {"schema": {"type": "string"}},
                    "image/png": {"schema": {"type": "string", "format": "binary"}},
                }
            }
        },
    )
    async def get_link_qr(
        request: Request,
        space: may_read,
        link_id: LinkId,
        style: Annotated[QrQuery, Query()],
    ) -> Response:
        link = await services(request).links.get(link_id, space.scope)
        shown = await view_at(request, link, space)
        image = qr.render(shown["short_url"], **style.model_dump())
        media_type = "image/svg+xml" if style.format == "svg" else "image/png"
        return Response(image, media_type=media_type)


async def _look(request: Request, space: LinkSpace, code: str) -> CodeAvailability:
    kurz = context(request)
    await kurz.limits.check(LimitClass.AVAILABILITY, str(space.caller.account_id))
    found = await kurz.services.availability.look(code, space.scope)
    error, holder = found.problem, found.holder
    refused = None if error is None else problem(error, status_of(type(error)))
    return CodeAvailability(
        code=code,
        is_free=error is None,
        problem=None if refused is None else Problem.model_validate(refused),
        link_id=None if holder is None else kurz.services.links.public_id(holder),
        short_url=await kurz.prefix(request, space.workspace) + code if error is None else None,
    )


async def _list(
    request: Request, space: LinkSpace, wanted: Filter, cursor: str | None, limit: int
) -> Response:
    page = await services(request).links.list(space.scope, wanted, cursor=cursor, limit=limit)
    body = {
        "links": await views(request, page.links, space),
        "total": page.total,
        "is_total_exact": page.is_total_exact,
        "is_complete": page.is_complete,
        "next_cursor": page.next_cursor,
    }
    return ApiAnswer(200, to_json(body)).respond()


async def _shown(request: Request, link: Link, space: LinkSpace) -> Response:
    body = to_json(await view_at(request, link, space))
    return ApiAnswer(200, body, {"etag": f'"{link.version}"'}).respond()


async def edit(
    request: Request, space: LinkSpace, link_id: int, changes: dict[str, Any], version: int | None
) -> Link:
    kurz = context(request)
    if "tags" in changes:
        changes["tags"] = tuple(changes["tags"] or ())
    seconds = changes.pop("expires_in", None)
    if seconds is not None:
        if "expires_at" in changes or not 1 <= seconds <= MAX_SECONDS:
            raise InstantRefused(
                f"`expires_in` must be a number of seconds from 1 to {MAX_SECONDS}. It cannot"
                " be combined with `expires_at`.",
                field="expires_in",
            )
        changes["expires_at"] = kurz.services.clock.now() + timedelta(seconds=seconds)
    return await kurz.services.links.edit(
        link_id,
        space.scope,
        cast("Edit", changes),
        expected_version=version,
        own_hosts=kurz.own_hosts_of(request),
        account_id=space.caller.account_id,
    )


async def delete(request: Request, space: LinkSpace, link_id: int, version: int | None) -> Link:
    return await services(request).links.delete(
        link_id,
        space.scope,
        expected_version=version,
        account_id=space.caller.account_id,
    )


def version_of(if_match: str | None) -> int | None:
    """The version in `If-Match`; None: any version."""
    if if_match is None or if_match.strip() == "*":
        return None
    match = _ETAG.fullmatch(if_match.strip())
    if match is None:
        message = "Input should be the ETag of the link, exactly as received"
        raise refusal([{"type": "etag", "loc": ("if-match",), "msg": message}])
    return int(match[1])
