"""Problems as the OpenAPI document describes them."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Problem(BaseModel):
    """An RFC 9457 problem. `type` is stable: GET it for an explanation."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str | None = None


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses` of routes that can fail in these ways."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in statuses}


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
