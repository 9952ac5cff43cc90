"""The API's own documentation: an explorer from bundled files, and what problem types mean."""

import asyncio
import json
from functools import cache
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from kurz.api.http.problems import PathUnknown, status_of
from kurz.errors import catalogue

# Swagger UI's scripts and styles are served from here; its icons are data: images.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>kurz API</title>
<link rel="icon" href="/favicon.ico">
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
</head>
<body>
<main id="explorer"></main>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/start.js"></script>
</body>
</html>
"""
_START = """SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#explorer",
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  presets: [SwaggerUIBundle.presets.apis],
});
"""

router = APIRouter(include_in_schema=False)


@router.get("/api/docs")
async def explorer() -> Response:
    return Response(_PAGE, media_type="text/html", headers={"content-security-policy": _POLICY})


@router.get("/api/openapi.json")
async def document(request: Request) -> Response:
    """Built once, and in a thread: it takes half a second, and visitors must not wait for it."""
    state = request.app.state
    if not hasattr(state, "document"):
        state.document = asyncio.ensure_future(asyncio.to_thread(_build_document, request.app))
    return Response(await asyncio.shield(state.document), media_type="application/json")


@router.get("/api/docs/{name}")
async def asset(name: str) -> Response:
    found = _assets().get(name)
    if found is None:
        raise PathUnknown("The API documentation has no such file.")
    content, media_type = found
    headers = {"cache-control": "public, max-age=86400"}
    return Response(content, media_type=media_type, headers=headers)


@router.get("/api/problems/{code}")
async def explain(code: str) -> dict[str, object]:
    """Explain a problem type"""
    for error in catalogue():
        if error.code == code:
            kind = f"/api/problems/{code}"
            return {"type": kind, "title": error.title, "status": status_of(error)}
    raise PathUnknown("There is no problem with this type. See /api/docs.")


def _build_document(app: FastAPI) -> bytes:
    return json.dumps(app.openapi(), ensure_ascii=False).encode()


@cache
def _assets() -> dict[str, tuple[bytes, str]]:
    bundled = files("fastapi_swagger") / "resources"
    return {
        "start.js": (_START.encode(), "text/javascript"),
        "swagger-ui.css": ((bundled / "swagger-ui.css").read_bytes(), "text/css"),
        "swagger-ui-bundle.js": (
            (bundled / "swagger-ui-bundle.js").read_bytes(),
            "text/javascript",
        ),
    }
