"""Bodies of requests. Pydantic itself parses JSON: that costs a third of FastAPI's own parsing with
`email` headers, `json` and validation, and pydantic refuses what is not UTF-8."""

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from kurz.api.http.problems import BodyMalformed, MediaTypeUnsupported, refusal
from kurz.api.schemas.problems import problems

JSON_TYPES = frozenset({b"application/json"})
# What `curl -d` and other shell clients send if no type is given.
PLAIN_TYPES = frozenset({b"", b"text/plain", b"application/x-www-form-urlencoded"})

# JSON that `curl -d` sends is still JSON.
CURL_TYPES = JSON_TYPES | {b"application/x-www-form-urlencoded"}

Model = TypeVar("Model", bound=BaseModel)


async def read_body(
    request: Request, model: type[Model], types: frozenset[bytes] = JSON_TYPES
) -> Model:
    _check_type(request, types)
    try:
        return model.model_validate_json(await _whole(request))
    except ValidationError as error:
        raise refusal(error.errors(include_url=False, include_input=False)) from None


async def read_edit(request: Request, model: type[Model], *clearable: str) -> dict[str, Any]:
    """The fields that were sent; only clearable ones may be null."""
    return sent_fields(await read_body(request, model), *clearable)


def sent_fields(body: BaseModel | None, *clearable: str) -> dict[str, Any]:
    sent = {} if body is None else {name: getattr(body, name) for name in body.model_fields_set}
    if not sent:
        raise refusal([{"type": "empty", "loc": (), "msg": "Send at least one field to change"}])
    for name, value in sent.items():
        if value is None and name not in clearable:
            raise refusal([{"type": "null", "loc": (name,), "msg": "Input should not be null"}])
    return sent


async def read_text(request: Request) -> bytes:
    _check_type(request, PLAIN_TYPES)
    return await _whole(request)


async def _whole(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:  # nobody waits for the answer
        raise BodyMalformed("The request body is incomplete.") from None


def _check_type(request: Request, accepted: frozenset[bytes]) -> None:
    media_type = b""
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip().lower()
        elif name == b"content-encoding":
            raise MediaTypeUnsupported("Send the body uncompressed, without Content-Encoding.")
    if media_type not in accepted:
        named = b", ".join(sorted(filter(None, accepted))).decode()
        raise MediaTypeUnsupported(f"Send the body as {named}.")


DESCRIBED: set[type[BaseModel]] = set()


def described(model: type[BaseModel], *, is_required: bool = True) -> dict[str, Any]:
    """The `openapi_extra` of a route that reads such a body; `app` adds the schema itself."""
    DESCRIBED.add(model)
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
    return {"requestBody": {"required": is_required, "content": content}}


def takes(model: type[BaseModel], *statuses: int, is_required: bool = True) -> dict[str, Any]:
    """What a route declares that reads such a body: `statuses` are its problems beyond those of
    every such route."""
    return {
        "responses": problems(*sorted({400, 413, 415, 422, *statuses})),
        "openapi_extra": described(model, is_required=is_required),
    }
