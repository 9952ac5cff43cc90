"""Making links: `POST /api/v1/links`, the same in a workspace, and `POST /` from the shell. What
FastAPI's parameters would cost is spared here: this is the route that is called most."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from kurz.api.bodies import CURL_TYPES, JSON_TYPES, described, read_body, read_text
from kurz.api.callers import find_caller, get_creator
from kurz.api.dependencies import Context, client_of, context
from kurz.api.places import Place, place_of, workspace_id_of
from kurz.api.responses import Answer
from kurz.api.schemas.links import LinkCreate, NewLinkRead
from kurz.api.schemas.problems import problems
from kurz.api.security import needs, optional
from kurz.errors import SignInRequired
from kurz.links.errors import UrlFlaw, UrlRefused
from kurz.links.model import Created, Draft, Strategy
from kurz.links.view import view
from kurz.people.access import Caller, Permission
from kurz.people.limits import LimitClass, Verdict, header_fields
from kurz.people.receipts import Receipt

ANONYMOUS_FIELDS = frozenset({"original_url", "expires_in"})
PROBLEMS = problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 503)
WORKSPACE_PARAMETER = {
    "name": "workspace_id",
    "in": "path",
    "required": True,
    "schema": {"type": "integer", "minimum": 1, "maximum": 2**53 - 1},
}
_EXISTING = "The existing link for this URL."

router = APIRouter(tags=["links"], responses=PROBLEMS)


@router.post(
    "/api/v1/links",
    status_code=201,
    response_model=NewLinkRead,
    summary="Create a link",
    operation_id="create_link",
    openapi_extra=described(LinkCreate) | optional(Permission.LINKS_CREATE),
    responses={200: {"model": NewLinkRead, "description": _EXISTING}},
)
async def create_link(request: Request) -> Response:
    """With an account, the link is permanent and yours. Without an account, it is temporary and has
    a `claim_token`, which is shown once. Sending the same `custom_code` and URL again returns the
    existing link with 200."""
    caller = await find_caller(request)
    if caller is None:
        return await _create_for_stranger(request)
    return await _create_at(request, caller, None)


@router.post(
    "/api/v1/workspaces/{workspace_id}/links",
    status_code=201,
    response_model=NewLinkRead,
    summary="Create a link in a workspace",
    operation_id="create_link_in_workspace",
    openapi_extra=described(LinkCreate)
    | needs(Permission.LINKS_CREATE)
    | {"parameters": [WORKSPACE_PARAMETER]},
    responses={200: {"model": NewLinkRead, "description": _EXISTING}},
)
async def create_link_in_workspace(request: Request) -> Response:
    """By default the code is computed from the URL, so the same URL gets the same link: 200 if it
    exists, 201 if it is new or was restored. The same applies to the same URL with the same
    `custom_code`."""
    return await _create_at(request, await get_creator(request), workspace_id_of(request))


@router.post(
    "/",
    status_code=201,
    response_class=PlainTextResponse,
    summary="Create a link from the shell",
    operation_id="create_link_from_text",
    openapi_extra={
        "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}
    }
    | optional(Permission.LINKS_CREATE),
)
async def create_link_from_text(request: Request) -> Response:
    """Takes a plain URL and returns the short URL, both as text: `curl -d
    https://example.com/a/long/path …`"""
    maker = await find_maker(request, await find_caller(request), None)
    try:
        original_url = (await read_text(request)).decode().strip("\r\n")
    except UnicodeDecodeError:
        raise UrlRefused(UrlFlaw.TEXT, "The URL is not valid UTF-8 text.") from None

    def render(created: Created) -> Answer:
        address = maker.prefix + created.link.short_code
        return Answer(201, f"{address}\n".encode(), {"location": address})

    answer = await make(
        request, maker, LinkCreate.model_validate({"original_url": original_url}), render
    )
    return PlainTextResponse(answer.body, answer.status, answer.headers)


async def _create_for_stranger(request: Request) -> Response:
    context(request).refuse_strangers()
    body = await read_body(request, LinkCreate)
    if extra := sorted(body.model_fields_set - ANONYMOUS_FIELDS):
        names = ", ".join(f"`{name}`" for name in extra)
        raise SignInRequired(
            f"Without an account, a link cannot have {names}. Sign in, or leave it out.",
            errors=[
                {"field": name, "code": SignInRequired.code, "detail": SignInRequired.title}
                for name in extra
            ],
        )
    maker = await find_maker(request, None, None)
    return (await make(request, maker, body)).respond()


async def _create_at(request: Request, caller: Caller, workspace_id: int | None) -> Response:
    maker = await find_maker(request, caller, workspace_id)
    types = JSON_TYPES if workspace_id is None else CURL_TYPES  # as Linkforge's examples have it
    return (await make(request, maker, await read_body(request, LinkCreate, types))).respond()


async def make(
    request: Request,
    maker: "Maker",
    body: LinkCreate,
    render: Callable[[Created], Answer] | None = None,
) -> Answer:
    """Makes the link, within the caller's limits; `render` where the answer is not the usual."""
    verdict = await maker.limit()
    draft = maker.draft(body)
    answer = await maker.kurz.receipts.once(
        request, maker.name, lambda receipt: maker.create(draft, receipt), render or maker.answer
    )
    return replace(answer, headers=answer.headers | header_fields(verdict))


