"""What every answer carries: security headers and a request id, and nothing of our insides."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from kurz.api.app import create_api
from kurz.bootstrap import Kurz
from kurz.links.model import Status
from kurz.serving import open_app
from kurz.storage.database import Database
from kurz.storage.links import SqlLinkStore
from kurz.storage.sqlite import SqliteDatabase
from kurz.storage.workspaces import SqlWorkspaceStore
from servers.binaries import postgres_programs

URL = "https://example.com/"
API = "/api/v1/links"
JSON = {"content-type": "application/json"}
PAGE = {"accept": "text/html"}
BASE = "https://go.example.com"
EVERY_PROBLEM = {"400", "401", "403", "404", "409", "410", "413", "415", "422", "429", "503"}
# Some operations that everybody may call, each with the problems it may answer.
OPERATIONS = {
    ("post", "/"): EVERY_PROBLEM,
    ("post", "/api/v1/links"): EVERY_PROBLEM,
    ("post", "/api/urls/public"): {"400", "401", "413", "415", "422", "429", "503"},
    ("get", "/healthz"): set(),
    ("get", "/readyz"): {"503"},
}
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def policy(answer: httpx2.Response) -> dict[str, list[str]]:
    """The Content-Security-Policy as its directives."""
    directives = [item.split() for item in answer.headers["content-security-policy"].split(";")]
    names = [words[0] for words in directives]
    assert len(names) == len(set(names))
    return {words[0]: words[1:] for words in directives}


def check_headers(answer: httpx2.Response) -> None:
    """What every answer has, once each."""
    headers = answer.headers
    for name in (
        "x-content-type-options",
        "content-security-policy",
        "referrer-policy",
        "cross-origin-opener-policy",
    ):
        assert len(headers.get_list(name)) == 1, (name, answer.request.url)
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "strict-origin-when-cross-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    directives = policy(answer)
    for name in ("default-src", "frame-ancestors", "base-uri"):
        assert directives[name] == ["'none'"], (name, answer.request.url)
    forms = "'self'" if "<form" in answer.text else "'none'"
    assert directives["form-action"] == [forms], answer.request.url
    assert "'unsafe-inline'" not in directives.get("script-src", [])
    assert "'unsafe-eval'" not in answer.headers["content-security-policy"]
    assert "server" not in headers
    # What is neither logged nor worth a question has no number.
    if answer.status_code >= 500 or answer.request.url.path.startswith("/api"):
        assert re.fullmatch(r"[0-9a-f]{12}-[0-9a-f]+", headers["x-request-id"])
        assert len(headers.get_list("x-request-id")) == 1


class Broken(SqliteDatabase):
    """A database that becomes one with a mistake in it, rather than an outage."""

    def __init__(self, database: Database) -> None:
        self._write = database.write
        self.is_broken = False

    async def read(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_broken:
            raise RuntimeError("secret insides")
        return await self._write(*args, **kwargs)

    write = check = look_up = read

    def direct_reader(self) -> Any:
        return BusyReader()


class BusyReader:
    """Leaves it to `read`."""

    def rows(self, *_: object) -> None: ...

    def close(self) -> None: ...


@asynccontextmanager
async def broken_client(
    kurz: Kurz, base_url: str | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    broken = Broken(kurz.database)
    parts = replace(
        kurz,
        settings=replace(kurz.settings, base_url=base_url),
        database=broken,
        store=SqlLinkStore(broken),
        workspaces=SqlWorkspaceStore(broken),
    )
    async with open_app(parts) as app:
        broken.is_broken = True
        transport = httpx2.ASGITransport(app=app)
        # Written as it is by default, with all that every frame knows, a mistake takes a second.
        with capture_logs():
            async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
                yield client


def routes() -> list[tuple[str, str]]:
    """Every route of the API: its method and a path that leads to it."""
    # Nothing is asked of the services: the routes are only listed.
    api = create_api(None)  # type: ignore[arg-type]
    found: list[tuple[str, str]] = []
    for route in api.routes:
        path = re.sub(r"\{.*?\}", "link-not-found", route.path)  # type: ignore[attr-defined]
        found += [(method, path) for method in route.methods or ()]  # type: ignore[attr-defined]
    assert {path for _, path in OPERATIONS} <= {path for _, path in found}
    return sorted(found)


@pytest.mark.parametrize(("method", "path"), routes())
@on_sqlite
async def test_every_route_of_the_api_carries_them(client, method, path):
    check_headers(await client.request(method, path))
    check_headers(await client.request("DELETE", path))


async def test_every_answer_carries_them_whatever_its_status(
    client, connect, kurz, add_link, add_workspace, add_domain, clock
):
    based = await connect("http://evil.example", base_url=BASE)
    private = await connect(access="private")
    await add_domain("links.team.example", await add_workspace("team", root_url=URL))
    domain = await connect("https://links.team.example")
    active, limited = await add_link(URL), await add_link(URL, max_clicks=1)
    permanent = await add_link(URL, redirect_status=301)
    banned = await add_link(URL, status=Status.BANNED)
    expired = await add_link(URL, expires_in_seconds=1)
    clock.advance(seconds=1)
    visits = [
        (client, "GET", f"/{active.short_code}", 302),
        (client, "HEAD", f"/{active.short_code}", 302),
        (client, "GET", f"/{active.short_code}+", 200),
        (client, "GET", f"/{permanent.short_code}", 301),
        (client, "HEAD", f"/{limited.short_code}", 200),
        (client, "GET", f"/{limited.short_code}", 302),
        (client, "GET", f"/{limited.short_code}", 410),
        (client, "GET", f"/{banned.short_code}", 410),
        (client, "GET", f"/{expired.short_code}", 410),
        (client, "GET", "/nothing", 404),
        (client, "GET", "/%00", 404),
        (client, "POST", f"/{active.short_code}", 405),
        (client, "GET", "/", 200),
        (client, "GET", "/robots.txt", 200),
        (client, "GET", "/favicon.ico", 200),
        (client, "GET", "/healthz", 200),
        (client, "GET", "/api/nothing", 404),
        (client, "GET", API, 401),
        (client, "PUT", API, 405),
        (client, "POST", API, 415),
        (domain, "GET", "/", 302),
        (domain, "GET", "/nothing", 404),
        (based, "GET", "/", 421),
        (private, "POST", "/", 401),
    ]
    answers = []
    for accept in ({}, PAGE):
        for visitor, method, path, status in visits:
            answer = await visitor.request(method, path, headers=accept)
            limited_now = path == f"/{limited.short_code}" and accept
            assert answer.status_code == (410 if limited_now else status), path
            answers.append(answer)
    for content, status in ((b"{", 400), (b"[]", 422), (b" " * 20_000, 413)):
        answer = await client.post(API, content=content, headers=JSON)
        assert answer.status_code == status
        answers.append(answer)
    made = await client.post(API, json={"original_url": URL})
    assert made.status_code == 201
    answers.append(made)
    for answer in answers:
        check_headers(answer)
    ids = [id_ for answer in answers if (id_ := answer.headers.get("x-request-id"))]
    assert len(set(ids)) == len(ids) > 10


@on_sqlite
async def test_pages_allow_their_own_style_and_nothing_else(client, add_link):
    link = await add_link(URL)
    for path in ("/", "/nothing", f"/{link.short_code}+"):
        # Browsers get the dashboard's Home at `/`, which has a policy of its own.
        answer = await client.get(path, headers={} if path == "/" else PAGE)
        directives = policy(answer)
        assert "script-src" not in directives
        (style,) = directives["style-src"]
        assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", style)
        assert "<script" not in answer.text


@on_sqlite
async def test_a_request_id_of_the_visitor_is_not_taken_over(client):
    answer = await client.get("/healthz", headers={"x-request-id": "mine"})
    assert "mine" not in answer.headers.get_list("x-request-id")


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_mistake_of_ours_tells_nothing_of_itself(kurz, base_url):
    asked = itertools.product(("/abcdefg", "/@team/abc", "/readyz"), ({}, PAGE))
    async with broken_client(kurz, base_url) as client:
        for path, accept in asked:
            answer = await client.get(path, headers=accept)
            assert answer.status_code == 500
            check_headers(answer)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["cache-control"] == "no-store"
            told = answer.json()
            assert told["type"] == "/api/problems/internal-error"
            assert told["status"] == 500
            for inside in ("secret insides", "RuntimeError", "Traceback", ".py"):
                assert inside not in answer.text


@on_sqlite
async def test_a_mistake_of_ours_says_where_to_look_for_it(kurz):
    async with broken_client(kurz, BASE) as client:
        for path in ("/abcdefg", "/readyz"):
            assert "X-Request-Id" in (await client.get(path)).json().get("detail", "")


DROP = "import pysqlite3, sys; pysqlite3.connect(sys.argv[1], 10).execute('DROP TABLE links')"


def drop_links(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Breaks the schema under a running program, as no outage would."""
    if engine == "sqlite":
        subprocess.run([sys.executable, "-c", DROP, tmp_path / "kurz-data" / "kurz.db"], check=True)
    else:
        url = request.getfixturevalue("postgres_url")
        psql = [postgres_programs() / "psql", "-Xqc", "DROP TABLE links", url]
        subprocess.run(psql, check=True, capture_output=True)


