"""The fast lane: answers what is in memory from the bytes of the request to the bytes of the
answer, without a scope, a task or an await.

It takes a chunk that is exactly one ordinary GET: whole, alone, HTTP/1.1, without a body. Whatever
else HTTP allows (other methods, pipelines, pieces, a client that wants to close) goes the long way,
which gives the same answers. For a link that is not in memory the chunk is put aside until it is.
"""

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Mapping
from email.utils import formatdate
from typing import Any, Protocol

import httptools

from kurz.clicks.journal import Journal
from kurz.clicks.record import encode
from kurz.clicks.visitors import Visitors
from kurz.clock import Clock
from kurz.links.codes.custom import CODE_PATTERN
from kurz.links.codes.words import is_reserved
from kurz.links.lifecycle import Outcome
from kurz.links.ports import NotNow
from kurz.people.limits import subject_of_address
from kurz.people.workspaces import Site
from kurz.redirect import wire
from kurz.redirect.clicks import ClickWriter
from kurz.redirect.entry import Entry, prefix_of
from kurz.redirect.languages import ENGLISH, GERMAN, language_of
from kurz.redirect.misses import Misses
from kurz.redirect.resolve import Resolver
from kurz.redirect.slugs import Slugs
from kurz.redirect.tally import Tally

RENEW_SECONDS = 1.0  # between two calls of `renew`
_START = b"GET /"
_VERSION = b" HTTP/1.1\r\n"
# What is longer goes the long way: how long a head may be is decided there, and it is more than
# these two together.
MAX_HEADER_BYTES = 8 * 1024
# What the parser of the long way takes in any case.
_PLAIN_QUERY = re.compile(rb"[!\"$-~]{0,4096}")
_KEY = re.compile(rb"(\d*)/(%s)" % CODE_PATTERN.encode())
_DEATHS = (Outcome.MISSING, Outcome.EXPIRED, Outcome.EXHAUSTED, Outcome.BANNED)

# A transport, its bytes, the link's mark (None: nothing to record), the visit, when it began.
_Answer = tuple[Any, bytes, bytes | None, bytes, int]


