"""`/api/v1/links` and `POST /`: making links."""

from fastapi import APIRouter, Request
from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from kurz.api.bodies import described, read_body, read_text
from kurz.api.dependencies import context
from kurz.api.responses import JsonResponse
from kurz.api.schemas.links import AnonymousLinkRead, LinkCreate
from kurz.api.schemas.problems import problems
from kurz.errors import SignInRequired
from kurz.links.errors import UrlRefused
from kurz.links.model import Draft
from kurz.links.view import view

ANONYMOUS_FIELDS = frozenset({"original_url", "expires_in"})

router = APIRouter(
    tags=["links"],
    responses=problems(400, 401, 413, 415, 422, 503),
)


@router.post(
    "/api/v1/links",
    status_code=201,
    response_model=AnonymousLinkRead,
    summary="Make a link",
    operation_id="create_link",
    openapi_extra=described(LinkCreate),
)
async def create_link(request: Request) -> Response:
    """Makes a temporary link, which anybody may do. Keep its `claim_token`: it is shown once."""
    kurz = context(request)
    kurz.refuse_strangers()
    body = await read_body(request, LinkCreate)
    if extra := sorted(body.model_fields_set - ANONYMOUS_FIELDS):
        names = ", ".join(f"`{name}`" for name in extra)
        raise SignInRequired(f"Without an account a link cannot have {names}.")
    draft = Draft(
        original_url=body.original_url, expires_in_seconds=body.expires_in, is_anonymous=True
    )
    created, address = await kurz.create_for_stranger(request, draft)
    answer = view(created.link, kurz.links, address) | {"claim_token": created.claim_token}
    return JsonResponse(to_json(answer), 201, _created_headers(address))


@router.post(
    "/",
    status_code=201,
    response_class=PlainTextResponse,
    summary="Make a link from the shell",
    operation_id="create_link_from_text",
    openapi_extra={
        "requestBody": {"required": True, "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
)
async def create_link_from_text(request: Request) -> Response:
    """Takes a plain URL and answers with the short URL, both as text:
    `curl -d https://example.com/a/long/path …`"""
    kurz = context(request)
    kurz.refuse_strangers()
    try:
        original_url = (await read_text(request)).decode().strip("\r\n")
    except UnicodeDecodeError:
        raise UrlRefused("The URL is not valid UTF-8 text.") from None
    draft = Draft(original_url=original_url, is_anonymous=True)
    _, address = await kurz.create_for_stranger(request, draft)
    return PlainTextResponse(f"{address}\n", 201, _created_headers(address))


def _created_headers(address: str) -> dict[str, str]:
    return {"location": address, "cache-control": "no-store"}
