"""What the OpenAPI document says about who may call an operation: `x-needs` names it."""

from typing import Any

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
_EVERY: list[dict[str, list[str]]] = [{"bearer": []}, {"key": []}, {"cookie": []}]


def nobody() -> dict[str, Any]:
    """For everybody, signed in or not."""
    return {"security": [], "x-needs": "nobody"}


def session() -> dict[str, Any]:
    """For somebody who signed in; no key will do."""
    return {"security": [{"bearer": []}, {"cookie": []}], "x-needs": "session"}


def somebody() -> dict[str, Any]:
    """For any token or key."""
    return {"security": _EVERY, "x-needs": "somebody"}


def needs(permission: Permission) -> dict[str, Any]:
    """For sessions and for keys made for that; in a workspace, if the role allows it too."""
    return {"security": _EVERY, "x-needs": str(permission)}


def owner() -> dict[str, Any]:
    """For owners of the workspace, signed in."""
    return session() | {"x-needs": "owner"}


def optional(permission: Permission) -> dict[str, Any]:
    """For everybody; more for a caller with that permission."""
    return {"security": [{}, *_EVERY], "x-needs": f"optional {permission}"}
