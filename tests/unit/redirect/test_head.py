"""The lane reads a head like the parser of the ASGI path, whatever it remembers."""

import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kurz.clicks.journal import Journal
from kurz.clicks.visitors import Visitors
from kurz.people.workspaces import Site
from kurz.redirect import repeated
from kurz.redirect.answers.languages import language_of
from kurz.redirect.head import HeadReader, RequestHead
from kurz.redirect.repeated import HeadParser, RepeatedParts, split
from kurz.redirect.visits import Visits
from kurz.server.proxies import TrustedProxies
from support import head_flood
from support.clock import FrozenClock
from support.head_flood import flood
from support.long_run import in_the_long_run

PEER = "127.0.0.1"
MOST_BYTES = 16 * 1024**2  # of memory, in all
SITES = {b"a.example": Site(0), b"b.example": Site(7, is_custom_domain=True)}
USUAL = [
    ["Host: a.example", "Host: b.example", "host: a.example", "Host:b.example"],
    ["User-Agent: Mozilla/5.0 (X11)", "user-agent: curl/8", "User-Agent: " + "x" * 300],
    ["Accept: text/html,*/*;q=0.8", "Accept: */*", "accept: TEXT/HTML"],
    ["Accept-Language: de-DE,de;q=0.9", "Accept-Language: en", "Accept-Language: *"],
    ["Referer: https://News.example/a?b", "referer: android-app://com.example/", "Referer: x"],
    ["X-Forwarded-For: 192.0.2.7", "x-forwarded-for: 2001:db8::7", "X-Forwarded-For: a, 10.1.2.3"],
    ["X-Request-Id: 4f2a", "X-REQUEST-ID: 5", "Traceparent: 00-1-2-01"],
    ["Cookie: a=b; c=d", "cookie: " + "y" * 100],
    ["DNT: 1", "Sec-GPC: 1", "DNT: 0", "Sec-Purpose: prefetch;prerender", "X-Moz: prefetch"],
    ["Connection: keep-alive", "Connection: close", "connection: Close"],
    ["Accept-Encoding: gzip, br", "Upgrade-Insecure-Requests: 1"],
]
STRANGE = [
    b"X-Forwarded-For: 192.0.2.9",  # once more
    b"X-Forwarded-For:  192.0.2.9",
    b"X-Forwarded-For: 192.0.2.9 ",
    b"X-Forwarded-For:",
    b"X-FORWARDED-FOR: 192.0.2.8",
    b"Referer:\thttps://a.example/",
    b"REFERER: https://b.example/",
    b"Referer: https://c.example/",
    b"Cookie: \x01",
    b"Cookie: a\x80b",
    b"Cookie",
    b"Cookie : a",
    b" folded",
    b"\tfolded: X-Request-Id: 7",
    b"X-Request-Id: 1\n",
    b"X-Request-Id: 1\nHost: b.example",
    b"X-Request-Id: 1\r",
    b"Content-Length: 0",
    b"Content-Length: 3",
    b"Transfer-Encoding: chunked",
    b"Connection: upgrade",
    b"Upgrade: h2c",
    b"Expect: 100-continue",
    b"Host: b.example",
    b"",
    b"\r\nGET /x HTTP/1.1",
    b"User-Agent: \xff\xfe",
]


async def reader() -> tuple[HeadReader, Visits]:
    store: Any = SimpleNamespace(keep=lambda *_: _salt())
    clock = FrozenClock()
    visitors = Visitors(store)
    await visitors.refresh(clock.now())
    nothing: Any = None
    journal: Journal = nothing
    visits = Visits(journal, visitors, clock, nothing)
    sites: Any = SimpleNamespace(known=SITES)
    return HeadReader(sites, TrustedProxies((PEER,)), visits), visits


async def _salt() -> bytes:
    return bytes(32)


def a_head(chance: random.Random, *, is_odd: bool) -> bytes:
    lines = [
        chance.choice(lines).encode()
        for number, lines in enumerate(USUAL)
        if number == 0 or chance.random() < 0.7
    ]
    chance.shuffle(lines)
    if is_odd:
        for line in chance.sample(STRANGE, chance.choice([1, 1, 1, 2])):
            lines.insert(chance.randrange(len(lines) + 1), line)
    version = b" HTTP/1.0" if chance.random() < 0.2 else b" HTTP/1.1"
    head = b"\r\n".join([version, *lines, b"", b""])
    if is_odd and chance.random() < 0.3:
        place = chance.randrange(len(head))
        head = head[:place] + chance.randbytes(1) + head[place + chance.randrange(2) :]
    return head


def judged(head: bytes, visits: Visits) -> tuple[object, ...] | None:
    """By the parser alone."""
    parser = HeadParser()
    pairs: list[tuple[bytes, bytes]] = []
    parser.on_header = lambda name, value: pairs.append((name.lower(), value))
    parser._begin()
    if not parser.is_whole(b"GET /" + head):
        return None
    fields = dict(reversed(pairs))
    site = SITES.get(fields.get(b"host", b""))
    if site is None:
        return None
    forwarded = [value for name, value in pairs if name == b"x-forwarded-for"]
    address = TrustedProxies((PEER,)).client_of(PEER, forwarded)
    accept = fields.get(b"accept", b"").lower()
    language = language_of(fields.get(b"accept-language", b""))
    return (
        site.workspace_id,
        site.is_custom_domain,
        visits.describe(address, fields.get),
        address,
        language if b"text/html" in accept else "",
        parser.closes,
    )


def said(read: RequestHead) -> tuple[object, ...]:
    return (
        int(read.prefix or 0),
        read.is_custom_domain,
        read.visit,
        read.address,
        read.page_language,
        read.closes,
    )


