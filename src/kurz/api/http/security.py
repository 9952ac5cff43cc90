"""What the OpenAPI document says about who may call an operation: `x-needs` names it."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi.dependencies.models import Dependant

from kurz.people.access import Permission

SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A session token or an API key.",
    },
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "An API key."},
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "kurz",
        "description": "Session cookie of the dashboard; named `__Host-kurz` over HTTPS.",
    },
}
# By dependency: what it requires of callers. The description of an operation comes from its own.
_DECLARED: dict[Callable[..., Any], dict[str, Any]] = {}

F = TypeVar("F", bound=Callable[..., Any])

_EVERY: list[dict[str, list[str]]] = [{"bearer": []}, {"key": []}, {"cookie": []}]


def nobody() -> dict[str, Any]:
    """For everyone, signed in or not."""
    return {"security": [], "x-needs": "nobody"}


def session() -> dict[str, Any]:
    """For a signed-in person; keys are refused."""
    return {"security": [{"bearer": []}, {"cookie": []}], "x-needs": "session"}


def somebody() -> dict[str, Any]:
    """For any token or key."""
    return {"security": _EVERY, "x-needs": "somebody"}


def needs(permission: Permission) -> dict[str, Any]:
    """For sessions and for keys with that permission; in a workspace, if the role allows it too."""
    return {"security": _EVERY, "x-needs": str(permission)}


def owner() -> dict[str, Any]:
    """For owners of the workspace, signed in."""
    return session() | {"x-needs": "owner"}


def optional(permission: Permission) -> dict[str, Any]:
    """For everyone; more for a caller with that permission."""
    return {"security": [{}, *_EVERY], "x-needs": f"optional {permission}"}


def declares(document: dict[str, Any]) -> Callable[[F], F]:
    """For a dependency that requires this of callers, so that its routes need not declare it."""

    def note(dependency: F) -> F:
        _DECLARED[dependency] = document
        return dependency

    return note


def declared_by(dependant: Dependant) -> dict[str, Any]:
    """What a route's dependencies declare, including nested ones."""
    for it in dependant.dependencies:
        if found := (_DECLARED.get(it.call) if it.call else None) or declared_by(it):
            return found
    return {}
