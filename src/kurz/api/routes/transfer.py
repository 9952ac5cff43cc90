"""Export and import of links over HTTP, as streamed files."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from kurz.api.http.bodies import described, read_body
from kurz.api.http.callers import get_caller
from kurz.api.http.dependencies import context, services
from kurz.api.http.downloads import Download
from kurz.api.http.problems import BodyMalformed, MediaTypeUnsupported
from kurz.api.http.spaces import (
    LinkSpace,
    SpacePath,
    at_root_and_in_workspaces,
    require_space,
    workspace_id_of,
)
from kurz.api.http.uploads import Upload
from kurz.api.routes.creating import PROBLEMS
from kurz.api.routes.links import filter_of
from kurz.api.schemas.problems import problems
from kurz.api.schemas.transfer import ExportSelection, ImportResult
from kurz.asgi import ENDS_WITH_CLIENT, HAS_CLIENT_LEFT
from kurz.links import listing
from kurz.links.imports import (
    MAX_PROBLEMS,
    ImportSlot,
    most_bytes,
    too_many_bytes,
    too_many_rows,
)
from kurz.links.model import Filter, Strategy
from kurz.links.transfers import (
    MEDIA_TYPES,
    ImportTarget,
    OneTarget,
    RowResult,
    Summary,
    TransferFormat,
)
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

_FORMATS = {
    "text/csv": TransferFormat.CSV,
    "application/jsonl": TransferFormat.JSONL,
    "application/x-ndjson": TransferFormat.JSONL,
    "application/x-jsonlines": TransferFormat.JSONL,
}

_FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/jsonl": {"schema": {"type": "string"}},
        }
    }
}

router = APIRouter(tags=["transfer"], responses=PROBLEMS)


@at_root_and_in_workspaces
def _add_exports(at: SpacePath) -> None:
    may_read = Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_READ))]

    @router.get(
        f"{at.prefix}/links/export",
        summary="Export links",
        response_class=StreamingResponse,
        responses=_FILE,
    )
    async def export_links(
        request: Request,
        space: may_read,
        wanted: Annotated[Filter, Depends(filter_of)],
        format: TransferFormat = TransferFormat.CSV,  # noqa: A002  the word of the product
        with_trash: bool = False,  # noqa: FBT001, FBT002  a query parameter
    ) -> Response:
        """All links that match, oldest first, in a file that `import` accepts."""
        listing.check(wanted)
        matching = None if wanted == Filter() else wanted
        return _download(request, space, format, with_trash=with_trash, wanted=matching)

    @router.post(
        f"{at.prefix}/links/export",
        summary="Export selected links",
        response_class=StreamingResponse,
        responses=_FILE | problems(400, 413, 415, 422),
        openapi_extra=described(ExportSelection),
    )
    async def export_selected_links(
        request: Request,
        space: may_read,
        format: TransferFormat = TransferFormat.CSV,  # noqa: A002  as above
        with_trash: bool = False,  # noqa: FBT001, FBT002  as above
    ) -> Response:
        """Up to 1000 links by their IDs, oldest first. IDs of links that you cannot read are
        skipped."""
        body = await read_body(request, ExportSelection)
        link_ids = services(request).links.row_ids(body.ids)
        return _download(request, space, format, with_trash=with_trash, link_ids=link_ids)


@at_root_and_in_workspaces
def _add_import(at: SpacePath) -> None:
    @router.post(
        f"{at.prefix}/links/import",
        summary="Import links",
        responses=problems(400, 409, 413, 415, 422),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {name: {"schema": {"type": "string"}} for name in _FORMATS},
            }
        },
    )
    async def import_links(
        request: Request,
        space: Annotated[LinkSpace, Depends(at.enter(Permission.LINKS_WRITE))],
        format: Annotated[  # noqa: A002  the word of the product
            TransferFormat | None, Query(description="By default, the type of the body decides.")
        ] = None,
        dry_run: bool = False,  # noqa: FBT001, FBT002  a query parameter
    ) -> ImportResult:
        """Answers when all rows are processed, with the number of rows per outcome and the first
        rows that were not imported. Codes, dates and counts are kept. Importing the same file again
        creates no duplicates. A dry run writes nothing. A file can have at most `import_row_limit`
        rows (see `/api/v1/me`). An account can run one import at a time."""
        kurz = context(request)
        request.scope[ENDS_WITH_CLIENT] = True
        chosen = _format_of(request, format)
        account_id = space.caller.account_id
        await kurz.limits.check(LimitClass.BULK, str(account_id))
        most = kurz.imports.limits.rows_of(await kurz.services.accounts.get(account_id))
        async with kurz.imports.slots.hold(account_id) as slot:
            with Upload() as upload:
                await upload.receive(request, most_bytes(most), too_many_bytes(most))
                space = await _enter_again(request)
                slot.check()
                most = min(
                    most, kurz.imports.limits.rows_of(await kurz.services.accounts.get(account_id))
                )
                if upload.lines >= most and await kurz.services.importer.has_more_rows(
                    upload.chunks(), chosen, most
                ):
                    raise too_many_rows(most)
                # Dry runs count, too: they say which codes are taken.
                cost = kurz.imports.limits.cost_of(min(upload.lines, most), most)
                await kurz.limits.check(LimitClass.BULK_ITEMS, str(account_id), cost)
                batches = kurz.services.importer.run(
                    upload.chunks(),
                    chosen,
                    OneTarget(_target(request, space)),
                    allowances=space.allowances(kurz),
                    own_hosts=kurz.own_hosts_of(request),
                    is_dry=dry_run,
                    gives_way=True,
                )
                return await _results(request, batches, slot, is_dry=dry_run)


def _download(
    request: Request,
    space: LinkSpace,
    format: TransferFormat,  # noqa: A002  as above
    **which: Any,
) -> Response:
    workspace = space.workspace
    slugs = {} if workspace is None else {workspace.id: workspace.slug}
    return Download(
        services(request).exporter.run(format, space.scope, slugs, **which),
        context(request).downloads,
        space.caller.account_id,
        file_name=f"kurz-links.{format}",
        media_type=MEDIA_TYPES[format],
    )


async def _enter_again(request: Request) -> LinkSpace:
    """An upload may take hours: the caller's permissions are checked when it is complete."""
    caller = await get_caller(request)
    return await require_space(request, caller, Permission.LINKS_WRITE, workspace_id_of(request))


