"""Probes: is the process alive, can it work."""

import hmac
from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from kurz.api.http.callers import get_admin
from kurz.api.http.dependencies import context
from kurz.api.http.security import needs
from kurz.api.schemas.problems import problems
from kurz.errors import WritesFail
from kurz.people.access import Permission

router = APIRouter(tags=["system"])


class Health(BaseModel):
    status: str


class FailingWrites(BaseModel):
    """What cannot be written at the moment, as far as the worker that answers knows."""

    what: Literal["clicks", "database"]
    detail: str = Field(
        examples=["Less than 64 MiB are free on the disk of the data folder. Free up space."]
    )


class Readiness(BaseModel):
    """`redis` is null where none is configured. While it is `out`, the database answers instead.
    While writes fail, redirects still work; clicks may be lost."""

    status: Literal["ready"] = "ready"
    database: Literal["ok"] = "ok"
    redis: Literal["ok", "out"] | None
    failing_writes: list[FailingWrites]


@router.get("/healthz", summary="Check whether the process is running")
async def health() -> Health:
    """Answers as long as the process runs, whatever the state of the database."""
    return Health(status="ok")


@router.get(
    "/readyz",
    summary="Check whether the instance can serve requests",
    responses=problems(503),
)
async def readiness(request: Request) -> Readiness:
    """Answers 503 while the database cannot be reached or written to, or while changes by others do
    not arrive. Links in memory still redirect. Failing writes, such as on a full disk, are listed
    in the body; with `KURZ_READY_NEEDS_WRITES=on` they also lead to 503."""
    kurz = context(request)
    await kurz.state.check_store()
    is_redis_up = await kurz.state.ask_redis()
    failing = [
        FailingWrites(what=what, detail=detail) for what, detail in kurz.state.failing_writes()
    ]
    if failing and kurz.state.ready_needs_writes:
        raise WritesFail(" ".join(f"{item.what.capitalize()}: {item.detail}" for item in failing))
    return Readiness(
        redis=None if is_redis_up is None else "ok" if is_redis_up else "out",
        failing_writes=failing,
    )


@router.get(
    "/metrics",
    summary="Get Prometheus metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, **problems(401, 403)},
    openapi_extra=needs(Permission.ADMIN),
)
async def metrics(request: Request) -> Response:
    """Covers all workers of this instance. Requires an administrator, or `KURZ_METRICS_TOKEN` as
    bearer token; open to everyone with `KURZ_METRICS=public`."""
    kurz = context(request)
    if not kurz.state.are_metrics_public and not _has_token(request, kurz.state.metrics_token):
        await get_admin(request)
    return Response(kurz.state.metrics(), media_type="text/plain; version=1.0.0; charset=utf-8")


def _has_token(request: Request, token: str | None) -> bool:
    given = request.headers.get("authorization", "").encode()
    return token is not None and hmac.compare_digest(given, f"Bearer {token}".encode())
