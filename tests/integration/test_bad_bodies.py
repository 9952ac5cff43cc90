"""Whatever people and machines send: a problem they can read, never a 500, on both engines."""

import asyncio
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from http.client import HTTPConnection

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.storage.schema import links
from support.engines import redis_in_the_long_run
from support.program import Program
from support.slack import slack

engine = redis_in_the_long_run

URL = "https://example.com/"
API = "/api/v1/links"
DIALECT = "/api/urls/public"
JSON = {"content-type": "application/json"}
MAX_BODY = 16 * 1024
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def body(**fields: object) -> bytes:
    return json.dumps({"original_url": URL, **fields}).encode()


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    return body(tags=0).replace(b"0}", opening * depth + closing * depth + b"}")


# Bodies that are no JSON at all.
MALFORMED = {
    "empty": b"",
    "spaces": b"   ",
    "a word": b"hello",
    "a plain URL": URL.encode(),
    "a form": b"original_url=https%3A%2F%2Fexample.com%2F",
    "cut off": b'{"original_url": "https://exam',
    "two documents": body() + body(),
    "single quotes": b"{'original_url': 'https://example.com/'}",
    "trailing comma": b'{"original_url": "https://example.com/",}',
    "a comment": b'{"original_url": "https://example.com/" /* no */}',
    "invalid UTF-8 in a value": b'{"original_url": "https://example.com/\xff\xfe"}',
    "invalid UTF-8 in a key": b'{"original_url": "https://example.com/", "\xc3\x28": 1}',
    "overlong UTF-8": b'{"original_url": "https://example.com/\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"original_url": "https://example.com/\xed\xa0\x80"}',
    "UTF-16": body().decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + body(),
    "a raw NUL": b'{"original_url": "https://example.com/\x00"}',
    "a raw line break": b'{"original_url": "https://example.com/\r\nx"}',
    "a lone high surrogate": b'{"original_url": "https://example.com/\\ud800"}',
    "a lone low surrogate": b'{"original_url": "https://example.com/\\udc00x"}',
    "surrogates the wrong way round": b'{"original_url": "https://example.com/\\udc00\\ud800"}',
    "a surrogate in a title": b'{"original_url": "https://example.com/", "title": "\\ud800"}',
    "a surrogate in a key": b'{"original_url": "https://example.com/", "\\ud800": 1}',
    "deep lists": nested(8000, b"[", b"]"),
    "deep objects": nested(2500, b'{"a":', b"}").replace(b":}", b":1}", 1),
    "brackets that never close": b"[" * 16_000,
    "a hexadecimal number": b'{"original_url": "https://example.com/", "expires_in": 0x10}',
    "a number with a plus": b'{"original_url": "https://example.com/", "expires_in": +1}',
    "a number of 10000 digits": body().replace(b"}", b', "expires_in": ' + b"9" * 10_000 + b"}"),
}
# JSON that is not what a create looks like.
SHAPES = {
    "a list": b"[]",
    "a list of URLs": json.dumps([URL]).encode(),
    "a text": json.dumps(URL).encode(),
    "a number": b"1",
    "null": b"null",
    "true": b"true",
    "nothing in it": b"{}",
}
REFUSED = SHAPES | {
    "an unknown field": body(colour="red"),
    "an empty key": body(**{"": 1}),
    "a key of another dialect": body(customCode="abc"),
    "a key with a NUL": body(**{"a\0b": 1}),
    "__proto__": body(__proto__={"a": 1}),
    "NaN": b'{"original_url": "https://example.com/", "expires_in": NaN}',
    "Infinity": b'{"original_url": "https://example.com/", "expires_in": Infinity}',
    "1e999": b'{"original_url": "https://example.com/", "expires_in": 1e999}',
    "a number of 4000 digits": body().replace(b"}", b', "expires_in": ' + b"9" * 4000 + b"}"),
}
WRONG_TYPES: dict[str, list[object]] = {
    "original_url": [None, 1, 1.5, True, [], {}, [URL], {"url": URL}],
    "custom_code": [1, True, [], {}],
    "strategy": ["", "best", "RANDOM", 1, [], {}],
    "starts_at": ["", "tomorrow", "2026-13-01T00:00:00Z", "2026-04-01", True, [], {}, 1e300],
    "expires_at": ["", "never", "2026-04-01T00:00:00", "99999-01-01T00:00:00Z", -1e300, [], {}],
    "expires_in": ["60", "", 1.5, True, False, [], {}, "PT1H"],
    "title": ["", "x" * 201, 1, True, [], {}, "a\0b", "a\x1bb", "a\x7fb", "a\x85b"],
    "tags": ["tag", 1, {}, [1], [None], [[]], [""], ["x" * 51], ["x"] * 21, ["a\0b"]],
    "notes": ["", "x" * 2001, 1, [], {}, "a\0b"],
    "redirect_status": [200, 303, 304, "301", True, [], {}, 10**30],
    "forward_query": ["true", 1, 0, "", [], {}, None],
    "max_clicks": [0, -1, 1.5, "3", True, [], {}, 2**53 + 1, 10**100],
}
HOSTILE_URLS = [
    "",
    " ",
    "/",
    "//example.com/",
    "///example.com/",
    "example.com",
    "www.example.com/path",
    "http",
    "http:",
    "http:/",
    "http://",
    "http:///path",
    "http://?q",
    "http://#f",
    "http:example.com",
    "https:/example.com",
    "http:\\\\example.com",
    "http://example.com\\@evil.example/",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "\x01javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://example.com/1",
    "intent://example.com#Intent;end",
    "ftp://example.com/",
    "ws://example.com/",
    "mailto:a@example.com",
    "about:blank",
    "view-source:http://example.com/",
    "http://user@example.com/",
    "http://user:secret@example.com/",
    "https://paypal.com@evil.example/",
    "http://@example.com/",
    "http://:@example.com/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://127.0.0.1./",
    "http://127.0.0.01/",
    "http://256.256.256.256/",
    "http://１２７.0.0.1/",
    "http://example.com/\r\nSet-Cookie: a=b",
    "http://example.com/\r\n\r\n<script>",
    "http://example.com/\x00",
    "http://example.com/\x7f",
    "http://example.com/\x85",
    "http://example.com/a b",
    "http://example.com/\u00a0",
    "http://example.com/\u2028x",
    "http://example.com/\u202egpj.exe",
    "http://exam\u200bple.com/",
    "http://example.com/\ufeff",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:-1/",
    "http://example.com:80a/",
    "http://[::1/",
    "http://[::g]/",
    "http://[fe80::1%25eth0]/",
    "http://a..b/",
    "http://.example.com/",
    "http://exa<mple.com/",
    "http://exa%00mple.com/",
    "http://exa mple.com/",
    "http://%65%78%61%6d%70%6c%65%00.com/",
    "http://" + "a" * 64 + ".example/",
    "http://" + "a." * 130 + "example/",
    "http://example.com/" + "a" * 2030,
    "http://example.com/" + "ä" * 500,
    "http://example.com/" + "\U0001f600" * 300,
]


