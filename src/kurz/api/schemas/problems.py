"""Problems in the OpenAPI document."""

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
        description="All refused fields, if a request can have several.",
    )


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of routes that can fail in these ways; see `RESPONSES`."""
    return {status: {"$ref": _REFERENCE + _PROBLEMS[status][0]} for status in statuses}


def refer(responses: dict[str, Any]) -> None:
    """FastAPI adds a description to every response. A reference needs none."""
    for response in responses.values():
        if "$ref" in response:
            response.pop("description", None)


# By status: the name in the document, and what it means.
_PROBLEMS = {
    400: ("BadRequest", "The request body cannot be read."),
    401: ("Unauthorized", "No credential was sent, or it is not valid."),
    403: ("Forbidden", "You do not have permission."),
    404: ("NotFound", "Not found, or not visible to you."),
    409: ("Conflict", "Already taken, or changed at the same time."),
    410: ("Gone", "The link was taken down."),
    412: ("PreconditionFailed", "The current version differs from `If-Match`."),
    413: ("ContentTooLarge", "The request body is too large."),
    415: ("UnsupportedMediaType", "The `Content-Type` is not supported."),
    422: ("UnprocessableContent", "A value is not valid."),
    429: (
        "TooManyRequests",
        "Too many requests, or a quota is reached; `Retry-After` says when to try again.",
    ),
    503: (
        "ServiceUnavailable",
        (
            "The database is not available, or the server is overloaded; `Retry-After` says when"
            " to try again."
        ),
    ),
}
_REFERENCE = "#/components/responses/"
_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
# Every problem answer of the document, once.
RESPONSES = {
    name: {"description": meaning, "content": _CONTENT} for name, meaning in _PROBLEMS.values()
}
