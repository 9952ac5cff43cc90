"""Export and import of links over HTTP, as files that flow through."""

import tempfile
from collections.abc import AsyncIterator, Callable
from typing import IO, Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from kurz.api.creating import PROBLEMS
from kurz.api.dependencies import context
from kurz.api.places import Enter, Place, at_root, in_workspace
from kurz.api.problems import BodyMalformed, MediaTypeUnsupported
from kurz.api.security import needs
from kurz.links.model import Strategy
from kurz.links.transfers import MEDIA_TYPES, Format, OneTarget, Summary, Target
from kurz.people.access import Permission
from kurz.people.limits import LimitClass

# Results wait here until the whole file was read: a client that sends first and reads then would
# wait for us while we wait for it.
MEMORY_BYTES = 1024 * 1024
CHUNK_BYTES = 64 * 1024
_FORMATS = {
    "text/csv": Format.CSV,
    "application/jsonl": Format.JSONL,
    "application/x-ndjson": Format.JSONL,
    "application/x-jsonlines": Format.JSONL,
}
_LINES = "application/x-ndjson"

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
        format: Format = Format.CSV,  # noqa: A002  the word of the product
        with_trash: bool = False,  # noqa: FBT001, FBT002  a query parameter
    ) -> Response:
        """All of them, oldest first, as a file that `import` takes."""
        workspace = place.workspace
        slugs = {} if workspace is None else {workspace.id: workspace.slug}
        chunks = context(request).exporter.run(format, place.scope, slugs, with_trash=with_trash)
        headers = {
            "cache-control": "no-store",
            "content-disposition": f'attachment; filename="kurz-links.{format}"',
        }
        return StreamingResponse(chunks, media_type=MEDIA_TYPES[format], headers=headers)

    @router.post(
        f"{prefix}/import",
        summary="Import links",
        operation_id=f"import_links{suffix}",
        response_class=StreamingResponse,
        responses={200: {"content": {_LINES: {"schema": {"type": "string"}}}}},
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
            Format | None, Query(description="Else the type of the body tells.")
        ] = None,
        dry_run: bool = False,  # noqa: FBT001, FBT002  a query parameter
    ) -> Response:
        """Answers with a line of JSON for each row, and a last one with the `summary`. Codes, dates
        and counts are kept. Running it again doubles nothing. A dry run writes nothing."""
        kurz = context(request)
        chosen = _format_of(request, format)
        await kurz.limits.check(LimitClass.BULK, str(place.caller.account_id))
        batches = kurz.importer.run(
            _body(request),
            chosen,
            OneTarget(_target(request, place)),
            allowances=place.allowances(kurz),
            own_hosts=kurz.own_hosts_of(request),
            is_dry=dry_run,
        )
        results = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115  `_lines` closes it
        summary = Summary()
        try:
            async for batch in batches:
                summary.add(batch)
                results.write(b"".join(to_json(result.view()) + b"\n" for result in batch))
        except BaseException:
            results.close()
            raise
        results.write(to_json({"summary": summary.view()}) + b"\n")
        headers = {"cache-control": "no-store"}
        return StreamingResponse(_lines(results), media_type=_LINES, headers=headers)


def _target(request: Request, place: Place) -> Target:
    kurz = context(request)
    workspace = place.workspace
    return Target(
        workspace_id=place.workspace_id,
        owner_id=place.caller.account_id,
        strategy=kurz.root_strategy if workspace is None else Strategy(workspace.strategy),
        redirect_status=kurz.redirect_status,
    )


def _format_of(request: Request, wanted: Format | None) -> Format:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found = wanted or _FORMATS.get(media_type)
    if found is None or "content-encoding" in request.headers:
        raise MediaTypeUnsupported(f"Send the file as {', '.join(_FORMATS)}, uncompressed.")
    return found


async def _body(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise BodyMalformed("The file ended before it was whole.") from None


async def _lines(results: IO[bytes]) -> AsyncIterator[bytes]:
    with results:
        results.seek(0)
        while chunk := results.read(CHUNK_BYTES):
            yield chunk


_family("/api/v1/links", "", at_root)
_family("/api/v1/workspaces/{workspace_id}/links", "_in_workspace", in_workspace)