def check_problem(answer: httpx2.Response) -> tuple[int, str]:
    """Every refusal has the same form; gives its status and code."""
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"].startswith("/api/problems/")
    assert problem["title"]
    assert re.fullmatch(r"\S.{10,}[.]", problem["detail"])
    for trace in ("Traceback", 'File "', "Error:", "pydantic", "sqlalchemy", "0x"):
        assert trace not in answer.text
    return answer.status_code, problem["type"].removeprefix("/api/problems/")


async def count_links(kurz: Kurz) -> int:
    count = sa.select(sa.func.count()).select_from(links)
    return await kurz.database.read(lambda connection: connection.execute(count).scalar_one())


@pytest.mark.parametrize("path", [API, DIALECT])
async def test_a_body_that_is_not_json_is_malformed(client, kurz, path):
    found = {}
    for name, content in MALFORMED.items():
        sent = content.replace(b"original_url", b"originalUrl") if path == DIALECT else content
        found[name] = check_problem(await client.post(path, content=sent, headers=JSON))
    assert found == dict.fromkeys(MALFORMED, (400, "body-malformed"))
    assert await count_links(kurz) == 0


@pytest.mark.parametrize("path", [API, DIALECT])
async def test_json_of_another_shape_is_refused(client, kurz, path):
    """The dialect ignores fields that it does not know."""
    sent = REFUSED if path == API else SHAPES
    found = {}
    for name, content in sent.items():
        found[name] = check_problem(await client.post(path, content=content, headers=JSON))
    expected = dict.fromkeys(sent, (422, "request-refused"))
    if path == API:
        expected["a number of 4000 digits"] = (422, "instant-refused")
    assert found == expected
    assert await count_links(kurz) == 0


