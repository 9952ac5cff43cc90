"""Custom domains of workspaces, and what a proxy asks before it gets a certificate."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from kurz.api.http.bodies import read_body, takes
from kurz.api.http.dependencies import Context, context
from kurz.api.http.pages import PageRequest, page_by
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import nobody
from kurz.api.http.spaces import MEMBERS, OWNERS, Owner, WorkspaceId
from kurz.api.schemas.people import DomainAllowed, DomainCreate, DomainList, DomainRead
from kurz.api.schemas.problems import problems
from kurz.people.custom_domains import Domain
from kurz.people.errors import DomainNotFound
from kurz.people.limits import LimitClass
from kurz.people.receipts import Receipt

router = APIRouter(prefix="/api/v1", tags=["domains"], responses=problems(503))

Host = Annotated[str, Path(max_length=253)]


@router.get(
    "/domains/allowed",
    summary="Check whether a proxy can get a certificate for a domain",
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
    responses=problems(401, 403, 404, 422),
    dependencies=MEMBERS,
)
async def list_domains(
    request: Request, workspace_id: WorkspaceId, page: Annotated[PageRequest, page_by(str)]
) -> DomainList:
    """Sorted by name."""
    kurz = context(request)
    found, following = await page.fetch(
        partial(kurz.custom_domains.list, workspace_id), lambda it: (it.host,)
    )
    return DomainList(domains=[_read(kurz, item) for item in found], next_cursor=following)


@router.post(
    "/workspaces/{workspace_id}/domains",
    status_code=201,
    response_model=DomainRead,
    summary="Add a domain",
    **takes(DomainCreate, 401, 403, 404, 409),
)
async def add_domain(request: Request, caller: Owner, workspace_id: WorkspaceId) -> Response:
    """The answer contains the TXT record that proves you own the domain."""
    kurz = context(request)
    body = await read_body(request, DomainCreate)

    async def act(receipt: Receipt | None) -> Domain:
        return await kurz.custom_domains.add(
            workspace_id, body.host, receipt, at_most=kurz.options.caps.domains
        )

    def render(made: Domain) -> ApiAnswer:
        return ApiAnswer(201, _read(kurz, made).model_dump_json().encode())

    return (await kurz.receipts.once(request, caller.name, act, render)).respond()


@router.post(
    "/workspaces/{workspace_id}/domains/{host}/verify",
    summary="Verify a domain",
    responses=problems(401, 403, 404, 409, 422),
)
async def verify_domain(
    request: Request, caller: Owner, workspace_id: WorkspaceId, host: Host
) -> DomainRead:
    """Looks up the TXT record. Activates the domain if the record is found, and deactivates it if
    not."""
    kurz = context(request)
    await kurz.limits.check(LimitClass.VERIFY, str(caller.account_id))
    return _read(kurz, await kurz.custom_domains.verify(workspace_id, host))


@router.delete(
    "/workspaces/{workspace_id}/domains/{host}",
    status_code=204,
    summary="Remove a domain",
    responses=problems(401, 403, 404, 422),
    dependencies=OWNERS,
)
async def remove_domain(request: Request, workspace_id: WorkspaceId, host: Host) -> Response:
    """The domain stops working immediately. Other workspaces can add it after 30 days."""
    await context(request).custom_domains.remove(workspace_id, host)
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
