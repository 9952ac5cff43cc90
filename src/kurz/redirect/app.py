"""Answers everything that is not the API: short links, their previews, and the few fixed files."""

import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol, TypedDict

import structlog

from kurz.asgi import BEGAN_NS, LOOKUP, PROBLEM, SITE, Receive, Scope, Send, client_of, origin_of
from kurz.errors import KurzError, MethodNotAllowed, StoreUnavailable
from kurz.links.codes.custom import CODE_PATTERN
from kurz.links.codes.words import is_reserved
from kurz.links.errors import FieldRefused, LinkNotFound
from kurz.links.lifecycle import Outcome
from kurz.people.errors import RequestForged
from kurz.people.limits import TooManyRequests, subject_of_address
from kurz.people.workspaces import Site
from kurz.redirect.answers import pages, wire
from kurz.redirect.answers.languages import language_of
from kurz.redirect.answers.report_form import GONE, FormRefused, ReportForm
from kurz.redirect.answers.wire import Answer
from kurz.redirect.entry import Entry
from kurz.redirect.parts import RedirectParts
from kurz.redirect.preview_bots import PreviewBots

ROBOTS = b"User-agent: *\nDisallow: /api/\nDisallow: /app/\n"
_STATIC = Path(__file__).parent / "answers" / "static"
FAVICON = (_STATIC / "favicon.ico").read_bytes()
FILES = {
    "/favicon.ico": (b"image/x-icon", FAVICON),
    "/robots.txt": (b"text/plain; charset=utf-8", ROBOTS),
}
# Only where people sign in: not on a workspace's own domain.
PAGE_FILES = {"/assets/one-time.js": (b"text/javascript", (_STATIC / "one-time.js").read_bytes())}

_PATH = re.compile(rf"/(?:@(?P<slug>[A-Za-z0-9-]{{1,64}})/)?(?P<code>{CODE_PATTERN})(?P<plus>\+)?")


log = structlog.get_logger()


class ClickLimits(Protocol):
    async def spend_click(self, link_id: int) -> bool:
        """False: the limit of the link is reached."""