class Client(Protocol):
    """A connection. `is_waiting`: a chunk of it is put aside. `lane_…` is the lane's own."""

    transport: Any
    client: tuple[str, int] | None
    deadline: float
    lane_head: bytes | None
    lane_note: Any
    is_waiting: bool

    def put_aside(self, data: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        """Offers the chunk again when the task has ended, and hears of nothing else before."""


class Sites(Protocol):
    @property
    def known(self) -> Mapping[bytes, Site]:
        """By Host headers, to the letter."""


class Freshness(Protocol):
    fresh_until_ns: int
    """Until when memory may be used, by `time.perf_counter_ns`."""


class Proxies(Protocol):
    def client_of(self, peer: str, forwarded_for: list[bytes]) -> str: ...


class Lane:
    def __init__(
        self,
        resolver: Resolver,
        sites: Sites,
        slugs: Slugs,
        clicks: ClickWriter,
        visitors: Visitors,
        journal: Journal,
        proxies: Proxies,
        misses: Misses,
        clock: Clock,
        tally: Tally,
        freshness: Freshness,
        contact: str | None = None,
        dashboard: str | None = None,
    ) -> None:
        """`contact` and `dashboard`: whom to ask about links, and where to find one's own, as
        `wire.dead` has them."""
        self._misses = misses
        self._resolver = resolver
        self._entries = resolver.hot.entries
        self._absences = resolver.hot.absences
        self._sites = sites
        self._slugs = slugs
        self._clicks = clicks
        self._visitors = visitors
        self._journal = journal
        self._proxies = proxies
        self._micros = clock.micros
        self._tally = tally
        self._freshness = freshness
        # For what is no GET: the answer to a chunk, or None, and it takes the ASGI path.
        self.answer_other: Callable[[bytes], bytes | None] = lambda _: None
        self._others = 0  # of those that wait
        self._contact = contact
        self._dashboard = dashboard
        self._scout = _Scout()
        self._epoch = object()
        self._generation = 0  # of the visitors' salt
        self._waiting: list[_Answer] = []
        self._call_soon: Callable[..., Any] = _not_started
        self._idle_until = 0.0
        self._is_feed_stale = False
        self._heads: dict[int, bytes] = {}
        # By whether they were a workspace's, and by how they are told, as a note has it.
        self._dead: dict[tuple[Outcome, bool], dict[str, bytes]] = {}

    def renew(self, keep_alive_seconds: float) -> None:
        """Once a second: the date of the answers, and how long a connection may now be idle."""
        loop = asyncio.get_running_loop()
        self._call_soon = loop.call_soon
        # Also for a connection that is used just before the next time.
        self._idle_until = loop.time() + RENEW_SECONDS + keep_alive_seconds
        self._is_feed_stale = self._resolver.is_feed_stale
        if self._visitors.generation != self._generation:
            self._begin_day()
        date = formatdate(usegmt=True).encode()
        self._heads = wire.plain_heads(date)
        for outcome, is_of_workspace in itertools.product(_DEATHS, (False, True)):
            dashboard = None if is_of_workspace else self._dashboard
            self._dead[outcome, is_of_workspace] = {
                manner: wire.to_bytes(self._dead_answer(outcome, manner, dashboard), date)
                for manner in ("", ENGLISH, GERMAN)
            }

    def _dead_answer(self, outcome: Outcome, manner: str, dashboard: str | None) -> wire.Answer:
        return wire.dead(
            outcome,
            as_page=manner != "",
            contact=self._contact,
            dashboard=dashboard,
            language=manner or ENGLISH,
        )

    def forget_heads(self) -> None:
        """Sites or the salt of the day are others now: every head is read anew."""
        self._epoch = object()

    def answer(self, client: Client, data: bytes, began: int = 0) -> bool:
        """True: the chunk was a request, and is answered at the end of this turn of the loop, or
        put aside. Such a one is offered again with the instant at which it came."""
        has_waited = began > 0
        began = began or time.perf_counter_ns()
        end = data.find(_VERSION)
        if end < 0 or data[:5] != _START or began > self._freshness.fresh_until_ns:
            # The last: it may have come while this process was paused.
            return self._answer_other(client, data, began)
        head = data[end:]
        note = client.lane_note
        if head != client.lane_head or note.epoch is not self._epoch:
            note = self._read(client, data, head)
            if note is None:
                return False
        path = data[4:end]
        query = b""
        if b"?" in path:
            path, _, query = path.partition(b"?")
            if _PLAIN_QUERY.fullmatch(query) is None:
                return False
        key = note.prefix + path if path[1:2] != b"@" else self._key_of_slug(note, path)
        entry = self._entries.get(key) or self._absences.get(key)
        if entry is None or (self._is_feed_stale and not self._resolver.is_checked(key)):
            entry = None if has_waited else self._load(client, key, note, data, began)
            if entry is None:
                return client.is_waiting
        until = entry.plain_until
        if not entry.is_plain or (until is not None and self._micros() >= until):
            # What does not exist is counted by others against whoever has made us look.
            return not has_waited and self._answer_dead(client, entry, note, began)
        tail = entry.tail
        if query and entry.forward_query:
            tail = wire.merged_tail(entry, query.decode())
        entry.was_used = True
        answer = self._heads[entry.redirect_status] + tail
        self._send(client, (client.transport, answer, entry.mark, note.visit, began))
        return True

    def _answer_dead(self, client: Client, entry: Entry, note: "_Note", began: int) -> bool:
        now = self._micros()
        outcome = entry.outcome(now)
        if outcome not in _DEATHS or entry.is_stale(now):
            return False  # a redirect, or a warning that is another one for each link
        entry.was_used = True
        self._tally.outcomes[outcome] += 1
        answer = self._dead[outcome, entry.is_of_workspace][note.manner]
        self._send(client, (client.transport, answer, None, note.visit, began))
        return True

    def _answer_other(self, client: Client, data: bytes, began: int) -> bool:
        answer = self.answer_other(data)
        if answer is None:
            return False
        self._others += 1
        self._send(client, (client.transport, answer, None, b"", began))
        return True

    def _send(self, client: Client, answer: _Answer) -> None:
        if not self._waiting:
            self._call_soon(self.flush)
        self._waiting.append(answer)
        client.deadline = self._idle_until

    def flush(self) -> None:
        """The records of this turn first, in one write; then its answers. May be called before the
        turn ends, if a connection is about to be closed."""
        waiting, self._waiting = self._waiting, []
        at, now = self._micros(), time.perf_counter_ns()
        if at >= self._visitors.ends_at_micros:
            self._visitors.switch(at)
            self._begin_day()
        tally = self._tally
        records = []
        for _, _, mark, visit, began in waiting:
            if mark is not None:
                latency = now - began
                records.append(encode(at, latency, mark, visit))
                tally.time(latency)
        tally.lane_answers += len(waiting) - self._others
        self._others = 0
        if records:
            tally.outcomes[Outcome.REDIRECT] += len(records)
            self._journal.write(records)
        for transport, answer, _, _, _ in waiting:
            transport.write(answer)

    def _begin_day(self) -> None:
        """Visitors have other hashes from now on."""
        self._generation = self._visitors.generation
        self.forget_heads()

    def _load(
        self, client: Client, key: bytes, note: "_Note", data: bytes, began: int
    ) -> Entry | None:
        """From the store, if it answers without waiting; else the chunk is put aside until it
        does. What does not exist is left to others, who count such questions."""
        match = _KEY.fullmatch(key)
        if match is None or is_reserved(code := match[2].decode()):
            return None
        workspace_id = int(match[1] or 0)
        try:
            return self._resolver.find_now(workspace_id, code)
        except NotNow:
            if not self._misses.is_slowed(note.subject):
                client.put_aside(data, began, self._resolver.fetch(workspace_id, code))
            return None

    def _key_of_slug(self, note: "_Note", path: bytes) -> bytes:
        """Of `/@slug/code`; empty where that means nothing, or is not known yet."""
        slug, _, code = path[2:].partition(b"/")
        workspace_id = self._slugs.known.get(slug.decode("latin-1"))
        if workspace_id is None or note.is_custom_domain:
            return b""
        return prefix_of(workspace_id) + b"/" + code

    def _read(self, client: Client, data: bytes, head: bytes) -> "_Note | None":
        """Reads a head that this connection has not just sent; None: it goes the long way."""
        client.lane_head = None
        if len(head) > MAX_HEADER_BYTES:
            return None
        fields = self._scout.fields_of(data, head)
        if fields is None:
            return None
        get = fields.get
        site = self._sites.known.get(get(b"host", b""))
        if site is None:
            return None
        peer = client.client[0] if client.client else ""
        forwarded_for = get(b"x-forwarded-for")
        if forwarded_for:
            peer = self._proxies.client_of(peer, [forwarded_for])
        visit = self._clicks.describe(peer, get)
        wants_page = b"text/html" in get(b"accept", b"").lower()
        manner = language_of(get(b"accept-language", b"")) if wants_page else ""
        note = client.lane_note = _Note(self._epoch, site, visit, peer, manner)
        client.lane_head = head
        return note


class _Note:
    """What the head of a request says, whatever its target. Most connections send the same head
    again and again, so that it is read once. `manner` is the language of pages for whoever wants
    them, and empty for programs."""

    __slots__ = ("address", "epoch", "is_custom_domain", "manner", "prefix", "visit")

    def __init__(
        self,
        epoch: object,
        site: Site,
        visit: bytes,
        address: str,
        manner: str,
    ) -> None:
        self.epoch = epoch
        self.address = address
        self.prefix = prefix_of(site.workspace_id)
        self.is_custom_domain = site.is_custom_domain
        self.visit = visit
        self.manner = manner

    @property
    def subject(self) -> str:
        """Who is counted, if it comes to nothing."""
        return subject_of_address(self.address)


class _Scout:
    """Tells whether a chunk is one whole request that asks for nothing the lane has not: by the
    judgement of the parser that the long way uses."""

    def __init__(self) -> None:
        self._fields: dict[bytes, bytes] = {}
        self._begin()

    def _begin(self) -> None:
        # Called by the parser for every field. In C: a method of ours took twice as long.
        self.on_header = self._fields.__setitem__
        self._parser = httptools.HttpRequestParser(self)

    def fields_of(self, data: bytes, head: bytes) -> dict[bytes, bytes] | None:
        """The header fields, names in small letters; None where the chunk is anything else."""
        self._fields.clear()
        self._begun = self._completed = 0
        self._is_ordinary = True
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._is_ordinary = False
        if self._begun == self._completed == 1 and self._is_ordinary:
            fields = {name.lower(): value for name, value in self._fields.items()}
            # A line each, and the one that ends the request line, and the empty one: no name twice.
            return fields if len(fields) == head.count(b"\r\n") - 2 else None
        self._begin()  # it may wait for the rest of something
        return None

    def on_message_begin(self) -> None:
        self._begun += 1

    def on_headers_complete(self) -> None:
        if not self._parser.should_keep_alive():
            self._is_ordinary = False

    def on_body(self, _: bytes) -> None:
        self._is_ordinary = False

    def on_chunk_header(self) -> None:
        self._is_ordinary = False  # fields behind chunks are no header fields

    def on_message_complete(self) -> None:
        self._completed += 1


def _not_started(*_: object) -> None:
    raise RuntimeError("the lane serves before `renew`")
