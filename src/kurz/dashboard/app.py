"""Answers Home, the pages under /app, and their files."""

import re
from collections.abc import Awaitable, Callable
from secrets import token_urlsafe

from kurz.asgi import SITE, Scope, Send, origin_of
from kurz.dashboard.build import File, Files
from kurz.dashboard.shell import APP, HOME, Facts, Shell
from kurz.headers import POLICY, SECURITY_HEADERS, STRICTEST_POLICY

Headers = list[tuple[bytes, bytes]]

# The form of the pages' addresses; the scripts know which pages exist.
_PAGE = re.compile(r"/app(?:/[a-z0-9-]{1,64})*/?")
# Others answer these: pages of one-time links, which work without the dashboard.
_ONE_TIME = re.compile(r"/app/(?:setup|reset|join)")


class DashboardApp:
    """An ASGI application for the requests that it `answers`. `base_url` None: short URLs are shown
    under the request's host. `dashboard_url`: it is only under that address; others redirect there.
    `needs_set_up` says whether there is still no administrator."""

    def __init__(
        self,
        files: Files,
        facts: Facts,
        needs_set_up: Callable[[], Awaitable[bool]],
        *,
        base_url: str | None,
        dashboard_url: str | None = None,
    ) -> None:
        self._files = files
        self._home = Shell(files, HOME, facts)
        self._app = Shell(files, APP, facts)
        self._needs_set_up = needs_set_up
        self._base_url = base_url
        self._dashboard_url = dashboard_url

    def answers(self, scope: Scope) -> bool:
        """Programs, which do not ask for a page, get another front page."""
        path: str = scope["path"]
        if scope["method"] not in ("GET", "HEAD"):
            return False
        if path == "/":
            return b"text/html" in _header(scope, b"accept").lower()
        has_pages = scope[SITE].has_pages
        if path.startswith("/assets/"):
            return has_pages and self._files.find(path) is not None
        is_handed_over = _ONE_TIME.fullmatch(path) is not None
        return _PAGE.fullmatch(path) is not None and not (has_pages and is_handed_over)

    async def __call__(self, scope: Scope, _receive: object, send: Send) -> None:
        if not scope[SITE].has_pages:
            await self._lead(scope, send)
            return
        file = self._files.find(scope["path"])
        headers, body = await self._page(scope) if file is None else _asset(file, scope)
        length = (b"content-length", str(len(body)).encode())
        headers = [*headers, length, *SECURITY_HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _lead(self, scope: Scope, send: Send) -> None:
        """Redirects to the same page of the dashboard. A browser keeps the part after `#`."""
        location = f"{self._dashboard_url}{scope['path']}".encode()
        if scope["query_string"]:
            location += b"?" + scope["query_string"]
        headers = [
            (b"location", location),
            (b"content-length", b"0"),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept"),
            (POLICY, STRICTEST_POLICY),
            *SECURITY_HEADERS,
        ]
        await send({"type": "http.response.start", "status": 302, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def _page(self, scope: Scope) -> tuple[Headers, bytes]:
        is_home = scope["path"] == "/"
        base_url = self._base_url or origin_of(scope)
        body, policy = (self._home if is_home else self._app).render(
            token_urlsafe(16),
            base_url.rstrip("/"),
            needs_set_up=not is_home and await self._needs_set_up(),  # Home does not show it
        )
        headers = [
            (b"content-type", b"text/html; charset=utf-8"),
            (b"cache-control", b"no-store"),  # a nonce is for one load
            (b"vary", b"accept"),
            (POLICY, policy),
        ]
        return headers, body


def _asset(file: File, scope: Scope) -> tuple[Headers, bytes]:
    """Its name contains a hash of its content: it never changes."""
    encoding, body = file.best(_header(scope, b"accept-encoding"))
    headers = [
        (b"content-type", file.content_type),
        (b"cache-control", b"public, max-age=31536000, immutable"),
        (b"vary", b"accept-encoding"),
        (POLICY, STRICTEST_POLICY),
    ]
    return [*headers, (b"content-encoding", encoding)] if encoding else headers, body


def _header(scope: Scope, wanted: bytes) -> bytes:
    return b",".join(value for name, value in scope["headers"] if name == wanted)
