"""Paths, queries, methods and hosts that lead nowhere."""

import json
from contextlib import closing
from http.client import HTTPConnection

import httpx2
import pytest

from support.bad_input import API, DIALECT, JSON, URL, body, check_problem, count_links, on_sqlite
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run
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
