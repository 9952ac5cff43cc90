"""Requests of every shape that HTTP allows, and many that it forbids."""

import random
from collections.abc import Iterator

from support.http import HOST, get, request

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "QUERY"]
METHODS += ["get", "Get", "GETT", "G\tET", ""]
VERSIONS = ["1.0", "1.1", "1.2", "0.9", "2.0", "11", "1.1 ", "x", "1.1\x0b"]
QUERIES = [
    "?",
    "?a=1",
    "?own=2&a=1",
    "?a=1&a=2",
    "??",
    "?&&&",
    "?a=%41%",
    "?%6fwn=3&b",
    "?%ff=%00",
    "?a=b+c",
    "?a=\"'<>[]{}|\\^`",
    "?a=\xe4\xff",
    "?a#b",
    "?#",
    "?a=1 b",
    "?a\tb",
    "?\x7f",
    "?\x01",
    "?a=" + "x" * 4090,
    "?a=" + "x" * 4094,
    "?a=" + "x" * 17_000,
]
CODES = ["live", "moved", "kept", "passes", "ending", "limited"]
OTHERS = ["expired", "paused", "deleted", "banned", "unknown", "live+", "banned+", "unknown+"]
TARGETS = [
    *(f"/{code}" for code in CODES + OTHERS),
    *(f"/{code}{query}" for code in ("live", "passes", "unknown") for query in QUERIES),
    *(f"/@{slug}/{code}" for slug in ("team", "TEAM", "none") for code in ("live", "unknown")),
    "/@team/live?a=1",
    "/@team/live+",
    "/@team",
    "/@team/",
    "/@team//live",
    "/@",
    "/@/",
    "/@/live",
    "/@\xff/live",
    "/@t\xe4am/live",
    "/@team/l\xc3\xa4",
    "/@team?/live",
    "/",
    "/?a=1",
    "",
    "*",
    "//",
    "//live",
    "/live/",
    "/./live",
    "/../live",
    "/x/../live",
    "/%6cive",
    "/live%2B",
    "/%",
    "/%2",
    "/live%00",
    "/live;a=1",
    "/live#part",
    "/#",
    "/LIVE",
    "/l\xefve",
    "/\xff\xfe",
    "/\x00",
    "/live\x00",
    "/live\x7f",
    "/live\t",
    " /live",
    "/live ",
    "/li ve",
    "/live HTTP/1.1",
    "live",
    "?a",
    "/api",
    "/api/",
    "/api/v1/links/none",
    "/healthz",
    "/robots.txt",
    "/favicon.ico",
    "/app/setup",
    "http://kurz.test/live",
    "http://kurz.test",
    "http://kurz.test?a=1",
    "http://kurz.test/passes?a=1",
    "HTTP://KURZ.TEST:80/live",
    "https://kurz.test/live",
    "http://kurz.test:99999/live",
    "http://evil.example/live",
    "http://person@kurz.test/live",
    "http:///live",
    "ftp://kurz.test/live",
    "kurz.test:80",
    "/" + "a" * 128,
    "/" + "a" * 129,
    "/" + "a" * 16_000,
    "/" + "a" * 17_000,
]
_NAME = HOST.decode()
HOSTS = [
    (),
    ("Host: ",),
    ("Host:",),
    (f"Host:{_NAME}",),
    (f"HOST: \t {_NAME}\t ",),
    (f"Host: {_NAME.upper()}",),
    (f"Host: {_NAME}:80",),
    (f"Host: {_NAME}:0",),
    (f"Host: {_NAME}:",),
    (f"Host: {_NAME}:99999",),
    (f"Host: {_NAME}.",),
    (f"Host: {_NAME}..",),
    ("Host: evil.example",),
    ("Host: k\xfcrz.test",),
    (f"Host: {_NAME}, evil.example",),
    (f"Host: {_NAME} evil.example",),
    (f"Host: {_NAME}", f"Host: {_NAME}"),
    (f"Host: {_NAME}", f"HOST: {_NAME}"),
    (f"Host: {_NAME}", "hOsT: evil.example"),
    ("Host: evil.example", f"Host: {_NAME}"),
    ("Host:", f"Host: {_NAME}"),
    (f"Host : {_NAME}",),
    (f"Host\t: {_NAME}",),
    (f" Host: {_NAME}",),
    (f"Host: {_NAME}", " evil.example"),
    ("Host: evil.example,", f" {_NAME}"),
    ("Host:", f" {_NAME}"),
    (f"Host: {_NAME}\nX: y",),
    (f"X: y\nHost: {_NAME}",),
    (f"Host: {_NAME}\rX: y",),
    (f"X: y\rHost: {_NAME}",),
    (f"Host: {_NAME}\x00",),
    (f"X-Host: {_NAME}",),
    (f"X: y\r\r\nHost: {_NAME}",),
]
# Beside a good Host.
FIELDS = [
    ("Connection: keep-alive",),
    ("Connection: close",),
    ("connection: CLOSE",),
    ("Connection: x, close",),
    ("Connection: close", "Connection: keep-alive"),
    ("Connection: keep-alive", "Connection: close"),
    ("Connection: upgrade", "Upgrade: websocket"),
    ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"),
    ("Upgrade: h2c",),
    ("Connection: upgrade",),
    ("Proxy-Connection: close",),
    ("Keep-Alive: timeout=1",),
    ("Expect: 100-continue",),
    ("Expect: 100-continue", "Content-Length: 5"),
    ("Expect: something",),
    ("Accept: */*",),
    ("Accept: text/html",),
    ("Accept: TEXT/HTML;q=0.1",),
    ("Accept: text/html", "Accept: */*"),
    ("Accept: */*", "Accept: text/html"),
    ("Accept:", "accept: text/html"),
    ("Accept: */*,", " text/html"),
    ("X-Accept: text/html",),
    ("X-Forwarded-For: 192.0.2.1",),
    ("X-Forwarded-For: x", "X-Forwarded-For: y"),
    ("X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example"),
    ("X-Original-URL: /moved", "X-Rewrite-URL: /moved"),
    ("X-HTTP-Method-Override: DELETE",),
    ("Purpose: prefetch",),
    ("Sec-Purpose: prefetch;prerender",),
    ("DNT: 1", "Sec-GPC: 1", "Referer: https://a.example/", "User-Agent: a", "User-Agent: b"),
    ("If-None-Match: *", "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT", "Range: bytes=0-0"),
    ("Cookie: " + "a=b;" * 1000,),
    ("Cookie: " + "a=b;" * 2100,),
    ("Cookie: " + "a=b;" * 4000,),
    ("Cookie: " + "a=b;" * 4200,),
    ("X:" + " " * 17_000,),
    *((f"X-{number}: y",) * number for number in (100, 1300)),
    ("no colon",),
    (": no name",),
    ("X: \xe4\xff",),
    ("X: a\x00b",),
    ("X: a\x01b",),
    ("X\x00: a",),
    ("X\xe4: a",),
    ("X Y: a",),
    ("X: a", " folded"),
    ("X: a", "\tfolded"),
    ("X: a\nY: b",),
    ("X: a\rY: b",),
    ("X: a\r",),
    ("X: GET /moved HTTP/1.1",),
    ("GET /moved HTTP/1.1",),
]
BODIES = [
    ("Content-Length: 0", ""),
    ("Content-Length: 5", "12345"),
    ("Content-Length: 5", ""),
    ("Content-Length: 5", "123456"),
    ("Content-Length: 05", "12345"),
    ("Content-Length: +5", "12345"),
    ("Content-Length: -5", "12345"),
    ("Content-Length: 5 ", "12345"),
    ("Content-Length: 5,5", "12345"),
    ("Content-Length: 0x5", "12345"),
    ("Content-Length: 5a", "12345"),
    ("Content-Length:", ""),
    ("Content-Length: 99999999999999999999", ""),
    ("Content-Length: 5\r\nContent-Length: 5", "12345"),
    ("Content-Length: 5\r\nContent-Length: 6", "123456"),
    ("Content-Length: 0\r\nContent-Length: 0", ""),
    ("Content-Length : 5", "12345"),
    ("Content-Length: 36", "GET /moved HTTP/1.1\r\nHost: kurz.test\r\n"),
    ("Transfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "5\r\n12345\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked", "5;a=b\r\n12345\r\n0\r\nX: y\r\n\r\n"),
    ("Transfer-Encoding: chunked", "5\n12345\n0\n\n"),
    ("Transfer-Encoding: chunked", "zz\r\n"),
    ("Transfer-Encoding: chunked", "-1\r\n\r\n"),
    ("Transfer-Encoding: chunked", "ffffffffffffffffff\r\n"),
    ("Transfer-Encoding: chunked", ""),
    ("Transfer-Encoding: Chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: xchunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked, identity", "0\r\n\r\n"),
    ("Transfer-Encoding: identity, chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: identity", ""),
    ("Transfer-Encoding: gzip", ""),
    ("Transfer-Encoding: \x0bchunked", "0\r\n\r\n"),
    ("Transfer-Encoding : chunked", "0\r\n\r\n"),
    ("Transfer-Encoding:\r\n chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 5", "0\r\n\r\n"),
    ("Content-Length: 5\r\nTransfer-Encoding: chunked", "0\r\n\r\nGET /moved HTTP/1.1\r\n"),
    ("", "12345"),
    ("", "\r\n"),
    ("", "GET /moved HTTP/1.1\r\nHost: kurz.test\r\n\r\n"),
    ("", "\x00"),
]
LINES = [
    b"",
    b"\r\n",
    b"\n",
    b"\r\n\r\nGET /live HTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    b"\nGET /live HTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    b" GET /live HTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    b"GET  /live  HTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    b"GET\t/live\tHTTP/1.1\r\nHost: kurz.test\r\n\r\n",
    b"GET /live\r\n\r\n",
    b"GET /live\r\nHost: kurz.test\r\n\r\n",
    b"GET /live http/1.1\r\nHost: kurz.test\r\n\r\n",
    b"GET /live HTTP/1.1\nHost: kurz.test\n\n",
    b"GET /live HTTP/1.1\r\nHost: kurz.test\n\n",
    b"GET /live HTTP/1.1\r\nHost: kurz.test\r\n\n",
    b"GET /live HTTP/1.1\r\nHost: kurz.test\r\r\n",
    b"GET /live HTTP/1.1\rHost: kurz.test\r\r",
    b"GET /live HTTP/1.1\r\n\r\nHost: kurz.test\r\n\r\n",
    b"GET /live HTTP/1.1\r\n\r\n",
    b"GET /live RTSP/1.0\r\nHost: kurz.test\r\n\r\n",
    b"GET /live ICE/1.0\r\nHost: kurz.test\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    b"hello\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    b"\x00" * 100,
    b"\xff" * 20_000,
    b"A" * 20_000,
    b"GET /" + b"a" * 20_000,
]


def corpus(seed: int, mixed: int) -> Iterator[bytes]:
    """Every item of the lists above in an otherwise ordinary request, and `mixed` requests of
    several of them at once."""
    host = f"Host: {_NAME}"
    yield from LINES
    for target in TARGETS:
        yield get(target)
        yield get(target, "Accept: text/html", method="HEAD")
    for method in METHODS:
        yield get(method=method)
        yield get("/unknown", method=method)
        yield get("*", method=method)
    for version in VERSIONS:
        yield get(version=version)
        yield get("/unknown", "Connection: keep-alive", version=version)
    for fields in HOSTS:
        yield request("GET /live HTTP/1.1", *fields)
        yield request("GET /unknown HTTP/1.1", "Accept: text/html", *fields)
        yield request("GET http://kurz.test/live HTTP/1.1", *fields)
    for fields in FIELDS:
        yield request("GET /live HTTP/1.1", host, *fields)
        yield request("GET /expired HTTP/1.1", *fields, host)
    for field, body in BODIES:
        for line in ("GET /live HTTP/1.1", "GET /unknown HTTP/1.1", "HEAD /live HTTP/1.1"):
            yield request(line, host, *([field] if field else []), body=body.encode("latin-1"))
    yield from _mixed(random.Random(seed), mixed)


def _mixed(dice: random.Random, count: int) -> Iterator[bytes]:
    for _ in range(count):
        method = dice.choice(["GET", "GET", "GET", dice.choice(METHODS)])
        version = dice.choice(["1.1", "1.1", "1.1", dice.choice(VERSIONS)])
        field, body = dice.choice([("", ""), ("", ""), ("", ""), dice.choice(BODIES)])
        fields = [
            *dice.choice([(f"Host: {_NAME}",), dice.choice(HOSTS)]),
            *dice.choice(FIELDS),
            *dice.choice([(), dice.choice(FIELDS)]),
            *([field] if field else []),
        ]
        dice.shuffle(fields)
        line = f"{method} {dice.choice(TARGETS)} HTTP/{version}"
        yield request(line, *fields, body=body.encode("latin-1"))