def test_a_mistake_of_ours_is_logged_under_its_number_without_secrets(
    program, engine, request, tmp_path
):
    drop_links(engine, request, tmp_path)
    with program.client(headers={"cookie": "session=do-not-log-me"}) as client:
        secret = {"authorization": "Bearer kurz_do-not-log-me"}
        followed = client.get("/abcdefg", headers={**PAGE, **secret})
        assert client.get(API, headers=secret).status_code == 401
        created = client.post(
            API, json={"original_url": "https://example.com/?token=do-not-log-me"}
        )
        assert client.get("/healthz").status_code == 200
    lines = [json.loads(line) for line in program.log().splitlines()]
    for answer in (followed, created):
        assert answer.status_code == 500
        check_headers(answer)
        assert "links" not in answer.text.replace(API, "")
        number = answer.headers["x-request-id"]
        (mistake,) = [
            line
            for line in lines
            if line.get("request_id") == number and line["event"] == "request failed"
        ]
        assert mistake["level"] == "error"
        assert "links" in json.dumps(mistake["exception"])
        assert {"path": mistake["path"], "status": 500}.items() <= next(
            line.items()
            for line in lines
            if line.get("request_id") == number and line["event"] == "request"
        )
    assert "do-not-log-me" not in program.log()


class References(HTMLParser):
    """What a page loads, and the scripts that stand in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self._in_script = tag == "script"
        self.loaded += [values[name] or "" for name in ("src", "href") if name in values]
        self.inline += [name for name in values if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        if self._in_script and data.strip():
            self.inline.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in_script = self._in_script and tag != "script"


@on_sqlite
async def test_the_explorer_loads_files_of_ours_only(client):
    page = await client.get("/api/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert policy(page)["script-src"] == ["'self'"]
    assert policy(page)["connect-src"] == ["'self'"]
    references = References(page.text)
    assert references.inline == []
    assert len(references.loaded) >= 4
    for reference in references.loaded:
        assert re.match(r"/[^/]", reference)
        answer = await client.get(reference)
        assert answer.status_code == 200
        assert len(answer.content) > 100
        check_headers(answer)
    types = {
        name.rpartition(".")[2]: (await client.get(name)).headers["content-type"].partition(";")[0]
        for name in references.loaded
    }
    assert types == {"js": "text/javascript", "css": "text/css", "ico": "image/x-icon"}
    start = await client.get("/api/docs/start.js")
    assert '"/api/openapi.json"' in start.text
    assert not re.search(r"https?://", start.text)


def references_in(value: object) -> list[str]:
    """Every $ref in a document."""
    if isinstance(value, dict):
        found = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return found + [item for part in value.values() for item in references_in(part)]
    if isinstance(value, list):
        return [item for part in value for item in references_in(part)]
    return []


async def test_the_openapi_document_is_written_once():
    documents = iter([{"openapi": "3.1.0"}])
    api = create_api(None)  # type: ignore[arg-type]
    api.openapi = lambda: next(documents)  # type: ignore[method-assign]
    transport = httpx2.ASGITransport(app=api)
    async with httpx2.AsyncClient(transport=transport, base_url="http://kurz.test") as client:
        for _ in range(3):
            answer = await client.get("/api/openapi.json")
            assert answer.json() == {"openapi": "3.1.0"}


@on_sqlite
async def test_the_openapi_document_lists_the_public_operations(client):
    answer = await client.get("/api/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    document = answer.json()
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    assert document["info"]["title"] == "kurz"
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", document["info"]["version"])
    operations = {
        (method, path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert operations.keys() > OPERATIONS.keys()
    ids = [operation["operationId"] for operation in operations.values()]
    assert len(set(ids)) == len(ids)
    for key, statuses in OPERATIONS.items():
        operation = operations[key]
        assert operation["summary"]
        assert operation["description"]
        responses = operation["responses"]
        assert {status for status in responses if status >= "400"} == statuses
        for status in statuses:
            name = responses[status]["$ref"].removeprefix("#/components/responses/")
            content = document["components"]["responses"][name]["content"]
            assert content.keys() == {"application/problem+json"}
        assert ("requestBody" in operation) == (key[0] == "post")
    pointers = references_in(document)
    assert pointers
    for pointer in pointers:
        kind, name = pointer.removeprefix("#/components/").split("/")
        assert name in document["components"][kind]


@on_sqlite
async def test_the_document_describes_what_is_answered(client):
    schemas = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    made = (await client.post(API, json={"original_url": URL})).json()
    assert schemas["NewLinkRead"]["properties"].keys() == made.keys()
    assert set(schemas["NewLinkRead"]["required"]) == made.keys() - {"claim_token"}
    camel = (await client.post("/api/urls/public", json={"originalUrl": URL})).json()
    assert schemas["UrlRead"]["properties"].keys() == camel.keys()
    assert schemas["UrlCreate"]["properties"].keys() == {"originalUrl"}
    refused = (await client.post(API, content=b"{", headers=JSON)).json()
    assert set(schemas["Problem"]["required"]) <= refused.keys()
    assert schemas["LinkCreate"]["additionalProperties"] is False


@on_sqlite
async def test_what_can_be_got_can_be_headed(client):
    paths = ("/healthz", "/readyz", "/api/docs", "/api/docs/start.js", "/api/openapi.json")
    assert {path: (await client.head(path)).status_code for path in paths} == dict.fromkeys(
        paths, 200
    )
