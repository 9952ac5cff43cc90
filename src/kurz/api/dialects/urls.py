"""`/api/urls`: the same links in camelCase."""

from fastapi import APIRouter, Request
from pydantic import AwareDatetime, BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from kurz.api.bodies import described, read_body
from kurz.api.dependencies import context
from kurz.api.responses import JsonResponse
from kurz.api.schemas.problems import problems
from kurz.links.model import Draft, LinkType, Status
from kurz.links.view import view


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, extra="forbid")


class UrlCreate(_Camel):
    original_url: str


class UrlRead(_Camel):
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
    claim_token: str | None


router = APIRouter(
    prefix="/api/urls",
    tags=["urls"],
    responses=problems(400, 401, 413, 415, 422, 503),
)


@router.post(
    "/public",
    status_code=201,
    response_model=UrlRead,
    summary="Make a temporary link",
    operation_id="create_public_url",
    openapi_extra=described(UrlCreate),
)
async def create_public_url(request: Request) -> Response:
    """Makes a temporary link, which anybody may do."""
    kurz = context(request)
    kurz.refuse_strangers()
    body = await read_body(request, UrlCreate)
    draft = Draft(original_url=body.original_url, is_anonymous=True)
    created, address = await kurz.create_for_stranger(request, draft)
    seen = view(created.link, kurz.links, address) | {"claim_token": created.claim_token}
    answer = UrlRead(**{name: seen[name] for name in UrlRead.model_fields})
    headers = {"location": address, "cache-control": "no-store"}
    return JsonResponse(answer.model_dump_json(by_alias=True), 201, headers)
