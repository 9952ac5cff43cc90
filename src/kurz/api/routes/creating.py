"""Creates links: `POST /api/v1/links`, the same in a workspace, and `POST /` from the shell. It
avoids the cost of FastAPI's parameters, because this is the most frequent route."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from kurz.api.http.bodies import CURL_TYPES, JSON_TYPES, described, read_body, read_text
from kurz.api.http.callers import find_caller, get_creator
from kurz.api.http.dependencies import Context, client_of, context
from kurz.api.http.direct import Handler
from kurz.api.http.responses import ApiAnswer
from kurz.api.http.security import needs, optional
from kurz.api.http.spaces import LinkSpace, require_space, workspace_id_of
from kurz.api.schemas.links import LinkCreate, NewLinkRead
from kurz.api.schemas.problems import problems
from kurz.errors import KurzError, SignInRequired
from kurz.links.errors import UrlProblem, UrlRefused
from kurz.links.model import Created, Draft, Strategy
from kurz.links.view import view
from kurz.people.access import Caller, Permission
from kurz.people.limits import LimitClass, LimitVerdict, header_fields
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


# Called without FastAPI.
DIRECT: dict[str, Handler] = {
    "/api/v1/links": create_link,
    "/api/v1/workspaces/{workspace_id}/links": create_link_in_workspace,
}


@router.post(
    "/",
    status_code=201,
    response_class=PlainTextResponse,
    summary="Create a link from the shell",
    openapi_extra={
        "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}
    }
    | optional(Permission.LINKS_CREATE),
)
async def create_link_from_text(request: Request) -> Response:
    """Takes a plain URL and returns the short URL, both as text: `curl -d
    https://example.com/a/long/path …`"""
    creator = await find_creator(request, await find_caller(request), None)
    try:
        original_url = (await read_text(request)).decode().strip("\r\n")
    except UnicodeDecodeError:
        raise UrlRefused(UrlProblem.TEXT, "The URL is not valid UTF-8 text.") from None

    def render(created: Created) -> ApiAnswer:
        address = creator.prefix + created.link.short_code
        return ApiAnswer(201, f"{address}\n".encode(), {"location": address})

    answer = await create_once(
        request, creator, LinkCreate.model_validate({"original_url": original_url}), render
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
    creator = await find_creator(request, None, None)
    return (await create_once(request, creator, body)).respond()


async def _create_at(request: Request, caller: Caller, workspace_id: int | None) -> Response:
    creator = await find_creator(request, caller, workspace_id)
    types = JSON_TYPES if workspace_id is None else CURL_TYPES  # as in Linkforge's examples
    return (
        await create_once(request, creator, await read_body(request, LinkCreate, types))
    ).respond()


async def create_once(
    request: Request,
    creator: "LinkCreator",
    body: LinkCreate,
    render: Callable[[Created], ApiAnswer] | None = None,
) -> ApiAnswer:
    """Creates the link, within the caller's limits; `render` is for unusual answers."""
    verdict = await creator.limit()
    draft = creator.draft(body)
    answer = await creator.kurz.receipts.once(
        request,
        creator.name,
        lambda receipt: creator.create(draft, receipt),
        render or creator.answer,
    )
    return replace(answer, headers=answer.headers | header_fields(verdict))


async def find_creator(
    request: Request, caller: Caller | None, workspace_id: int | None
) -> "LinkCreator":
    kurz = context(request)
    if caller is None:
        kurz.refuse_strangers()
        prefix = await kurz.prefix(request, None)
        return LinkCreator(kurz, None, client_of(request), prefix, kurz.own_hosts_of(request))
    space = await require_space(request, caller, Permission.LINKS_CREATE, workspace_id)
    return await creator_for(request, space)


async def creator_for(request: Request, space: LinkSpace) -> "LinkCreator":
    kurz = context(request)
    prefix = await kurz.prefix(request, space.workspace)
    subject = str(space.caller.account_id)
    return LinkCreator(kurz, space, subject, prefix, kurz.own_hosts_of(request))


@dataclass(frozen=True, slots=True)
class LinkCreator:
    """Creates links in one space for one caller. `space` None: anonymous, at the root."""

    kurz: Context
    space: LinkSpace | None
    subject: str
    prefix: str
    own_hosts: tuple[str, ...]

    @property
    def name(self) -> str:
        """Identifies the caller of a request."""
        if self.space is None:
            return self.kurz.receipts.name_stranger(self.subject)
        return self.space.caller.name

    async def limit(self) -> LimitVerdict:
        is_stranger = self.space is None
        class_ = LimitClass.ANONYMOUS_CREATE if is_stranger else LimitClass.ACCOUNT_CREATE
        return await self.kurz.limits.check(class_, self.subject)

    def draft(self, body: LinkCreate) -> Draft:
        if self.space is None:
            return Draft(
                original_url=body.original_url,
                expires_in_seconds=body.expires_in,
                is_anonymous=True,
            )
        workspace = self.space.workspace
        return Draft(
            original_url=body.original_url,
            workspace_id=self.space.workspace_id,
            owner_id=self.space.caller.account_id,
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
        allowances = () if self.space is None else self.space.allowances(self.kurz)
        return await self.kurz.services.links.create(
            draft, own_hosts=self.own_hosts, allowances=allowances, receipt=receipt
        )

    async def create_many(self, drafts: Sequence[Draft]) -> list[Created | KurzError | None]:
        """None: `create` must decide."""
        allowances = () if self.space is None else self.space.allowances(self.kurz)
        return await self.kurz.services.links.create_many(
            drafts, own_hosts=self.own_hosts, allowances=allowances
        )

    def view(self, created: Created) -> dict[str, Any]:
        shown = view(created.link, self.kurz.services.links, self.prefix + created.link.short_code)
        if created.claim_token is not None:
            shown["claim_token"] = created.claim_token
        return shown

    def answer(self, created: Created) -> ApiAnswer:
        shown = self.view(created)
        headers = {"location": shown["short_url"], "etag": f'"{created.link.version}"'}
        return ApiAnswer(201 if created.is_new else 200, to_json(shown), headers)