async def test_a_field_of_the_wrong_type_is_named(client, kurz):
    for field, values in WRONG_TYPES.items():
        for value in values:
            content = json.dumps({"original_url": URL, field: value})
            answer = await client.post(API, content=content, headers=JSON)
            found = (field, value, *check_problem(answer))
            # What needs an account may be refused for that, before anybody looks at the value.
            expected = [(field, value, 422, "request-refused")]
            if field not in ("original_url", "expires_in"):
                expected.append((field, value, 401, "sign-in-required"))
            assert found in expected
            assert re.search(rf"`{field}[`.]", answer.json()["detail"])
    assert await count_links(kurz) == 0


async def test_refusals_do_not_repeat_what_was_sent(client):
    secret = "x9-not-to-be-repeated"
    for content in (body(title=[secret]), body(expires_in=secret), f"[{secret}]".encode()):
        answer = await client.post(API, content=content, headers=JSON)
        check_problem(answer)
        assert secret not in answer.text


async def test_the_last_of_doubled_keys_counts(client):
    content = b'{"original_url": "https://a.example/", "original_url": "https://b.example/"}'
    made = await client.post(API, content=content, headers=JSON)
    assert (made.status_code, made.json()["original_url"]) == (201, "https://b.example/")
    content = b'{"original_url": "https://a.example/", "original_url": "javascript:alert(1)"}'
    refused = await client.post(API, content=content, headers=JSON)
    assert check_problem(refused) == (422, "url-refused")


@pytest.mark.parametrize("path", ["/", API, DIALECT])
async def test_hostile_urls_are_refused_in_the_same_way_everywhere(client, kurz, path):
    found = {}
    for url in HOSTILE_URLS:
        name = {API: "original_url", DIALECT: "originalUrl"}.get(path)
        request = {"json": {name: url}} if name else {"content": url.encode()}
        if not name and url != url.strip("\r\n"):
            continue
        found[url] = check_problem(await client.post(path, **request))
    assert found == dict.fromkeys(found, (422, "url-refused"))
    assert len(found) > 60
    assert await count_links(kurz) == 0


@on_sqlite
@pytest.mark.parametrize("content", [b"\xff\xfe", b"https://example.com/\xed\xa0\x80", b"\x80"])
async def test_text_that_is_not_utf8_is_refused(client, content):
    assert check_problem(await client.post("/", content=content)) == (422, "url-refused")


async def test_every_problem_is_explained_at_its_type(client, connect):
    private = await connect(access="private")
    based = await connect("http://other.example", base_url="https://go.example.com")
    answers = [
        await client.post(API, content=b"{", headers=JSON),
        await client.post(API, content=b"[]", headers=JSON),
        await client.post(API, content=body(), headers={"content-type": "text/html"}),
        await client.post(API, content=b"x" * (MAX_BODY + 1), headers=JSON),
        await client.post(API, content=body(expires_in=0), headers=JSON),
        await client.post(API, content=body(title="x"), headers=JSON),
        await client.post("/", content="ftp://example.com/"),
        await client.get("/api/nothing"),
        await client.get(API),
        await client.post("/abcdefg"),
        await client.get("/abcdefg"),
        await private.post("/", content=URL),
        await based.get("/abcdefg"),
    ]
    told, explained = [], []
    for answer in answers:
        check_problem(answer)
        problem = answer.json()
        told.append({name: problem[name] for name in ("type", "title", "status")})
        explanation = await client.get(problem["type"])
        assert explanation.status_code == 200
        explained.append(explanation.json())
    assert explained == told


@on_sqlite
async def test_a_body_of_the_greatest_size_is_read(client):
    content = body().ljust(MAX_BODY)
    assert (await client.post(API, content=content, headers=JSON)).status_code == 201
    assert (await client.post("/", content=URL.ljust(MAX_BODY))).status_code == 422