async def find_maker(request: Request, caller: Caller | None, workspace_id: int | None) -> "Maker":
    kurz = context(request)
    if caller is None:
        kurz.refuse_strangers()
        prefix = await kurz.prefix(request, None)
        return Maker(kurz, None, client_of(request), prefix, kurz.own_hosts_of(request))
    place = await place_of(request, caller, Permission.LINKS_CREATE, workspace_id)
    return await maker_at(request, place)


async def maker_at(request: Request, place: Place) -> "Maker":
    kurz = context(request)
    prefix = await kurz.prefix(request, place.workspace)
    subject = str(place.caller.account_id)
    return Maker(kurz, place, subject, prefix, kurz.own_hosts_of(request))


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes links at one place for one caller; `place` None: for a stranger at the root."""

    kurz: Context
    place: Place | None
    subject: str
    prefix: str
    own_hosts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Who is meant where requests are told apart."""
        if self.place is None:
            return self.kurz.receipts.name_stranger(self.subject)
        return self.place.caller.name

    async def limit(self) -> Verdict:
        is_stranger = self.place is None
        class_ = LimitClass.ANONYMOUS_CREATE if is_stranger else LimitClass.ACCOUNT_CREATE
        return await self.kurz.limits.check(class_, self.subject)

    def draft(self, body: LinkCreate) -> Draft:
        if self.place is None:
            return Draft(
                original_url=body.original_url,
                expires_in_seconds=body.expires_in,
                is_anonymous=True,
            )
        workspace = self.place.workspace
        return Draft(
            original_url=body.original_url,
            workspace_id=self.place.workspace_id,
            owner_id=self.place.caller.account_id,
            custom_code=body.custom_code,
            strategy=body.strategy,
            default_strategy=None if workspace is None else Strategy(workspace.strategy),
            default_expiry_days=None if workspace is None else workspace.default_expiry_days,
            starts_at=body.starts_at,
            expires_at=body.expires_at,
            expires_in_seconds=body.expires_in,
            title=body.title,
            tags=tuple(body.tags),
            notes=body.notes,
            redirect_status=body.redirect_status,
            forward_query=body.forward_query,
            max_clicks=body.max_clicks,
        )

    async def create(self, draft: Draft, receipt: Receipt | None) -> Created:
        allowances = () if self.place is None else self.place.allowances(self.kurz)
        return await self.kurz.links.create(
            draft, own_hosts=self.own_hosts, allowances=allowances, receipt=receipt
        )

    def view(self, created: Created) -> dict[str, Any]:
        shown = view(created.link, self.kurz.links, self.prefix + created.link.short_code)
        if created.claim_token is not None:
            shown["claim_token"] = created.claim_token
        return shown

    def answer(self, created: Created) -> Answer:
        shown = self.view(created)
        headers = {"location": shown["short_url"], "etag": f'"{created.link.version}"'}
        return Answer(201 if created.is_new else 200, to_json(shown), headers)
