"""The outermost ASGI application: which site a request is for, who answers it, and what every
answer carries."""

import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from secrets import token_hex
from typing import Any

import structlog

from kurz.errors import KurzError
from kurz.people.workspaces import Site
from kurz.server.hosts import Hosts

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

# A page that needs more (its style, a script of ours) brings a policy of its own.
STRICTEST_POLICY = (
    b"content-security-policy",
    b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
# Balancers ask for these by address, under whatever Host they like.
PROBES = frozenset({"/healthz", "/readyz"})

log = structlog.get_logger()


class App:
    """`api` answers under /api, on the probes and to POST on `/`; `redirect` everything else, and
    the requests that belong to no site. Both find `kurz.site` or `kurz.problem` in their scope."""

    def __init__(self, *, api: AsgiApp, redirect: AsgiApp, hosts: Hosts) -> None:
        self._api = api
        self._redirect = redirect
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = _Reply(send)
        started = time.perf_counter()
        path: str = scope["path"]
        with structlog.contextvars.bound_contextvars(request_id=reply.request_id):
            try:
                if await self._is_for_api(scope, path):
                    await self._api(scope, receive, reply.send)
                    milliseconds = round((time.perf_counter() - started) * 1000, 2)
                    log.info(
                        "request",
                        method=scope["method"],
                        path=path,
                        status=reply.status,
                        ms=milliseconds,
                    )
                else:
                    await self._redirect(scope, receive, reply.send)
            except Exception:
                log.exception("request failed", method=scope["method"], path=path)
                if reply.status is None:
                    await _send_internal_error(reply.send)

    async def _is_for_api(self, scope: Scope, path: str) -> bool:
        if path in PROBES:
            return True
        try:
            site: Site = await self._hosts.get(_host(scope))
        except KurzError as problem:
            scope["kurz.problem"] = problem
            return False
        scope["kurz.site"] = site
        if site.is_custom_domain:
            return False
        return (
            path.startswith("/api/")
            or path == "/api"
            or (path == "/" and scope["method"] not in ("GET", "HEAD"))
        )


class _Reply:
    """Passes an answer on, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = token_hex(8)
        self.status: int | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message["headers"], *SECURITY_HEADERS]
            headers.append((b"x-request-id", self.request_id.encode()))
            if not any(name == b"content-security-policy" for name, _ in headers):
                headers.append(STRICTEST_POLICY)
            message["headers"] = headers
        await self._send(message)


def _host(scope: Scope) -> str:
    """The Host header; empty if it is missing or doubled, which no site answers to."""
    hosts = [value for name, value in scope["headers"] if name == b"host"]
    return hosts[0].decode("latin-1") if len(hosts) == 1 else ""


async def _send_internal_error(send: Send) -> None:
    document = {
        "type": "/api/problems/internal-error",
        "title": "Something went wrong in kurz",
        "status": 500,
    }
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