@pytest.mark.parametrize(
    ("usual", "odd"), [(1000, 2000), pytest.param(20_000, 6000, marks=pytest.mark.long)]
)
async def test_what_is_read_is_what_the_parser_of_the_asgi_path_reads(usual, odd):
    lane, visits = await reader()
    chance = random.Random(usual)
    for is_odd in [False] * usual + [True] * odd:
        head = a_head(chance, is_odd=is_odd)
        expected = judged(head, visits)
        for _ in range(3):  # read, read and remembered, remembered
            read = lane.read(PEER, head, None)
            assert read is None or said(read) == expected, head
        assert read is not None or is_odd, head


@pytest.mark.parametrize(
    "rest",
    [
        b"X-Forwarded-For: 192.0.2.9\r\n\r\n",
        b"X-Request-Id: 1\r\n\r\n",
        b"X-Request-Id: 1\r\nCookie: a\r\n\r\n",
        b"Referer: https://x.example/\r\nHost: b.example\r\n\r\n",
        b"GET /x HTTP/1.1\r\nX-Request-Id: 1\r\n\r\n",
        b"\r\n",
        b" ",
    ],
)
async def test_what_follows_a_head_is_not_taken_for_a_part_of_it(rest):
    lane, _ = await reader()
    head = b" HTTP/1.1\r\nHost: a.example\r\n\r\n"
    assert lane.read(PEER, head, None) is not None
    for _ in range(3):
        assert lane.read(PEER, head + rest, None) is None


async def test_a_line_that_continues_a_varying_one_does_not_change_the_one_before_it():
    lane, visits = await reader()
    head = b" HTTP/1.1\r\nHost: a.example\r\nUser-Agent: me\r\nX-Request-Id: 1\r\n more\r\n\r\n"
    read = lane.read(PEER, head, None)
    assert read is None or said(read) == judged(head, visits)


def browser(number: int, *lines: str) -> bytes:
    agent = f"Mozilla/5.0 ({number}; {'x' * 400})"
    return "\r\n".join(
        [" HTTP/1.1", "Host: a.example", f"User-Agent: {agent}", *lines, "", ""]
    ).encode()


def test_only_what_comes_twice_is_remembered_and_the_oldest_goes_when_there_is_no_room():
    parts = RepeatedParts()
    for number in range(20_000):
        assert parts.find(browser(number)) is not None
    assert not parts.known
    for number in range(20_000):
        for _ in range(2):
            assert parts.find(browser(number)) is not None
    assert parts.bytes <= repeated.MAX_BYTES
    assert browser(19_999) in parts.known
    assert browser(0) not in parts.known
    size = sys.getsizeof(parts.known) + sum(
        sys.getsizeof(part) + sys.getsizeof(kept) + sum(map(sys.getsizeof, kept))
        for part, kept in parts.known.items()
    )
    assert size <= MOST_BYTES


@pytest.mark.parametrize("count", [100_000, *in_the_long_run(1_000_000)])
def test_a_flood_of_different_heads_takes_no_more_memory_than_it_may(count):
    command = [sys.executable, head_flood.__file__, str(count)]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    counted, grown = map(int, printed.split())
    print(f"{count} heads: {counted} bytes counted, {grown} grown")
    assert 0.9 * repeated.MAX_BYTES < counted <= repeated.MAX_BYTES
    assert grown <= MOST_BYTES


@pytest.mark.parametrize(("rounds", "size"), [(20, 2000), *in_the_long_run((50, 20_000))])
async def test_a_flood_changes_nothing_of_what_is_read_of_others(rounds, size):
    """Its heads push theirs out, or are theirs with something added."""
    lane, visits = await reader()
    chance = random.Random(rounds)
    others = [a_head(chance, is_odd=False) for _ in range(100)]
    expected = [judged(head, visits) for head in others]
    for number in range(rounds):
        for part in flood(size, start=number * size):
            lane.read(PEER, part, None)
            lane.read(PEER, part, None)
        for head in others:
            lines = head.split(b"\r\n")
            lines.insert(chance.randrange(1, len(lines)), chance.choice(STRANGE))
            for _ in range(3):
                lane.read(PEER, b"\r\n".join(lines), None)
        for head, right in zip(others, expected, strict=True):
            read = lane.read(PEER, head, None)
            assert read is not None
            assert said(read) == right, head
    assert lane._parts.bytes <= repeated.MAX_BYTES


def test_what_is_long_is_not_remembered():
    parts = RepeatedParts()
    part = browser(0, f"Accept: {'x' * repeated.MAX_PART_BYTES}")
    assert all(parts.find(part) is not None for _ in range(3))
    assert not parts.known


@pytest.mark.parametrize(
    "line",
    [
        "Cookie: secret",
        "Cookie:  secret",
        "Cookie: secret ",
        "Authorization: Bearer secret",
        "Proxy-Authorization: secret",
        "X-Api-Key: secret",
        "Forwarded: for=secret",
        "X-Client-IP: secret",
        "X-Envoy-External-Address: secret",
        "Remote-User: secret",
        "X-Anything: secret",
    ],
)
async def test_secrets_and_addresses_are_not_remembered(line):
    lane, _ = await reader()
    for _ in range(3):
        assert lane.read(PEER, browser(1, "X-Forwarded-For: 192.0.2.1", line), None) is not None
        assert lane.read(PEER, browser(2, "Referer: https://a.example/?secret"), None) is not None
    assert lane._parts.known
    assert not any(b"secret" in part or b"192.0.2.1" in part for part in lane._parts.known)


def test_a_head_without_varying_lines_is_one_piece():
    assert split(browser(1)) == [browser(1)]
