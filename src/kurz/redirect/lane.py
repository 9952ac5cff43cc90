"""The fast lane: answers what is in memory from the bytes of the request to the bytes of the
answer, without a scope, a task or an await.

It takes a chunk that is exactly one ordinary GET: complete, alone, without a body. Everything else
that HTTP allows (other methods, pipelines, partial requests) takes the ASGI path, which gives the
same answers. A chunk for a link that is not in memory is parked until it is.
"""

import asyncio
import itertools
import re
import time
from collections.abc import Callable
from email.utils import formatdate
from enum import IntEnum
from typing import Any, Protocol

from kurz.freshness.ports import NotNow
from kurz.links.codes.custom import CODE_PATTERN
from kurz.links.codes.words import is_reserved
from kurz.links.lifecycle import Outcome
from kurz.redirect.answers import wire
from kurz.redirect.answers.languages import ENGLISH, GERMAN
from kurz.redirect.entry import prefix_of
from kurz.redirect.head import HeadReader, Proxies, RequestHead, Sites
from kurz.redirect.packed import (
    ASGI_ONLY,
    ENDS,
    FORWARDS_QUERY,
    LATE_TAIL,
    TAIL,
    UNTIL_AT,
    lane_part,
    until_part,
)
from kurz.redirect.parts import RedirectParts
from kurz.redirect.visits import Visit

RENEW_SECONDS = 1.0  # between two calls of `renew`
_START = b"GET /"
_VERSION = b" HTTP/1."
# What the parser of the ASGI path accepts in any case.
_PLAIN_QUERY = re.compile(rb"[!\"$-~]{0,4096}")
_KEY = re.compile(rb"(\d*)/(%s)" % CODE_PATTERN.encode())
_GONE = (Outcome.MISSING, Outcome.EXPIRED, Outcome.EXHAUSTED, Outcome.BANNED)

_Answer = tuple[Any, bytes, bool]  # a transport, what is sent to it, and whether it closes then


class LaneResult(IntEnum):
    DECLINED = 0  # the chunk takes the ASGI path
    ANSWERED = 1  # at the end of this turn of the loop
    PARKED = 2  # until the link has been looked up