async def _results(
    request: Request, batches: AsyncIterator[list[RowResult]], slot: ImportSlot, *, is_dry: bool
) -> ImportResult:
    """Stops when the client has disconnected, or the slot is lost."""
    summary = Summary()
    out: list[dict[str, Any]] = []
    async for batch in batches:
        summary.add(batch)
        if not all(result.is_in for result in batch):
            room = MAX_PROBLEMS - len(out)
            out += [result.view() for result in batch if not result.is_in][:room]
        slot.check()
        if request.scope.get(HAS_CLIENT_LEFT) or await request.is_disconnected():
            raise BodyMalformed("The client disconnected before all rows were imported.")
    return ImportResult.model_validate(
        {
            "dry_run": is_dry,
            "summary": summary.view(),
            "problems": out,
            "problems_left_out": summary.out - len(out),
        }
    )


def _target(request: Request, space: LinkSpace) -> ImportTarget:
    kurz = context(request)
    workspace = space.workspace
    return ImportTarget(
        workspace_id=space.workspace_id,
        owner_id=space.caller.account_id,
        strategy=kurz.options.root_strategy if workspace is None else Strategy(workspace.strategy),
        redirect_status=kurz.options.redirect_status,
    )


def _format_of(request: Request, wanted: TransferFormat | None) -> TransferFormat:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found = wanted or _FORMATS.get(media_type)
    if found is None or "content-encoding" in request.headers:
        raise MediaTypeUnsupported(f"Send the file as {', '.join(_FORMATS)}, uncompressed.")
    return found
