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
    400: "The body cannot be read.",
    401: "Nobody signed in, or the credential does not fit.",
    403: "This is not yours to do.",
    404: "There is nothing here that you may see.",
    409: "It is taken, or was changed at the same time.",
    410: "It was taken down.",
    412: "It is not in the state that `If-Match` names.",
    413: "The body is too large.",
    415: "The body has a type that is not accepted.",
    422: "A value is not accepted.",
    429: "Too often, or a quota is used up; `Retry-After` says when to try again.",
    503: "The database is not available, or the server is overloaded; `Retry-After` says when to"
    " try again.",
}
