"""`/api/urls`, `/api/auth` and `/api/stats`: the same links and people in camelCase."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kurz.api.http.bodies import described, read_body
from kurz.api.http.callers import get_caller, get_creator
from kurz.api.http.dependencies import context, services
from kurz.api.http.devices import asker_of, check_credentials
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import needs, nobody
from kurz.api.http.spaces import LinkSpace, root_space, views
from kurz.api.routes.claims import ClaimingSpace, claim_all
from kurz.api.routes.creating import LinkCreator, create_once, find_creator
from kurz.api.routes.links import LinkId, delete
from kurz.api.schemas.base import Body
from kurz.api.schemas.links import ClaimItem, LinkCreate
from kurz.api.schemas.problems import problems
from kurz.errors import renamed
from kurz.links.model import Created, Filter, LinkType, Status
from kurz.people.access import Permission
from kurz.people.accounts import Account
from kurz.people.limits import LimitClass

PAGE = 1000


class _Camel(Body):
    """Unknown fields are ignored here: clients send back whole entries as they received them."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="ignore")


class UrlCreate(_Camel):
    original_url: str


class UrlRead(_Camel):
    """A link. If it was created without an account, it has a `claimToken`, which is shown once."""

    id: int
    original_url: str
    short_code: str
    short_url: str
    link_type: LinkType
    status: Status
    created_at: AwareDatetime
    expires_at: AwareDatetime | None
    redirect_count: int
    avg_redirect_ms: float | None
    destination_status: int | None
    last_checked_at: AwareDatetime | None
    claim_token: str | None = None