@pytest.mark.parametrize("path", ["/", API, DIALECT])
async def test_a_larger_body_is_refused_with_and_without_its_length(client, kurz, path):
    headers = JSON if path != "/" else {}

    async def in_pieces() -> AsyncIterator[bytes]:
        for _ in range(MAX_BODY // 1024):
            yield b" " * 1024
        yield b" "

    for content in (b" " * (MAX_BODY + 1), in_pieces()):
        answer = await client.post(path, content=content, headers=headers)
        assert check_problem(answer) == (413, "body-too-large")
        assert answer.headers["connection"] == "close"
    assert await count_links(kurz) == 0


@on_sqlite
async def test_an_endless_body_is_not_read_to_its_end(client):
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield b"x" * 1024

    answer = await client.post(API, content=endless(), headers=JSON)
    assert check_problem(answer) == (413, "body-too-large")
    assert taken <= MAX_BODY // 1024 + 2


@on_sqlite
@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (API, {}),
        (API, {"content-type": ""}),
        (API, {"content-type": "text/plain"}),
        (API, {"content-type": "application/x-www-form-urlencoded"}),
        (API, {"content-type": "multipart/form-data; boundary=x"}),
        (API, {"content-type": "application/jsonp"}),
        (API, {"content-type": "text/plain; application/json"}),
        (API, {"content-type": "application/json", "content-encoding": "gzip"}),
        (API, {"content-type": "application/json", "content-encoding": "identity"}),
        (DIALECT, {"content-type": "text/plain"}),
        ("/", {"content-type": "application/json"}),
        ("/", {"content-type": "text/html"}),
        ("/", {"content-type": "text/plain", "content-encoding": "br"}),
        (API, {"content-type": "\xff"}),
    ],
)
async def test_a_body_of_another_type_is_refused(client, path, headers):
    headers = {name: value.encode("latin-1") for name, value in headers.items()}
    answer = await client.post(path, content=body(), headers=headers)
    assert check_problem(answer) == (415, "media-type-unsupported")


@on_sqlite
@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON", "application/json; charset=utf-8"]
)
async def test_json_by_any_spelling_is_read(client, content_type):
    answer = await client.post(API, content=body(), headers={"content-type": content_type})
    assert answer.status_code == 201


API_PATHS = [
    "/api",
    "/api/",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "/api/v2/links",
    "/api/urls/",
    "/api//v1/links",
    "/api/../api/v1/nothing",
    "/api/docs/nothing.js",
    "/api/docs/..%2f..%2fapp.py",
    "/api/docs/%00",
    "/api/problems/",
    "/api/problems/nothing",
    "/api/problems/%00",
    "/api/problems/%ff",
    "/api/%0d%0aX:%20y",
    "/api/" + "a" * 5000,
]


@on_sqlite
@pytest.mark.parametrize("path", ["/api/v1/links/", "/api/docs/", "/api/urls/public/"])
async def test_a_slash_too_much_is_another_path(client, path):
    assert check_problem(await client.get(path)) == (404, "path-unknown")


CODE_PATHS = [
    "//",
    "///",
    "/..",
    "/../..",
    "/../../etc/passwd",
    "/.",
    "/./abc",
    "/a/b",
    "/abc/",
    "//abc",
    "/%2e%2e",
    "/%2F",
    "/abc%2F",
    "/abc%00",
    "/%00",
    "/abc%0a",
    "/abc%0d%0aX:%20y",
    "/abc%20",
    "/%20abc",
    "/%ff%fe",
    "/%c0%af",
    "/%ed%a0%80",
    "/abc%C3%A4",
    "/%",
    "/%zz",
    "/abc%25",
    "/+",
    "/++",
    "/abc++",
    "/abc+x",
    "/@",
    "/@/",
    "/@/abc",
    "/@team",
    "/@team/",
    "/@team/abc",
    "/@te%00am/abc",
    "/@team/abc/def",
    "/@@team/abc",
    "/;abc",
    "/abc;jsessionid=1",
    "/abc'--",
    '/abc"OR"1',
    "/<script>",
    "/" + "a" * 129,
    "/" + "a" * 60_000,
    "/@" + "a" * 65 + "/abc",
    "/app/Links",
    "/app//links",
    "/app/%2e%2e",
    "/assets/x.js",
    "/.well-known/security.txt",
    "/rest/v3/short-urls",
    "/v4/shorten",
    "/yourls-api.php",
    "/wp-login.php",
    "/.env",
    "/APP",
    "/Api",
    "/API/docs",
    "/healthz/",
    "/healthz+",
]


