"""Answers everything that is not the API: short links, their previews, and the few fixed files."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import structlog

from kurz.clock import Clock
from kurz.errors import KurzError, MethodNotAllowed, StoreUnavailable
from kurz.links import lifecycle
from kurz.links.codes.custom import CODE_PATTERN
from kurz.links.codes.words import is_reserved
from kurz.links.lifecycle import Outcome
from kurz.links.model import Link
from kurz.links.ports import LinkStore
from kurz.people.limits import LimitClass, Limits, TooManyRequests, subject_of_address
from kurz.people.workspaces import Site, WorkspaceStore
from kurz.redirect import pages, wire
from kurz.redirect.wire import Answer

ROBOTS = b"User-agent: *\nDisallow: /api/\nDisallow: /app/\n"
_STATIC = Path(__file__).parent / "static"
FAVICON = (_STATIC / "favicon.ico").read_bytes()
FILES = {
    "/favicon.ico": (b"image/x-icon", FAVICON),
    "/robots.txt": (b"text/plain; charset=utf-8", ROBOTS),
}
# Only where people sign in: not on a workspace's own domain.
PAGE_FILES = {"/assets/one-time.js": (b"text/javascript", (_STATIC / "one-time.js").read_bytes())}

_PATH = re.compile(rf"/(?:@(?P<slug>[A-Za-z0-9-]{{1,64}})/)?(?P<code>{CODE_PATTERN})(?P<plus>\+)?")

Scope = MutableMapping[str, Any]

log = structlog.get_logger()


class RedirectApp:
    """An ASGI application. `base_url` None: short URLs are shown under the request's host.
    `is_public` False: previews are for people with an account, which `is_member` tells."""

    def __init__(
        self,
        links: LinkStore,
        workspaces: WorkspaceStore,
        clock: Clock,
        limits: Limits,
        *,
        base_url: str | None,
        is_public: bool,
        is_member: Callable[[Scope], Awaitable[bool]],
    ) -> None:
        self._links = links
        self._workspaces = workspaces
        self._clock = clock
        self._limits = limits
        self._base_url = base_url
        self._is_public = is_public
        self._is_member = is_member

    async def __call__(
        self,
        scope: Scope,
        _: object,
        send: Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ) -> None:
        visit = _Visit(scope)
        try:
            answer = await self._answer(visit)
        except StoreUnavailable as outage:
            cause = str(outage.__cause__)
            log.warning("unavailable", code=outage.code, detail=outage.detail, cause=cause)
            answer = wire.failure(outage, as_page=visit.wants_page)
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, visit: "_Visit") -> Answer:
        if visit.problem is not None:
            return wire.failure(visit.problem, as_page=visit.wants_page)
        if visit.method not in ("GET", "HEAD"):
            refused = MethodNotAllowed("Short links are followed with GET or HEAD.")
            makes_links = visit.path == "/" and not visit.site.is_custom_domain
            allowed = b"GET, HEAD, POST" if makes_links else b"GET, HEAD"
            return wire.failure(refused, as_page=False, allowed_methods=allowed)
        if visit.path == "/":
            return self._front(visit)
        file = FILES.get(visit.path)
        if file is not None:
            return wire.file(*file)
        return self._page(visit) or await self._follow(visit)

    def _page(self, visit: "_Visit") -> Answer | None:
        """The pages of one-time links, and what they need."""
        if visit.site.is_custom_domain:
            return None
        file = PAGE_FILES.get(visit.path)
        if file is not None:
            return wire.file(*file)
        folder, _, act = visit.path.rpartition("/")
        if folder == "/app" and act in pages.ONE_TIME_ACTS:
            return wire.page(pages.one_time(act))
        return None

    def _front(self, visit: "_Visit") -> Answer:
        if not visit.site.is_custom_domain:
            return wire.page(pages.home(base_url=self._origin(visit), is_public=self._is_public))
        if visit.site.root_url is None:
            return wire.dead(Outcome.MISSING, as_page=visit.wants_page)
        return wire.redirect_to(visit.site.root_url)

    async def _follow(self, visit: "_Visit") -> Answer:
        link, is_preview = await self._find(visit)
        now = self._clock.now()
        outcome = Outcome.MISSING if link is None else lifecycle.outcome(link, now)
        if outcome is Outcome.MISSING:
            return await self._miss(visit)
        if link is None or outcome is not Outcome.REDIRECT:
            return wire.dead(outcome, as_page=visit.wants_page)
        is_limited = link.max_clicks is not None
        if is_preview or (is_limited and visit.is_only_looking):
            if is_preview and not (self._is_public or await self._is_member(visit.scope)):
                return await self._miss(visit)
            return wire.preview(
                link,
                self._origin(visit) + visit.path.removesuffix("+"),
                now,
                shows_destination=not is_limited,
                as_page=visit.wants_page,
            )
        if is_limited and not await self._links.spend_click(link.id):
            return wire.dead(Outcome.EXHAUSTED, as_page=visit.wants_page)
        return wire.redirect(link, visit.query, now)

    async def _miss(self, visit: "_Visit") -> Answer:
        """404, or 429 for whoever tries many codes. What exists but is hidden counts like what does
        not exist, or the count would tell them apart. Links that work are never limited."""
        try:
            await self._limits.check(LimitClass.MISS, subject_of_address(visit.client))
        except TooManyRequests as refusal:
            return wire.failure(refusal, as_page=visit.wants_page)
        return wire.dead(Outcome.MISSING, as_page=visit.wants_page)

    def _origin(self, visit: "_Visit") -> str:
        """What the short URLs of the visited site start with."""
        return visit.origin if visit.site.is_custom_domain else self._base_url or visit.origin

    async def _find(self, visit: "_Visit") -> tuple[Link | None, bool]:
        """The link a path means, and whether the path asks for its preview."""
        match = _PATH.fullmatch(visit.path)
        if match is None or is_reserved(match["code"]):
            return None, False
        workspace_id = visit.site.workspace_id
        if match["slug"] is not None:
            if visit.site.is_custom_domain:
                return None, False
            workspace = await self._workspaces.find_by_slug(match["slug"].lower())
            if workspace is None:
                return None, False
            workspace_id = workspace.id
        return await self._links.find_by_code(workspace_id, match["code"]), bool(match["plus"])


class _Visit:
    """What matters of a request to a short link."""

    def __init__(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.problem: KurzError | None = scope.get("kurz.problem")
        self.wants_page = b"text/html" in headers.get(b"accept", b"").lower()
        purpose = headers.get(b"sec-purpose", b"") + headers.get(b"purpose", b"")
        self.is_only_looking = self.method == "HEAD" or b"prefetch" in purpose
        self.origin = f"{scope['scheme']}://{scope['kurz.host']}"
        self.scope = scope

    @property
    def site(self) -> Site:
        site: Site = self.scope["kurz.site"]
        return site

    @property
    def client(self) -> str:
        """The visitor's address."""
        address: str = self.scope["kurz.client"]
        return address
