"""Puts the API together."""

from functools import partial
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

import kurz
from kurz.api import (
    abuse,
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
    problems,
    quotas,
    stats,
    system,
    tags,
    transfer,
    trash,
    workspaces,
)
from kurz.api.bodies import DESCRIBED
from kurz.api.dependencies import Context
from kurz.api.dialects import urls
from kurz.api.middleware import BodyGuard
from kurz.api.schemas.links import BulkItem
from kurz.api.schemas.problems import RESPONSES, Problem, refer
from kurz.api.schemas.problems import problems as described_problems
from kurz.api.security import SCHEMES

DESCRIPTION = (
    "Create and manage short links.\n\nErrors are RFC 9457 problems: `type` is stable,"
    " `detail` says what to do."
)


# What is asked for most comes first: routes are tried in this order.
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
        openapi_url=None,  # `docs` answers it: FastAPI would write the document for every request
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.context = context
    app.add_middleware(BodyGuard)
    problems.install(app)
    for module in MODULES:
        # Taken over flat: a router that is included is matched twice, 40 µs on every request.
        app.router.routes.extend(module.router.routes)
    app.openapi = partial(_describe, app)  # type: ignore[method-assign]
    return app


def _describe(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document with the schemas that routes only refer to."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
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


def _describe_problems(paths: dict[str, dict[str, Any]]) -> None:
    """Every operation that changes something for an account may be refused as too frequent."""
    for operations in paths.values():
        for method, operation in operations.items():
            if method != "get" and operation.get("x-needs") != "nobody":
                operation["responses"]["429"] = described_problems(429)[429]
            refer(operation["responses"])
