"""Puts the API together."""

from functools import partial
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

import kurz
from kurz.api.dialects import urls
from kurz.api.http import problems
from kurz.api.http.bodies import DESCRIBED
from kurz.api.http.dependencies import Context
from kurz.api.http.direct import DirectRoutes
from kurz.api.http.middleware import BodyGuard
from kurz.api.http.security import SCHEMES, declared_by
from kurz.api.routes import (
    admin,
    auth,
    bans,
    bulk,
    checks,
    claims,
    cleanup,
    creating,
    docs,
    domains,
    links,
    me,
    members,
    quotas,
    stats,
    system,
    tags,
    transfer,
    trash,
    workspaces,
)
from kurz.api.routes import reports as abuse
from kurz.api.schemas.links import BulkItem
from kurz.api.schemas.problems import RESPONSES, Problem, refer
from kurz.api.schemas.problems import problems as described_problems
from kurz.asgi import AsgiApp

DESCRIPTION = (
    "Create and manage short links.\n\nErrors are RFC 9457 problems: `type` is stable,"
    " `detail` says what to do."
)


# The most frequent routes come first: routes are tried in this order.
MODULES = (
    creating,
    transfer,
    links,
    bulk,
    trash,
    checks,
    claims,
    tags,
    stats,
    urls,
    auth,
    me,
    quotas,
    workspaces,
    members,
    domains,
    admin,
    bans,
    abuse,
    cleanup,
    system,
    docs,
)


def create_api(context: Context) -> FastAPI:
    app = FastAPI(
        title="kurz",
        version=kurz.__version__,
        description=DESCRIPTION,
        openapi_url=None,  # `docs` answers it: FastAPI would build the document for every request
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    app.add_middleware(BodyGuard)
    problems.install(app)
    for module in MODULES:
        # Copied flat: an included router is matched twice, 40 µs on every request.
        app.router.routes.extend(module.router.routes)
    _name_operations(app)
    app.openapi = partial(_describe, app)  # type: ignore[method-assign]
    return app


def create_application(context: Context) -> AsgiApp:
    """The same, but the most frequent routes are called without FastAPI."""
    return DirectRoutes(create_api(context), creating.DIRECT)


def _name_operations(app: FastAPI) -> None:
    """An operation has the name of its function. Where one function serves the root and
    workspaces, the operation in workspaces gets a suffix."""
    names = set()
    for route in app.routes:
        if isinstance(route, APIRoute) and route.operation_id is None:
            is_twin = route.name in names and "{workspace_id}" in route.path
            route.operation_id = f"{route.name}_in_workspace" if is_twin else route.name
            names.add(route.name)


def _describe(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document with the schemas that routes only refer to."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        _describe_callers(app, document["paths"])
        _describe_problems(document["paths"])
        components = document["components"]
        components["responses"] = RESPONSES
        components["securitySchemes"] = SCHEMES
        schemas = components["schemas"]
        models: set[type[BaseModel]] = {Problem, BulkItem, *DESCRIBED}
        for model in sorted(models, key=lambda model: model.__name__):
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schema.pop("$defs", {})
            schemas[model.__name__] = schema
    return app.openapi_schema or {}


def _describe_callers(app: FastAPI, paths: dict[str, dict[str, Any]]) -> None:
    """Adds to each operation who may call it, as its dependencies declare."""
    for route in app.routes:
        if isinstance(route, APIRoute) and route.include_in_schema:
            for method in route.methods or ():
                paths[route.path_format][method.lower()] |= declared_by(route.dependant)


def _describe_problems(paths: dict[str, dict[str, Any]]) -> None:
    """Every operation that changes something for an account can answer 429."""
    for operations in paths.values():
        for method, operation in operations.items():
            if method != "get" and operation.get("x-needs") != "nobody":
                operation["responses"]["429"] = described_problems(429)[429]
            refer(operation["responses"])
