"""Answers everything that is not the API: short links, their previews, and the few fixed files."""

import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

import structlog

from kurz.clock import Clock
from kurz.errors import KurzError, MethodNotAllowed, StoreUnavailable
from kurz.links.codes.custom import CODE_PATTERN
from kurz.links.codes.words import is_reserved
from kurz.links.lifecycle import Outcome
from kurz.links.ports import LinkStore
from kurz.people.limits import TooManyRequests, subject_of_address
from kurz.people.workspaces import Site
from kurz.redirect import pages, wire
from kurz.redirect.clicks import ClickWriter
from kurz.redirect.entry import Entry
from kurz.redirect.misses import Misses
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.tally import Tally
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
        resolver: Resolver,
        slugs: Slugs,
        links: LinkStore,
        clicks: ClickWriter,
        misses: Misses,
        clock: Clock,
        tally: Tally,
        *,
        base_url: str | None,
        is_public: bool,
        is_member: Callable[[Scope], Awaitable[bool]],
    ) -> None:
        self._resolver = resolver
        self._slugs = slugs
        self._links = links
        self._clicks = clicks
        self._misses = misses
        self._clock = clock
        self._tally = tally
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
            self._tally.unavailable += 1
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
        match = _PATH.fullmatch(visit.path)
        workspace_id = None if match is None else await self._workspace_of(visit, match)
        if match is None or workspace_id is None or is_reserved(match["code"]):
            return await self._miss(visit)
        waited_for = visit.scope.get("kurz.waited_for")
        if waited_for is not None:  # by the lane, which leaves the rest to us
            entry = waited_for.result()
        else:
            entry = self._resolver.peek(workspace_id, match["code"])
            if entry is not None:
                return await self._answer_with(entry, visit, is_preview=bool(match["plus"]))
            async with self._misses.turn(visit.subject):
                entry = await self._resolver.get(workspace_id, match["code"])
        if entry.outcome(self._clock.micros()) is Outcome.MISSING:
            return await self._miss(visit)
        return await self._answer_with(entry, visit, is_preview=bool(match["plus"]))

    async def _workspace_of(self, visit: "_Visit", match: re.Match[str]) -> int | None:
        slug = match["slug"]
        if slug is None:
            return visit.site.workspace_id
        return None if visit.site.is_custom_domain else await self._slugs.find(slug)

    async def _answer_with(self, entry: Entry, visit: "_Visit", *, is_preview: bool) -> Answer:
        now = self._clock.micros()
        outcome = entry.outcome(now)
        if outcome is not Outcome.REDIRECT:
            return self._dead(outcome, visit)
        if not entry.is_plain:
            entry.settle(now)  # it may have begun since
        if is_preview or (entry.is_limited and visit.is_only_looking):
            if is_preview and not (self._is_public or await self._is_member(visit.scope)):
                return await self._miss(visit)
            return wire.preview(
                entry,
                self._origin(visit) + visit.path.removesuffix("+"),
                now,
                shows_destination=not entry.is_limited,
                as_page=visit.wants_page,
            )
        if entry.is_limited and not await self._links.spend_click(entry.link_id):
            entry.settled = Outcome.EXHAUSTED
            entry.settle(now)
            return self._dead(Outcome.EXHAUSTED, visit)
        if visit.method == "GET":
            described = self._clicks.describe(visit.scope["kurz.client"], visit.header)
            latency_ns = self._clicks.record(entry.mark, described, visit.began_ns)
            self._tally.time(latency_ns)
            self._tally.outcomes[Outcome.REDIRECT] += 1
        return wire.redirect(entry, visit.query, now)

    async def _miss(self, visit: "_Visit") -> Answer:
        """404, or 429 for whoever tries many codes. What exists but is hidden counts like what does
        not exist, or the count would tell them apart. Links that work are never limited."""
        try:
            await self._misses.charge(visit.subject)
        except TooManyRequests as refusal:
            self._tally.limited += 1
            return wire.failure(refusal, as_page=visit.wants_page)
        return self._dead(Outcome.MISSING, visit)

    def _dead(self, outcome: Outcome, visit: "_Visit") -> Answer:
        self._tally.outcomes[outcome] += 1
        return wire.dead(outcome, as_page=visit.wants_page)

    def _origin(self, visit: "_Visit") -> str:
        """What the short URLs of the visited site start with."""
        return visit.origin if visit.site.is_custom_domain else self._base_url or visit.origin


class _Visit:
    """What matters of a request to a short link."""

    def __init__(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self.header = headers.get
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.problem: KurzError | None = scope.get("kurz.problem")
        self.wants_page = b"text/html" in headers.get(b"accept", b"").lower()
        purpose = headers.get(b"sec-purpose", b"") + headers.get(b"purpose", b"")
        self.is_only_looking = self.method == "HEAD" or b"prefetch" in purpose
        self.began_ns: int = scope.get("kurz.began_ns") or time.perf_counter_ns()
        self.origin = f"{scope['scheme']}://{scope['kurz.host']}"
        self.scope = scope

    @property
    def site(self) -> Site:
        site: Site = self.scope["kurz.site"]
        return site

    @property
    def subject(self) -> str:
        """Who is counted, if it comes to nothing."""
        return subject_of_address(self.scope["kurz.client"])