def test_unknown_paths_lead_nowhere(program):
    # Not httpx2: it tidies paths up.
    with closing(HTTPConnection("127.0.0.1", program.port, timeout=10)) as connection:
        found = {}
        for path in API_PATHS + CODE_PATHS:
            connection.request("GET", path)
            answer = connection.getresponse()
            problem = json.load(answer)
            assert answer.getheader("content-type") == "application/problem+json"
            found[path] = (answer.status, problem["type"].removeprefix("/api/problems/"))
    expected = dict.fromkeys(API_PATHS, (404, "path-unknown"))
    expected |= dict.fromkeys(CODE_PATHS, (404, "link-not-found"))
    too_long = [path for path in CODE_PATHS if len(path) > 16 * 1024]
    assert found == expected | dict.fromkeys(too_long, (431, "head-too-long"))


QUERIES = [
    "?",
    "??",
    "?&&&",
    "?=",
    "?a=%00",
    "?a=%ff",
    "?a=%",
    "?%0d%0aX:y",
    "?" + "a=b&" * 5000,
    "?next=//evil.example",
    "?url=https://evil.example/",
]


async def test_queries_change_nothing(client, add_link):
    link = await add_link("https://example.com/")
    for query in QUERIES:
        answer = await client.get(f"/{link.short_code}{query}")
        assert (answer.status_code, answer.headers["location"]) == (302, "https://example.com/")
        made = await client.post(f"{API}{query}", content=body(), headers=JSON)
        assert made.status_code == 201
        assert (await client.get(f"/healthz{query}")).json() == {"status": "ok"}


def allowed_methods(answer: httpx2.Response) -> set[str]:
    return {name.strip() for name in answer.headers["allow"].split(",")}


@on_sqlite
async def test_the_front_page_tells_every_method_it_allows(client):
    answer = await client.delete("/")
    assert check_problem(answer) == (405, "method-not-allowed")
    assert allowed_methods(answer) == {"GET", "HEAD", "POST"}


@on_sqlite
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "x"])
async def test_another_method_is_refused_with_those_that_are_allowed(client, add_link, method):
    link = await add_link()
    for path, allowed in (
        (API, {"POST"}),
        (DIALECT, {"POST"}),
        ("/healthz", {"GET"}),
        ("/api/docs", {"GET"}),
        (f"/{link.short_code}", {"GET", "HEAD"}),
        ("/robots.txt", {"GET", "HEAD"}),
    ):
        answer = await client.request(method, path, headers=JSON)
        assert check_problem(answer) == (405, "method-not-allowed")
        assert allowed_methods(answer) >= allowed


@on_sqlite
async def test_creating_at_a_code_is_refused(client, add_link):
    link = await add_link()
    answer = await client.post(f"/{link.short_code}", content=URL)
    assert check_problem(answer) == (405, "method-not-allowed")
    assert answer.headers["allow"] == "GET, HEAD"


WEIRD_HOSTS = [
    "",
    " ",
    ".",
    ":80",
    "a b",
    "a/../admin?",
    "a/b",
    "a?b",
    "a#b",
    "a@b",
    "user@kurz.test",
    "kurz.test:port",
    "kurz.test:123456",
    "kurz.test:",
    "kurz.test:80:80",
    "kurz.test,evil.example",
    "kurz.test evil.example",
    "http://kurz.test",
    "[::1",
    "::1",
    "[::g]",
    "<script>alert(1)</script>",
    '"><img src=x>',
    "a\\b",
    "a'b",
    "%00",
    "k\u00fcrz.test",
    "\u212aurz.test",
]


async def test_a_host_that_is_no_host_belongs_to_nobody(client, kurz):
    for host in WEIRD_HOSTS:
        headers = {"host": host.encode()}
        for answer in (
            await client.get("/abc", headers=headers),
            await client.get("/", headers=headers),
            await client.post("/", content=URL, headers=headers),
            await client.post(API, content=body(), headers={**headers, **JSON}),
        ):
            assert (host, *check_problem(answer)) == (host, 421, "host-unknown")
            assert not host.strip(" .:") or host not in answer.text
    assert await count_links(kurz) == 0