class Client(Protocol):
    """A connection. `is_waiting`: it has a parked chunk. `is_last`: it ends with the answer that it
    was given. Only the lane uses `lane_…`."""

    transport: Any
    client: tuple[str, int] | None
    deadline: float
    lane_head: bytes | None
    lane_parsed: Any
    is_last: bool
    is_waiting: bool

    def park(self, data: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        """Offers the chunk again when the task has ended, and reads nothing else before."""


class FreshUntil(Protocol):
    fresh_until_ns: int
    """Until when memory may be used, by `time.perf_counter_ns`."""


class Lane:
    def __init__(
        self, parts: RedirectParts, sites: Sites, proxies: Proxies, freshness: FreshUntil
    ) -> None:
        self._parts = parts
        self._resolver = parts.resolver
        self._hot = parts.resolver.hot
        self._entries = parts.resolver.hot.entries
        self._absences = parts.resolver.hot.absences
        self._used = parts.resolver.hot.used
        self._visits = parts.visits
        self._counters = parts.visits.counters
        self._micros = parts.clock.micros
        self._reader = HeadReader(sites, proxies, parts.visits)
        self._freshness = freshness
        # For chunks that are not a GET: the answer, or None if the chunk takes the ASGI path.
        self.answer_other: Callable[[bytes], bytes | None] = lambda _: None
        self._others = 0  # of those that wait
        self._epoch = object()
        self._generation = 0  # of the visitors' salt
        self._waiting: list[_Answer] = []
        self._redirects: list[Visit] = []  # of those that wait
        self._call_soon: Callable[..., Any] = _not_started
        self._idle_until = 0.0
        self._is_feed_stale = False
        self._heads: list[bytes] = []  # in the order of `REDIRECT_STATUSES`
        # By outcome and whether it is a workspace's link; then by `RequestHead.page_language`.
        self._dead: dict[tuple[Outcome, bool], dict[str, bytes]] = {}

    def renew(self, keep_alive_seconds: float) -> None:
        """Called once a second: renews the date of the answers, and how long connections may be
        idle."""
        loop = asyncio.get_running_loop()
        self._call_soon = loop.call_soon
        # Long enough for a connection that is used just before the next call.
        self._idle_until = loop.time() + RENEW_SECONDS + keep_alive_seconds
        self._is_feed_stale = self._resolver.is_feed_stale
        if self._visits.generation != self._generation:
            self._begin_day()
        date = formatdate(usegmt=True).encode()
        self._heads = wire.plain_heads(date)
        for outcome, is_of_workspace in itertools.product(_GONE, (False, True)):
            dashboard = None if is_of_workspace else self._parts.dashboard
            self._dead[outcome, is_of_workspace] = {
                page_language: wire.to_bytes(
                    self._dead_answer(outcome, page_language, dashboard), date
                )
                for page_language in ("", ENGLISH, GERMAN)
            }

    def _dead_answer(
        self, outcome: Outcome, page_language: str, dashboard: str | None
    ) -> wire.Answer:
        return wire.dead(
            outcome,
            as_page=page_language != "",
            contact=self._parts.contact,
            dashboard=dashboard,
            language=page_language or ENGLISH,
        )

    def forget_heads(self) -> None:
        """Sites or the salt of the day have changed: every head is parsed again."""
        self._epoch = object()

    def answer(self, client: Client, data: bytes, began: int = 0) -> LaneResult:
        """Answers a chunk that is one whole request, at the end of this turn of the loop. A parked
        chunk is offered again, with the time of its arrival."""
        has_waited = began > 0
        began = began or time.perf_counter_ns()
        end = data.find(_VERSION)
        if end < 0 or data[:5] != _START or began > self._freshness.fresh_until_ns:
            # The last condition: it may have come while this process was paused.
            return self._answer_other(client, data)
        head = data[end:]
        parsed = client.lane_parsed
        if head != client.lane_head or parsed.epoch is not self._epoch:
            parsed = self._read(client, head)
            if parsed is None:
                return LaneResult.DECLINED
        path = data[4:end]
        query = b""
        if b"?" in path:
            path, _, query = path.partition(b"?")
            if _PLAIN_QUERY.fullmatch(query) is None:
                return LaneResult.DECLINED
        key = parsed.prefix + path if path[1:2] != b"@" else self._key_of_slug(parsed, path)
        packed = self._entries.get(key) or self._absences.get(key)
        if packed is None or (self._is_feed_stale and not self._resolver.is_checked(key)):
            packed = None if has_waited else self._load(client, key, parsed, data, began)
            if packed is None:
                return LaneResult.PARKED if client.is_waiting else LaneResult.DECLINED
        flags, status, slot, link_tag = lane_part(packed)
        if flags and (
            flags & ASGI_ONLY
            or (flags & ENDS and self._micros() >= until_part(packed, UNTIL_AT)[0])
        ):
            return self._answer_dead(client, key, parsed, has_waited=has_waited)
        tail = packed[LATE_TAIL if flags & ENDS else TAIL]
        if query and flags & FORWARDS_QUERY:
            tail = wire.merged_tail(tail, query.decode())
        self._used[slot] = 1
        self._redirects.append((link_tag, parsed.visit, began))
        return self._send(client, self._heads[status] + tail, closes=parsed.closes)

    def _answer_dead(
        self, client: Client, key: bytes, parsed: RequestHead, *, has_waited: bool
    ) -> LaneResult:
        """Declines a redirect, a warning (it differs for each link), and a miss that was looked up:
        the ASGI path counts that one against the visitor."""
        now = self._micros()
        entry = None if has_waited else self._hot.peek(key, now)
        if entry is None or (outcome := entry.outcome(now)) not in _GONE:
            return LaneResult.DECLINED
        self._counters.outcomes[outcome] += 1
        answer = self._dead[outcome, entry.is_of_workspace][parsed.page_language]
        return self._send(client, answer, closes=parsed.closes)

    def _answer_other(self, client: Client, data: bytes) -> LaneResult:
        answer = self.answer_other(data)
        if answer is None:
            return LaneResult.DECLINED
        self._others += 1
        return self._send(client, answer)

    def _send(self, client: Client, answer: bytes, *, closes: bool = False) -> LaneResult:
        if not self._waiting:
            self._call_soon(self.flush)
        if closes:
            client.is_last = True
            answer = wire.closing(answer)
        self._waiting.append((client.transport, answer, closes))
        client.deadline = self._idle_until
        return LaneResult.ANSWERED

    def flush(self) -> None:
        """Writes the records of this turn, in one write; then sends its answers. May be called
        before the turn ends, if a connection is about to be closed."""
        waiting, self._waiting = self._waiting, []
        if self._redirects:
            redirects, self._redirects = self._redirects, []
            self._visits.record(redirects)
            if self._visits.generation != self._generation:
                self._begin_day()
        self._counters.lane_answers += len(waiting) - self._others
        self._others = 0
        for transport, answer, closes in waiting:
            transport.write(answer)
            if closes:
                transport.close()

    def _begin_day(self) -> None:
        """Visitors have new hashes from now on."""
        self._generation = self._visits.generation
        self.forget_heads()

    def _load(
        self, client: Client, key: bytes, parsed: RequestHead, data: bytes, began: int
    ) -> bytes | None:
        """The entry from the store, if that does not wait; else the chunk is parked. Unknown codes
        are left to the ASGI path, which charges misses."""
        match = _KEY.fullmatch(key)
        if match is None or is_reserved(code := match[2].decode()):
            return None
        workspace_id = int(match[1] or 0)
        try:
            return self._entries.get(key) if self._resolver.load_now(workspace_id, code) else None
        except NotNow:
            if not self._parts.misses.is_slowed(parsed.subject):
                client.park(data, began, self._resolver.fetch(workspace_id, code))
            return None

    def _key_of_slug(self, parsed: RequestHead, path: bytes) -> bytes:
        """The key of `/@slug/code`; empty if the slug is unknown here, or not known yet."""
        slug, _, code = path[2:].partition(b"/")
        workspace_id = self._parts.slugs.known.get(slug.decode("latin-1"))
        if workspace_id is None or parsed.is_custom_domain:
            return b""
        return prefix_of(workspace_id) + b"/" + code

    def _read(self, client: Client, head: bytes) -> RequestHead | None:
        """Reads a head that differs from the connection's last one. None: it takes the ASGI
        path."""
        client.lane_head = None
        peer = client.client[0] if client.client else ""
        parsed = self._reader.read(peer, head, self._epoch)
        if parsed is not None:
            client.lane_parsed = parsed
            client.lane_head = head
        return parsed


def _not_started(*_: object) -> None:
    raise RuntimeError("the lane serves before `renew`")
