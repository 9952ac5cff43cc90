"""Custom domains of workspaces, and what a proxy asks before it gets a certificate."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from kurz.api.bodies import described, read_body
from kurz.api.callers import get_caller
from kurz.api.dependencies import Context, context
from kurz.api.pages import Page, page_by
from kurz.api.responses import Answer
from kurz.api.schemas.people import DomainAllowed, DomainCreate, DomainList, DomainRead
from kurz.api.schemas.problems import problems
from kurz.api.security import needs, nobody, owner
from kurz.api.workspaces import WorkspaceId
from kurz.people.access import Permission
from kurz.people.custom_domains import Domain
from kurz.people.errors import DomainNotFound
from kurz.people.limits import LimitClass
from kurz.people.receipts import Receipt

router = APIRouter(prefix="/api/v1", tags=["domains"], responses=problems(503))

Host = Annotated[str, Path(max_length=253)]


@router.get(
    "/domains/allowed",
    summary="Check whether a proxy can get a certificate for a domain",
    operation_id="is_domain_allowed",
    responses=problems(404, 422),
    openapi_extra=nobody(),
)
async def is_domain_allowed(
    request: Request, domain: Annotated[str, Query(max_length=253)]
) -> DomainAllowed:
    """Answers 200 for a verified domain and 404 for any other, as Caddy's `on_demand_tls`
    expects."""
    if not await context(request).custom_domains.is_allowed(domain):
        raise DomainNotFound("kurz does not serve this domain.")
    return DomainAllowed(host=domain, is_allowed=True)


@router.get(
    "/workspaces/{workspace_id}/domains",
    summary="List a workspace's domains",
    operation_id="list_domains",
    responses=problems(401, 403, 404, 422),
    openapi_extra=needs(Permission.LINKS_READ),
)
async def list_domains(
    request: Request, workspace_id: WorkspaceId, page: Annotated[Page, page_by(str)]
) -> DomainList:
    """Sorted by name."""
    kurz = context(request)
    await kurz.teams.enter(await get_caller(request), workspace_id, Permission.LINKS_READ)
    found, following = await page.fetch(
        partial(kurz.custom_domains.list, workspace_id), lambda it: (it.host,)
    )
    return DomainList(domains=[_read(kurz, item) for item in found], next_cursor=following)


@router.post(
    "/workspaces/{workspace_id}/domains",
    status_code=201,
    response_model=DomainRead,
    summary="Add a domain",
    operation_id="add_domain",
    responses=problems(400, 401, 403, 404, 409, 413, 415, 422),
    openapi_extra=described(DomainCreate) | owner(),
)
async def add_domain(request: Request, workspace_id: WorkspaceId) -> Response:
    """The answer contains the TXT record that proves you own the domain."""
    kurz = context(request)
    caller = await get_caller(request)
    await kurz.teams.own(caller, workspace_id)
    body = await read_body(request, DomainCreate)

    async def act(receipt: Receipt | None) -> Domain:
        return await kurz.custom_domains.add(
            workspace_id, body.host, receipt, at_most=kurz.caps.domains
        )

    def render(made: Domain) -> Answer:
        return Answer(201, _read(kurz, made).model_dump_json().encode())

    return (await kurz.receipts.once(request, caller.name, act, render)).respond()


@router.post(
    "/workspaces/{workspace_id}/domains/{host}/verify",
    summary="Verify a domain",
    operation_id="verify_domain",
    responses=problems(401, 403, 404, 409, 422),
    openapi_extra=owner(),
)
async def verify_domain(request: Request, workspace_id: WorkspaceId, host: Host) -> DomainRead:
    """Looks up the TXT record. Activates the domain if the record is found, and deactivates it if
    not."""
    kurz = context(request)
    caller = await get_caller(request)
    await kurz.teams.own(caller, workspace_id)
    await kurz.limits.check(LimitClass.VERIFY, str(caller.account_id))
    return _read(kurz, await kurz.custom_domains.verify(workspace_id, host))


@router.delete(
    "/workspaces/{workspace_id}/domains/{host}",
    status_code=204,
    summary="Remove a domain",
    operation_id="remove_domain",
    responses=problems(401, 403, 404, 422),
    openapi_extra=owner(),
)
async def remove_domain(request: Request, workspace_id: WorkspaceId, host: Host) -> Response:
    """The domain stops working immediately. Other workspaces can add it after 30 days."""
    kurz = context(request)
    await kurz.teams.own(await get_caller(request), workspace_id)
    await kurz.custom_domains.remove(workspace_id, host)
    return Response(status_code=204)


def _read(kurz: Context, domain: Domain) -> DomainRead:
    record = kurz.custom_domains.instructions(domain)
    return DomainRead(
        host=domain.host,
        is_verified=domain.is_active,
        verified_at=domain.verified_at if domain.is_active else None,
        checked_at=domain.checked_at,
        missing_since=domain.missing_since,
        created_at=domain.created_at,
        record_name=record.name,
        record_value=record.value,
    )