def exchange(program: Program, request: bytes) -> bytes:
    """Sends raw bytes and gives all that comes back."""
    with socket.create_connection(("127.0.0.1", program.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def requests() -> dict[str, bytes]:
    host = b"Host: kurz.test\r\n"
    post = b"POST /api/v1/links HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    return {
        "no Host": b"GET /abc HTTP/1.1\r\nConnection: close\r\n\r\n",
        "HTTP/1.0 without Host": b"GET /abc HTTP/1.0\r\n\r\n",
        "two Hosts": b"GET /abc HTTP/1.1\r\n" + host * 2 + b"Connection: close\r\n\r\n",
        "absolute form": b"GET http://evil.example/abc HTTP/1.1\r\n" + host + b"\r\n",
        "a full URL as path": b"GET http:/// HTTP/1.1\r\n" + host + b"\r\n",
        "an asterisk": b"OPTIONS * HTTP/1.1\r\n" + host + b"\r\n",
        "CONNECT": b"CONNECT evil.example:443 HTTP/1.1\r\n" + host + b"\r\n",
        "no HTTP": b"hello\r\n\r\n",
        "nothing": b"",
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
        "raw bytes in the path": b"GET /\xff\xfe\x80 HTTP/1.1\r\n" + host + b"\r\n",
        "a raw NUL in the path": b"GET /a\x00b HTTP/1.1\r\n" + host + b"\r\n",
        "a long path": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n" + host + b"\r\n",
        "a long header": b"GET /abc HTTP/1.1\r\n" + host + b"X: " + b"a" * 200_000 + b"\r\n\r\n",
        "many headers": b"GET /abc HTTP/1.1\r\n" + host + b"X: a\r\n" * 5000 + b"\r\n",
        "a length that is no number": post + b"Content-Length: abc\r\n\r\n{}",
        "a negative length": post + b"Content-Length: -1\r\n\r\n{}",
        "a huge length": post + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
        "two lengths": post + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        "length and chunks": post
        + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "upgrade": b"GET /abc HTTP/1.1\r\n" + host + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
        "a websocket": b"GET /abc HTTP/1.1\r\n" + host + b"Connection: upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n\r\n",
    }


@on_sqlite
def test_raw_junk_harms_neither_the_server_nor_its_log(program):
    for name, request in requests().items():
        answer = exchange(program, request)
        statuses = re.findall(rb"^HTTP/1\.1 (\d+)", answer)
        assert all(b"400" <= status < b"500" for status in statuses), (name, answer[:200])
        assert b"Traceback" not in answer
    with program.client() as client:
        assert client.get("/readyz").status_code == 200
        assert client.post("/", content=URL).status_code == 201
    assert "Traceback" not in program.log()
    assert '"exception"' not in program.log()


@on_sqlite
def test_a_client_that_leaves_in_its_body_is_no_mistake_of_ours(program):
    start = b"POST /api/v1/links HTTP/1.1\r\nHost: kurz.test\r\nContent-Type: application/json\r\n"
    for rest in (
        b"Content-Length: 100\r\n\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ):
        exchange(program, start + rest)
    with program.client() as client:
        assert client.post("/", content=URL).status_code == 201
    assert "request failed" not in program.log()


@on_sqlite
def test_a_large_body_over_the_wire_is_refused_while_it_arrives(program):
    def pieces() -> Iterator[bytes]:
        for _ in range(5000):
            yield b"x" * 1024

    with program.client(headers=JSON) as client:
        for content in (b"x" * 5_000_000, pieces()):
            started = time.monotonic()
            answer = client.post(API, content=content)
            assert check_problem(answer) == (413, "body-too-large")
            assert time.monotonic() - started < slack(5)
        assert client.get("/healthz").status_code == 200


@on_sqlite
async def test_many_bad_requests_at_once_all_get_their_answer(client):
    contents = [*MALFORMED.values(), *REFUSED.values()] * 3
    answers = await asyncio.gather(
        *(client.post(API, content=content, headers=JSON) for content in contents)
    )
    assert {check_problem(answer)[0] for answer in answers} == {400, 422}
