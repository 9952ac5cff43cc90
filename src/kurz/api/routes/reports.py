"""`/api/v1/reports`: anyone reports a link that is abused, administrators decide."""

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from kurz import asgi
from kurz.api.http.administrators import ADMINS, ActingAdmin
from kurz.api.http.bodies import described, read_body, takes
from kurz.api.http.cursors import read_cursor, write_cursor
from kurz.api.http.dependencies import Context, client_of, context
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import nobody
from kurz.api.schemas.problems import problems
from kurz.api.schemas.safety import (
    ReportCreate,
    ReportDecision,
    ReportList,
    ReportRead,
    ReportReceived,
)
from kurz.links import lifecycle
from kurz.links.errors import LinkBanned, LinkExhausted, LinkExpired, LinkNotFound
from kurz.links.lifecycle import Outcome
from kurz.links.model import ROOT_WORKSPACE_ID, Link
from kurz.people.limits import LimitClass, header_fields
from kurz.people.workspaces import is_slug
from kurz.safety.abuse_reporting import not_here
from kurz.safety.abuse_reports import AbuseReport, ReportState, read_complaint

router = APIRouter(prefix="/api/v1/reports", tags=["reports"], responses=problems(503))

ReportId = Annotated[int, Path(ge=1, lt=2**53)]


@router.post(
    "",
    status_code=202,
    response_model=ReportReceived,
    summary="Report a link",
    responses=problems(400, 404, 410, 413, 415, 422, 429),
    openapi_extra=described(ReportCreate) | nobody(),
)
async def create_report(request: Request) -> Response:
    """No account needed. Limited to 5 reports an hour. Reporting the same link again has no effect
    and returns the same answer. The reporter's IP address is not stored."""
    kurz = context(request)
    body = await read_body(request, ReportCreate)
    complaint = read_complaint(body.category, body.message, body.contact)
    verdict = await kurz.limit_by_address(request, LimitClass.REPORT)
    link, short_url = await _find(request, kurz, body.short_url)
    await kurz.services.abuse.take(link, short_url, complaint, client_of(request))
    received = ReportReceived().model_dump_json().encode()
    return ApiAnswer(202, received, header_fields(verdict)).respond()


@router.get(
    "",
    summary="List abuse reports",
    responses=problems(401, 403, 422),
    dependencies=ADMINS,
)
async def list_reports(
    request: Request,
    state: ReportState = ReportState.OPEN,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ReportList:
    """Open reports are sorted oldest first, decided ones newest first."""
    kurz = context(request)
    found, total = await kurz.services.abuse.page(state, after=read_cursor(cursor), limit=limit)
    end = found[-1] if len(found) == limit else None
    return ReportList(
        reports=[_report_read(kurz, report) for report in found],
        total=total,
        next_cursor=None if end is None else write_cursor(end.reported_at, end.id),
    )


@router.get(
    "/{report_id}",
    summary="Get an abuse report",
    responses=problems(401, 403, 404, 422),
    dependencies=ADMINS,
)
async def get_report(request: Request, report_id: ReportId) -> ReportRead:
    kurz = context(request)
    return _report_read(kurz, await kurz.services.abuse.get(report_id))


@router.patch(
    "/{report_id}",
    summary="Decide an abuse report",
    **takes(ReportDecision, 401, 403, 404, 409),
)
async def decide_report(request: Request, actor: ActingAdmin, report_id: ReportId) -> ReportRead:
    """Upholding a report bans the link and closes all its open reports. A decision cannot be
    changed: 409 `report-decided`. You can still unban the link."""
    kurz = context(request)
    body = await read_body(request, ReportDecision)
    if body.state == "upheld":
        report = await kurz.services.abuse.uphold(
            report_id, body.note, actor, bans_host=body.bans_host
        )
    else:
        report = await kurz.services.abuse.dismiss(report_id, body.note, actor)
    return _report_read(kurz, report)


async def _find(request: Request, kurz: Context, reference: str) -> tuple[Link, str]:
    """The link, and its short URL. A link that does not redirect gives the same error as a
    visit."""
    try:
        parts = urlsplit(reference) if "://" in reference else None
    except ValueError:
        raise not_here() from None
    path = (parts.path if parts else reference).strip("/").removesuffix("+")
    slug, _, code = path.rpartition("/")
    workspace_id = await _workspace_of(request, kurz, parts.netloc.lower() if parts else "", slug)
    if workspace_id is None:
        raise not_here()
    try:
        link = await kurz.services.links.get_by_code(workspace_id, code)
    except LinkNotFound:
        raise not_here() from None
    outcome = lifecycle.outcome(link, kurz.services.clock.now())
    if outcome is Outcome.MISSING:
        raise not_here()
    if outcome in _GONE:
        raise _GONE[outcome]("This link was taken down.")
    workspace = await kurz.services.workspaces.find(workspace_id) if workspace_id else None
    return link, await kurz.prefix(request, workspace) + link.short_code


_GONE = {
    Outcome.EXPIRED: LinkExpired,
    Outcome.EXHAUSTED: LinkExhausted,
    Outcome.BANNED: LinkBanned,
}


async def _workspace_of(request: Request, kurz: Context, host: str, slug: str) -> int | None:
    """None: there are no links here."""
    if slug:
        name = slug.removeprefix("@").lower()
        is_possible = name != slug.lower() and is_slug(name)
        found = await kurz.services.workspaces.find_by_slug(name) if is_possible else None
        workspace_id = None if found is None or found.deleted_at is not None else found.id
    else:
        workspace_id = kurz.options.root_workspace_id or ROOT_WORKSPACE_ID
    own = urlsplit(kurz.origin(request)).netloc
    if not host or host in (own, asgi.host_of(request.scope)):
        return workspace_id
    site = (await kurz.services.domains.sites()).get(host)
    return None if site is None or slug else site.workspace_id


def _report_read(kurz: Context, report: AbuseReport) -> ReportRead:
    fields = {name: getattr(report, name) for name in ReportRead.model_fields}
    return ReportRead(**fields | {"link_id": kurz.services.links.public_row_id(report.link_id)})