class RedirectApp:
    """An ASGI application. `base_url` None: short URLs are shown under the request's host.
    `is_public` False: previews are only for people with an account, which `is_member` checks.
    `is_refused` says that links may no longer lead to a URL."""

    def __init__(
        self,
        parts: RedirectParts,
        links: ClickLimits,
        reports: ReportForm,
        *,
        base_url: str | None,
        is_public: bool,
        is_member: Callable[[Scope], Awaitable[bool]],
        is_refused: Callable[[str], bool],
    ) -> None:
        self._resolver = parts.resolver
        self._slugs = parts.slugs
        self._links = links
        self._visits = parts.visits
        self._misses = parts.misses
        self._clock = parts.clock
        self._counters = parts.visits.counters
        self._reports = reports
        self._contact = parts.contact
        self._dashboard = parts.dashboard
        self._preview_bots = PreviewBots()
        self._base_url = base_url
        self._is_public = is_public
        self._is_member = is_member
        self._is_refused = is_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = _Visit(scope)
        visit.receive = receive
        try:
            answer = await self._answer(visit)
        except StoreUnavailable as outage:
            _tell(outage)
            answer = wire.failure(outage, **visit.presentation)
            self._counters.unavailable += 1
        await send(
            {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
        )
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, visit: "_Visit") -> Answer:
        if visit.problem is not None:
            if isinstance(visit.problem, StoreUnavailable):
                _tell(visit.problem)
            return wire.failure(visit.problem, **visit.presentation)
        match = _PATH.fullmatch(visit.path) if visit.method == "POST" else None
        if match is not None and match["plus"]:
            return await self._report(visit, match)
        if visit.method not in ("GET", "HEAD"):
            refused = MethodNotAllowed("Short links can only be requested with GET or HEAD.")
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
        if visit.site.is_custom_domain or not visit.site.has_pages:
            return None
        file = PAGE_FILES.get(visit.path)
        if file is not None:
            return wire.file(*file)
        folder, _, act = visit.path.rpartition("/")
        if folder == "/app" and act in pages.ONE_TIME_ACTS:
            return wire.page(pages.one_time(act, visit.presentation["language"]))
        return None

    def _front(self, visit: "_Visit") -> Answer:
        if not visit.site.is_custom_domain:
            front = pages.home(base_url=self._origin(visit), is_public=self._is_public)
            return wire.page(front, vary=b"accept")
        if visit.site.root_url is None:
            return wire.dead(Outcome.MISSING, **visit.presentation)
        if self._is_refused(visit.site.root_url):
            return wire.dead(Outcome.BANNED, contact=self._contact, **visit.presentation)
        return wire.redirect_to(visit.site.root_url)

    async def _follow(self, visit: "_Visit") -> Answer:
        match = _PATH.fullmatch(visit.path)
        workspace_id = None if match is None else await self._workspace_of(visit, match)
        if match is None or workspace_id is None or is_reserved(match["code"]):
            return await self._miss(visit)
        looked_up = visit.scope.get(LOOKUP)
        if looked_up is not None:  # by the lane, which then declined
            entry = looked_up.result()
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
        if not visit.site.has_codes:
            return None
        slug = match["slug"]
        if slug is None:
            return visit.site.workspace_id
        return None if visit.site.is_custom_domain else await self._slugs.find(slug)

    async def _answer_with(self, entry: Entry, visit: "_Visit", *, is_preview: bool) -> Answer:
        now = self._clock.micros()
        outcome = entry.outcome(now)
        if outcome is Outcome.HELD and not is_preview:
            return self._held(entry, visit)
        if outcome not in (Outcome.REDIRECT, Outcome.HELD):
            return self._dead(outcome, visit, entry)
        if entry.starts_at is not None:  # it has begun since
            self._derive(entry, now)
        if is_preview or (
            entry.is_limited and await self._preview_bots.include(visit.method, visit.header)
        ):
            if is_preview and not (self._is_public or await self._is_member(visit.scope)):
                return await self._miss(visit)
            return wire.preview(
                entry,
                self._origin(visit) + visit.path.removesuffix("+"),
                now,
                shows_destination=not entry.is_limited,
                **visit.presentation,
                contact=self._contact,
            )
        if entry.is_limited and not await self._links.spend_click(entry.link_id):
            entry.settled = Outcome.EXHAUSTED
            self._derive(entry, now)
            return self._dead(Outcome.EXHAUSTED, visit)
        if visit.method == "GET":
            described = self._visits.describe(client_of(visit.scope), visit.header)
            self._visits.record([(entry.link_tag, described, visit.began_ns)])
        return wire.redirect(entry, visit.query, now)

    def _derive(self, entry: Entry, now: int) -> None:
        entry.derive(now)
        self._resolver.hot.update(entry)

    async def _miss(self, visit: "_Visit") -> Answer:
        """404, or 429 for a visitor who tries many codes. A hidden link counts like an unknown
        code, so that the count cannot reveal it. Links that work are never limited."""
        try:
            await self._misses.charge(visit.subject)
        except TooManyRequests as refusal:
            self._counters.limited += 1
            return wire.failure(refusal, **visit.presentation)
        return self._dead(Outcome.MISSING, visit)

    def _held(self, entry: Entry, visit: "_Visit") -> Answer:
        self._counters.outcomes[Outcome.HELD] += 1
        short_url = self._origin(visit) + visit.path
        return wire.held(entry, short_url, **visit.presentation)

    def _dead(self, outcome: Outcome, visit: "_Visit", entry: Entry | None = None) -> Answer:
        self._counters.outcomes[outcome] += 1
        is_own = entry is not None and not entry.is_of_workspace
        return wire.dead(
            outcome,
            **visit.presentation,
            contact=self._contact,
            dashboard=self._dashboard if is_own else None,
        )

    async def _report(self, visit: "_Visit", match: re.Match[str]) -> Answer:
        """The form of a preview. A visitor who may not see the preview gets the same answer as
        there."""
        workspace_id = await self._workspace_of(visit, match)
        if workspace_id is None or is_reserved(match["code"]):
            return await self._miss(visit)
        async with self._misses.turn(visit.subject):
            entry = await self._resolver.get(workspace_id, match["code"])
        outcome = entry.outcome(self._clock.micros())
        is_hidden = not (self._is_public or await self._is_member(visit.scope))
        if outcome is Outcome.MISSING or is_hidden:
            return await self._miss(visit)
        if outcome in GONE:
            return self._dead(outcome, visit, entry)
        try:
            short_url = self._origin(visit) + visit.path.removesuffix("+")
            place = workspace_id, match["code"], short_url
            await self._reports.take(
                place, visit.subject, visit.origin, visit.header, visit.receive
            )
        except LinkNotFound:  # it was deleted a moment ago
            return await self._miss(visit)
        except (FieldRefused, RequestForged, TooManyRequests, FormRefused) as refusal:
            return wire.unreported(refusal, **visit.presentation)
        return wire.reported(self._contact, **visit.presentation)

    def _origin(self, visit: "_Visit") -> str:
        """What the short URLs of the visited site start with."""
        return visit.origin if visit.site.is_custom_domain else self._base_url or visit.origin


class _Presentation(TypedDict):
    as_page: bool
    language: str


def _tell(outage: StoreUnavailable) -> None:
    cause = str(outage.__cause__)
    log.warning("unavailable", code=outage.code, detail=outage.detail, cause=cause)


class _Visit:
    """What a request to a short link says."""

    receive: Receive

    def __init__(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        self.header = headers.get
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.problem: KurzError | None = scope.get(PROBLEM)
        self.wants_page = b"text/html" in headers.get(b"accept", b"").lower()
        self.began_ns: int = scope.get(BEGAN_NS) or time.perf_counter_ns()
        self.origin = origin_of(scope)
        self.scope = scope

    @property
    def presentation(self) -> "_Presentation":
        """How an answer other than a redirect is shown."""
        language = language_of(self.header(b"accept-language") or b"")
        return {"as_page": self.wants_page, "language": language}

    @property
    def site(self) -> Site:
        site: Site = self.scope[SITE]
        return site

    @property
    def subject(self) -> str:
        """Who is charged for a miss."""
        return subject_of_address(client_of(self.scope))
