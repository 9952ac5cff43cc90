"""Problems as the OpenAPI document describes them."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class FieldError(BaseModel):
    field: str = Field(examples=["tags.0"])
    code: str = Field(examples=["string_type"])
    detail: str


class Problem(BaseModel):
    """An RFC 9457 problem. `type` is stable: GET it for an explanation."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str | None = None
    field: str | None = Field(
        None, exclude_if=lambda field: field is None, description="The field that was refused."
    )
    errors: list[FieldError] | None = Field(
        None,
        exclude_if=lambda errors: errors is None,
        description="Where several fields may be refused at once, each of them.",
    )


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of routes that can fail in these ways; see `RESPONSES`."""
    return {status: {"$ref": _REFERENCE + _NAMES[status]} for status in statuses}


def refer(responses: dict[str, Any]) -> None:
    """FastAPI adds a description to every response. A reference needs none."""
    for response in responses.values():
        if "$ref" in response:
            response.pop("description", None)


_MEANINGS = {
    400: "The request body cannot be read.",
    401: "No credential was sent, or it is not valid.",
    403: "You do not have permission.",
    404: "Not found, or not visible to you.",
    409: "Already taken, or changed at the same time.",
    410: "The link was taken down.",
    412: "The current version differs from `If-Match`.",
    413: "The request body is too large.",
    415: "The `Content-Type` is not supported.",
    422: "A value is not valid.",
    429: "Too many requests, or a quota is reached; `Retry-After` says when to try again.",
    503: "The database is not available, or the server is overloaded; `Retry-After` says when to"
    " try again.",
}
_NAMES = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Gone",
    412: "PreconditionFailed",
    413: "ContentTooLarge",
    415: "UnsupportedMediaType",
    422: "UnprocessableContent",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
}
_REFERENCE = "#/components/responses/"
_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# Every problem answer of the document, once.
RESPONSES = {
    name: {"description": _MEANINGS[status], "content": _CONTENT} for status, name in _NAMES.items()
}
