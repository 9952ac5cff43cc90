"""The outermost ASGI application: which site a request is for, who answers it, and what every
answer carries."""

import json
import logging
import time
from collections.abc import Awaitable
from http import HTTPStatus
from typing import Protocol

import structlog

from kurz.asgi import (
    CLIENT,
    HOST,
    OVERLOADED,
    PROBLEM,
    RAW_HOST,
    SITE,
    AsgiApp,
    Message,
    Receive,
    Scope,
    Send,
    site_of,
)
from kurz.errors import KurzError
from kurz.headers import CACHING, HSTS, POLICY, SECURITY_HEADERS, STRICTEST_POLICY, UNCACHED
from kurz.logs import request_id
from kurz.people.workspaces import Site
from kurz.server.forwarding import Forwarding
from kurz.server.hosts import Hosts
from kurz.server.proxies import TrustedProxies
from kurz.server.request_ids import next_request_id

# Balancers and proxies request these by address, with any Host.
PROBES = frozenset({"/healthz", "/readyz", "/metrics", "/api/v1/domains/allowed"})
# Logged once: anyone can send such headers as often as they like.
UNTRUSTED_PROXY = (
    "untrusted address sent X-Forwarded-For or X-Forwarded-Proto; if it is your proxy, add it"
    " to KURZ_TRUSTED_PROXIES; otherwise all its visitors count as one"
)

log = structlog.get_logger()


class Pages(Protocol):
    """An application that answers some requests only."""

    def answers(self, scope: Scope) -> bool: ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send, /) -> None: ...


class Freshness(Protocol):
    """Whether the memory of this process is up to date."""

    fresh_until_ns: int
    """By `time.perf_counter_ns`."""

    async def catch_up(self) -> None:
        """To be called after that time: when this returns, it is up to date again."""


