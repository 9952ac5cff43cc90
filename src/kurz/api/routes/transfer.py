"""Export and import of links over HTTP, as files that flow through."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from kurz.api.callers import get_caller
from kurz.api.creating import PROBLEMS
from kurz.api.dependencies import context
from kurz.api.downloads import Download
from kurz.api.places import Enter, Place, at_root, in_workspace, place_of, workspace_id_of
from kurz.api.problems import BodyMalformed, MediaTypeUnsupported
from kurz.api.schemas.problems import problems
from kurz.api.schemas.transfer import ImportResult
from kurz.api.security import needs
from kurz.api.uploads import Upload
from kurz.links.imports import (
    MAX_PROBLEMS,
    ImportSlot,
    most_bytes,
    too_many_bytes,
    too_many_rows,
)
from kurz.links.model import Strategy
from kurz.links.transfers import MEDIA_TYPES, OneTarget, RowResult, Summary, Target, TransferFormat
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

_FORMATS = {
    "text/csv": TransferFormat.CSV,
    "application/jsonl": TransferFormat.JSONL,
    "application/x-ndjson": TransferFormat.JSONL,
    "application/x-jsonlines": TransferFormat.JSONL,
}

router = APIRouter(tags=["transfer"], responses=PROBLEMS)


def _family(prefix: str, suffix: str, enter: Callable[[Permission], Enter]) -> None:
    @router.get(
        f"{prefix}/export",
        summary="Export links",
        operation_id=f"export_links{suffix}",
        response_class=StreamingResponse,
        responses={
            200: {
                "content": {
                    "text/csv": {"schema": {"type": "string"}},
                    "application/jsonl": {"schema": {"type": "string"}},
                }
            }
        },
        openapi_extra=needs(Permission.LINKS_READ),
    )
    async def export_links(
        request: Request,
        place: Annotated[Place, Depends(enter(Permission.LINKS_READ))],
        format: TransferFormat = TransferFormat.CSV,  # noqa: A002  the word of the product
        with_trash: bool = False,  # noqa: FBT001, FBT002  a query parameter
    ) -> Response:
        """All links, oldest first, in a file that `import` accepts."""
        workspace = place.workspace
        slugs = {} if workspace is None else {workspace.id: workspace.slug}
        chunks = context(request).exporter.run(format, place.scope, slugs, with_trash=with_trash)
        return Download(
            chunks,
            context(request).downloads,
            place.caller.account_id,
            file_name=f"kurz-links.{format}",
            media_type=MEDIA_TYPES[format],
        )

    @router.post(
        f"{prefix}/import",
        summary="Import links",
        operation_id=f"import_links{suffix}",
        responses=problems(400, 409, 413, 415, 422),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {name: {"schema": {"type": "string"}} for name in _FORMATS},
            }
        }
        | needs(Permission.LINKS_WRITE),
    )
    async def import_links(
        request: Request,
        place: Annotated[Place, Depends(enter(Permission.LINKS_WRITE))],
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
        request.scope["kurz.ends_with_client"] = True
        chosen = _format_of(request, format)
        account_id = place.caller.account_id
        await kurz.limits.check(LimitClass.BULK, str(account_id))
        most = kurz.import_limits.rows_of(await kurz.accounts.get(account_id))
        async with kurz.import_slots.hold(account_id) as slot:
            with Upload() as upload:
                await upload.receive(request, most_bytes(most), too_many_bytes(most))
                place = await _enter_again(request)
                slot.check()
                most = min(most, kurz.import_limits.rows_of(await kurz.accounts.get(account_id)))
                if upload.lines >= most and await kurz.importer.has_more_rows(
                    upload.chunks(), chosen, most
                ):
                    raise too_many_rows(most)
                if not dry_run:
                    cost = kurz.import_limits.cost_of(min(upload.lines, most), most)
                    await kurz.limits.check(LimitClass.BULK_ITEMS, str(account_id), cost)
                batches = kurz.importer.run(
                    upload.chunks(),
                    chosen,
                    OneTarget(_target(request, place)),
                    allowances=place.allowances(kurz),
                    own_hosts=kurz.own_hosts_of(request),
                    is_dry=dry_run,
                    gives_way=True,
                )
                return await _results(request, batches, slot, is_dry=dry_run)


async def _enter_again(request: Request) -> Place:
    """An upload may take hours: what the caller may do is decided when it is there."""
    caller = await get_caller(request)
    return await place_of(request, caller, Permission.LINKS_WRITE, workspace_id_of(request))


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
        if await request.is_disconnected():
            raise BodyMalformed("The client disconnected before all rows were imported.")
    return ImportResult.model_validate(
        {
            "dry_run": is_dry,
            "summary": summary.view(),
            "problems": out,
            "problems_left_out": summary.out - len(out),
        }
    )


def _target(request: Request, place: Place) -> Target:
    kurz = context(request)
    workspace = place.workspace
    return Target(
        workspace_id=place.workspace_id,
        owner_id=place.caller.account_id,
        strategy=kurz.root_strategy if workspace is None else Strategy(workspace.strategy),
        redirect_status=kurz.redirect_status,
    )


def _format_of(request: Request, wanted: TransferFormat | None) -> TransferFormat:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found = wanted or _FORMATS.get(media_type)
    if found is None or "content-encoding" in request.headers:
        raise MediaTypeUnsupported(f"Send the file as {', '.join(_FORMATS)}, uncompressed.")
    return found


_family("/api/v1/links", "", at_root)
_family("/api/v1/workspaces/{workspace_id}/links", "_in_workspace", in_workspace)
