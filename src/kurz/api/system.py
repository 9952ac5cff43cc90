"""Probes: is the process alive, can it work."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from kurz.api.dependencies import context
from kurz.api.schemas.problems import problems

router = APIRouter(tags=["system"])


class Health(BaseModel):
    status: str


@router.get("/healthz", summary="Is the process alive?", operation_id="health")
async def health() -> Health:
    """Answers as long as the process does, whatever the database says."""
    return Health(status="ok")


@router.get(
    "/readyz",
    summary="Can it serve?",
    operation_id="readiness",
    responses=problems(503),
)
async def readiness(request: Request) -> Health:
    """Answers 503 while the database cannot be reached."""
    await context(request).check_store()
    return Health(status="ready")