class App:
    """`api` answers under /api, on the probes and to POST on `/`; `dashboard`, if there is one, the
    pages and files that it knows; `redirect` everything else, and requests that belong to no site.
    The scope has `kurz.site` or `kurz.problem`, and the client's address in `kurz.client`, which is
    empty for a socket without one."""

    def __init__(
        self,
        *,
        api: AsgiApp,
        redirect: AsgiApp,
        dashboard: Pages | None,
        hosts: Hosts,
        proxies: TrustedProxies,
        freshness: Freshness,
        hsts_seconds: int = 0,
        forwarding: Forwarding | None = None,
    ) -> None:
        self._forwarding = forwarding
        self._hsts = f"max-age={hsts_seconds}".encode() if hsts_seconds else None
        self._freshness = freshness
        self._proxies = proxies
        self._has_warned = False
        self.api_statuses = [0] * 6  # by their first digit
        self._api = api
        self._redirect = redirect
        self._dashboard = dashboard
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = _Reply(send)
        request_id.set(reply.request_id)
        started = time.perf_counter()
        worth_telling = 500  # a visitor's wrong code is not; a refused API call is
        try:
            if await self._is_for_api(scope):
                worth_telling = 400
                if SITE in scope:  # otherwise a probe, whose host may be anything
                    reply.hsts = self._hsts
                await self._api(scope, receive, reply.send)
                self.api_statuses[(reply.status or 500) // 100] += 1
            else:  # their answers are complete; the lane sends the same
                page = self._page_of(scope)
                if page is self._dashboard:
                    reply.hsts = self._hsts
                await page(scope, receive, reply.send_whole)
        except Exception:
            log.exception("request failed", method=scope["method"], path=scope["path"])
            if reply.status is None:
                await _send_internal_error(reply.send)
        # Successful requests are logged at level debug only: a line for each costs a tenth of a
        # create. So are requests during an outage, which is logged once and then as a count.
        is_outage = reply.status == HTTPStatus.SERVICE_UNAVAILABLE
        is_trouble = reply.status is None or (reply.status >= worth_telling and not is_outage)
        if OVERLOADED in scope:
            return  # logged there, not for each
        if is_trouble or log.is_enabled_for(logging.DEBUG):
            milliseconds = round((time.perf_counter() - started) * 1000, 2)
            told = {"method": scope["method"], "path": scope["path"], "status": reply.status}
            (log.info if is_trouble else log.debug)("request", **told, ms=milliseconds)

    async def _is_for_api(self, scope: Scope) -> bool:
        """Finds the request's site, and whether the API answers it."""
        self._read_headers(scope)
        path: str = scope["path"]
        if path in PROBES:
            return True
        if time.perf_counter_ns() > self._freshness.fresh_until_ns:
            await self._freshness.catch_up()
        try:
            site: Site = await self._hosts.get(scope[RAW_HOST])
        except KurzError as problem:
            scope[PROBLEM] = problem
            return False
        scope[SITE] = site
        if site.is_custom_domain:
            return False
        if path == "/":
            return bool(scope["method"] == "POST")
        return path.startswith("/api/") or path == "/api"

    def _page_of(self, scope: Scope) -> AsgiApp:
        """What answers a request that is not for the API. A workspace's own domain has no
        dashboard."""
        site = site_of(scope)
        if site is None or site.is_custom_domain or self._dashboard is None:
            return self._redirect
        return self._dashboard if self._dashboard.answers(scope) else self._redirect

    def _read_headers(self, scope: Scope) -> None:
        """Notes the Host in lower case (empty if missing or repeated, which no site answers) and
        the client's address. Corrects the address and the scheme if a trusted proxy sends them."""
        hosts = []
        forwarded_for = []
        protocol = None
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"x-forwarded-for":
                forwarded_for.append(value)
            elif name == b"x-forwarded-proto":
                protocol = value
        # The parser leaves tabs at the end of a value; they are not part of it.
        scope[RAW_HOST] = raw_host = hosts[0].strip(b" \t") if len(hosts) == 1 else None
        scope[HOST] = raw_host.decode("latin-1").lower() if raw_host else ""
        scope[CLIENT] = peer = scope["client"][0] if scope["client"] else ""
        if self._forwarding is not None and scope["path"] not in PROBES:
            self._forwarding.count(peer, scope[HOST], is_named=bool(forwarded_for))
        if forwarded_for or protocol is not None:
            self._read_forwarded(scope, peer, forwarded_for, protocol)

    def _read_forwarded(
        self, scope: Scope, peer: str, forwarded_for: list[bytes], protocol: bytes | None
    ) -> None:
        if not self._proxies.include(peer):
            if not self._has_warned:
                self._has_warned = True
                log.warning(UNTRUSTED_PROXY)
            return
        scope[CLIENT] = self._proxies.client_of(peer, forwarded_for)
        if protocol is not None:
            nearest = protocol.rpartition(b",")[2].strip().lower()
            scope["scheme"] = "https" if nearest == b"https" else "http"


class _Reply:
    """Passes an answer on, with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.request_id = next_request_id()
        self.status: int | None = None
        # On the sites that people sign in at; browsers then use HTTPS for short links there, too.
        self.hsts: bytes | None = None

    def send_whole(self, message: Message) -> Awaitable[None]:
        """An answer that is complete, except for the id of a logged error."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if message["status"] >= 500:
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", self.request_id.encode()),
                ]
            self._add_hsts(message)
        return self._send(message)

    def _add_hsts(self, message: Message) -> None:
        if self.hsts is not None:
            message["headers"] = [*message["headers"], (HSTS, self.hsts)]

    def send(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = message["headers"] = [
                *message["headers"],
                *SECURITY_HEADERS,
                (b"x-request-id", self.request_id.encode()),
            ]
            names = [name for name, _ in headers]
            if POLICY not in names:
                headers.append((POLICY, STRICTEST_POLICY))
            if CACHING not in names:
                headers.append((CACHING, UNCACHED))
            self._add_hsts(message)
        return self._send(message)


async def _send_internal_error(send: Send) -> None:
    document = {
        "type": "/api/problems/internal-error",
        "title": "Internal error",
        "status": 500,
        "detail": (
            "An unexpected error occurred. It is logged under the X-Request-Id of this response."
        ),
    }
    body = json.dumps(document).encode()
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