class UrlSyncItem(_Camel):
    """An entry as `/api/urls/public` returned it, or a part of it with the URL, or only the URL."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: _also(schema, {"type": "string", "title": "URL"})
    )

    original_url: str
    short_code: str | None = None
    claim_token: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, given: object) -> object:
        return {"originalUrl": given} if isinstance(given, str) else given


class UrlSync(_Camel):
    """The entries that a browser has stored: a list, or an object with the list as `urls`."""

    model_config = ConfigDict(
        json_schema_extra=lambda schema: _also(schema, schema["properties"]["urls"])
    )

    urls: list[UrlSyncItem] = Field(max_length=100)

    @model_validator(mode="before")
    @classmethod
    def _read_list(cls, given: object) -> object:
        return {"urls": given} if isinstance(given, list) else given


def _also(schema: dict[str, Any], alternative: dict[str, Any]) -> None:
    """Describes a model that can be sent in another form, too."""
    main = {name: schema.pop(name) for name in ("type", "properties", "required")}
    schema["anyOf"] = [main, alternative]


class Login(_Camel):
    email: str = Field(max_length=1024)
    password: str


class LoginRead(_Camel):
    token: str
    email: str
    expires_at: AwareDatetime


class GlobalStats(_Camel):
    """`totalLinks` counts active links."""

    total_links: int
    total_redirects: int
    avg_latency_ms: float | None


router = APIRouter(
    prefix="/api",
    tags=["urls"],
    responses=problems(400, 401, 413, 415, 422, 503),
    generate_unique_id_function=lambda route: route.name,  # also the title of a list
)


@router.post(
    "/urls/public",
    status_code=201,
    response_model=UrlRead,
    summary="Create a temporary link",
    responses=problems(429),
    openapi_extra=described(UrlCreate) | nobody(),
)
async def create_public_url(request: Request) -> Response:
    """No account needed. The link expires after 8 hours."""
    return await _create(request, await find_creator(request, None, None))


@router.post(
    "/urls",
    status_code=201,
    response_model=UrlRead,
    summary="Create a permanent link",
    responses=problems(403, 429),
    openapi_extra=described(UrlCreate) | needs(Permission.LINKS_CREATE),
)
async def create_url(request: Request) -> Response:
    return await _create(request, await find_creator(request, await get_creator(request), None))


@router.get(
    "/urls",
    response_model=list[UrlRead],
    summary="List your links",
    responses=problems(403),
)
async def list_urls(
    request: Request,
    space: Annotated[LinkSpace, Depends(root_space(Permission.LINKS_READ))],
    cursor: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """Newest first, without links in the trash. If there are more than 1000, the `Link` header
    points to the next page."""
    kurz = services(request)
    page = await kurz.links.list(space.scope, Filter(), cursor=cursor, limit=PAGE)
    items = [_read(item) for item in await views(request, page.links, space)]
    body = b"[" + b",".join(items) + b"]"
    answer = ApiAnswer(200, body)
    if page.next_cursor is None:
        return answer.respond()
    return answer.respond(link=f'</api/urls?cursor={page.next_cursor}>; rel="next"')


@router.delete(
    "/urls/{link_id:int}",
    status_code=204,
    summary="Move a link to the trash",
    responses=problems(403, 404, 409, 410),
)
async def delete_url(
    request: Request,
    space: Annotated[LinkSpace, Depends(root_space(Permission.LINKS_WRITE))],
    link_id: LinkId,
) -> Response:
    await delete(request, space, link_id, None)
    return Response(status_code=204)


@router.post(
    "/urls/sync",
    response_model=list[UrlRead],
    summary="Claim links created without an account",
    responses=problems(403, 429),
    openapi_extra=described(UrlSync),
)
async def sync_urls(request: Request, space: ClaimingSpace) -> Response:
    """Send what `/api/urls/public` returned. With its `claimToken`, a link becomes yours; without
    one, a new link is created for the URL. URLs that cannot be shortened are skipped."""
    body = await read_body(request, UrlSync)
    items = [ClaimItem(**item.model_dump(by_alias=False)) for item in body.urls]
    outcomes = await claim_all(request, space, items)
    links = [outcome.created.link for outcome in outcomes if outcome.created is not None]
    shown = [_read(item) for item in await views(request, links, space)]
    return ApiAnswer(200, b"[" + b",".join(shown) + b"]").respond()


@router.get(
    "/stats",
    response_model=GlobalStats,
    summary="Get the totals of the installation",
    openapi_extra=nobody(),
)
async def global_stats(request: Request) -> Response:
    """Public, unless the installation is private or `KURZ_PUBLIC_STATS` is `off`. Numbers can be a
    few seconds old."""
    kurz = context(request)
    if not kurz.options.has_public_stats:
        await get_caller(request)
    totals = await kurz.totals.get()
    stats = GlobalStats(
        total_links=totals.active_links,
        total_redirects=totals.redirects,
        avg_latency_ms=totals.avg_redirect_ms,
    )
    return ApiAnswer(200, stats.model_dump_json(by_alias=True).encode()).respond()


@router.post(
    "/auth/register",
    status_code=201,
    response_model=LoginRead,
    summary="Create an account",
    responses=problems(403, 409, 429),
    openapi_extra=described(Login) | nobody(),
)
async def register_url_user(request: Request) -> Response:
    kurz = context(request)
    body = await read_body(request, Login)
    await kurz.limit_by_address(request, LimitClass.REGISTER)
    return _token(
        request,
        await kurz.services.accounts.register(body.email, body.password, asker=asker_of(request)),
        201,
    )


@router.post(
    "/auth/login",
    response_model=LoginRead,
    summary="Sign in",
    responses=problems(429),
    openapi_extra=described(Login) | nobody(),
)
async def login_url_user(request: Request) -> Response:
    body = await read_body(request, Login)
    return _token(request, await check_credentials(request, body.email, body.password), 200)


async def _create(request: Request, creator: LinkCreator) -> Response:
    body = await read_body(request, UrlCreate)

    def render(created: Created) -> ApiAnswer:
        shown = creator.view(created)
        return ApiAnswer(201, _read(shown), {"location": shown["short_url"]})

    wanted = LinkCreate.model_validate({"original_url": body.original_url})
    with renamed("original_url", "originalUrl"):
        answer = await create_once(request, creator, wanted, render)
    return answer.respond()


def _read(shown: dict[str, Any]) -> bytes:
    fields = {name: shown[name] for name in UrlRead.model_fields if name in shown}
    fields["destination_status"] = shown["destination_http_status"]  # its word for it
    return UrlRead(**fields).model_dump_json(by_alias=True).encode()


def _token(request: Request, account: Account, status: int) -> Response:
    token, expires_at = context(request).sessions.tokens.issue(account.id, account.epoch)
    body = LoginRead(token=token, email=account.email, expires_at=expires_at)
    return ApiAnswer(status, body.model_dump_json(by_alias=True).encode()).respond()
