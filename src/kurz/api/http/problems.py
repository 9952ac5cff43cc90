"""Errors as RFC 9457 problems: the one place where the API's status codes are decided."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from kurz.errors import Invalid, Kind, KurzError, MethodNotAllowed, problem
from kurz.links.errors import VersionOutdated
from kurz.links.imports import ImportTooLarge
from kurz.people.errors import HostUnknown
from kurz.people.limits import TooManyRequests

MAX_BODY_BYTES = 16 * 1024
MAX_MANY_BYTES = 1024 * 1024  # for bodies that hold many links

log = structlog.get_logger()

STATUSES = {
    Kind.INVALID: 422,
    Kind.UNAUTHENTICATED: 401,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.CONFLICT: 409,
    Kind.GONE: 410,
    Kind.LIMITED: 429,
    Kind.UNAVAILABLE: 503,
}


class RequestError(Invalid):
    """A request that was refused before any service was called."""

    status: ClassVar[int]


class BodyMalformed(RequestError):
    title = "Request body cannot be read"
    status = 400


class PathUnknown(RequestError):
    title = "Path not found"
    status = 404


class BodyTooLarge(RequestError):
    title = "Request body too large"
    status = 413


class MediaTypeUnsupported(RequestError):
    title = "Unsupported media type"
    status = 415


class RequestRefused(RequestError):
    title = "Invalid request"
    status = 422


class InternalError(RequestError):
    title = "Internal error"
    status = 500


_OTHER_STATUSES: dict[type[KurzError], int] = {
    MethodNotAllowed: 405,
    VersionOutdated: 412,
    HostUnknown: 421,
    ImportTooLarge: 413,
}
TOO_LARGE = BodyTooLarge(
    f"The body can have at most {MAX_BODY_BYTES} bytes, or {MAX_MANY_BYTES} for requests with"
    " many links."
)
_HTTP_ERRORS = {
    400: BodyMalformed("The body is not valid JSON."),
    404: PathUnknown("There is nothing at this path. See /api/docs for all paths."),
    405: MethodNotAllowed(
        "This path does not support this method. The Allow header lists the methods it supports."
    ),
    413: TOO_LARGE,
}
_LOCATIONS = ("body", "query", "path", "header")  # FastAPI puts one before the name of a field


class ProblemResponse(Response):
    media_type = "application/problem+json"


def status_of(error: type[KurzError]) -> int:
    if issubclass(error, RequestError):
        return error.status
    return _OTHER_STATUSES.get(error, STATUSES[error.kind])


def respond(error: KurzError, headers: dict[str, str] | None = None) -> ProblemResponse:
    status = status_of(type(error))
    sent = dict(headers or {})
    if error.retry_after_seconds is not None:
        sent["retry-after"] = str(error.retry_after_seconds)
    if isinstance(error, TooManyRequests):
        sent |= error.header_fields
    if error.kind is Kind.UNAUTHENTICATED:
        sent["www-authenticate"] = "Bearer"
    body = json.dumps(problem(error, status), ensure_ascii=False).encode()
    return ProblemResponse(body, status, sent)


def answer_to(error: Exception) -> Response:
    """The response to an error, as a problem."""
    if isinstance(error, KurzError):
        if error.kind is Kind.UNAVAILABLE:
            log.warning(
                "unavailable", code=error.code, detail=error.detail, cause=str(error.__cause__)
            )
        return respond(error)
    if isinstance(error, RequestValidationError):
        return respond(refusal(error.errors()))
    if isinstance(error, HTTPException):
        known = _HTTP_ERRORS.get(error.status_code, _HTTP_ERRORS[400])
        headers = dict(error.headers or {})
        if headers.get("Allow") == "GET":  # where GET is answered, HEAD is too
            headers["Allow"] = "GET, HEAD"
        return respond(known, headers)
    return respond(
        InternalError(
            "An unexpected error occurred. It is logged under the X-Request-Id of this response."
        )
    )


def install(app: FastAPI) -> None:
    """Makes every failure inside `app` answer as a problem."""

    async def on_failure(_: Request, error: Exception) -> Response:
        return answer_to(error)

    for kind in (KurzError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_failure)


def refusal(errors: Iterable[Mapping[str, Any]]) -> KurzError:
    """What pydantic found, without echoing what was sent: it may not even be text."""
    found = []
    for error in errors:
        if error["type"] == "json_invalid":
            return BodyMalformed("The body is not valid JSON.")
        field = ".".join(str(part) for part in error["loc"] if part not in _LOCATIONS)
        found.append({"field": field or "body", "code": error["type"], "detail": error["msg"]})
    names = ", ".join(f"`{item['field']}`" for item in found)
    return RequestRefused(f"These values are not valid: {names}.", errors=found)
