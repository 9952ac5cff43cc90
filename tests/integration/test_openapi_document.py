"""The OpenAPI document and its explorer."""

import asyncio
import re
from html.parser import HTMLParser

import httpx2
import pytest

from kurz.api.app import create_api
from support.headers import OPERATIONS, check_headers, policy

URL = "https://example.com/"
API = "/api/v1/links"
JSON = {"content-type": "application/json"}
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


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
async def test_others_are_served_while_the_openapi_document_is_built(client):
    asking = asyncio.ensure_future(client.get("/api/openapi.json"))
    turns = 0
    while not asking.done():
        await asyncio.sleep(0.001)
        turns += 1
    assert (await asking).status_code == 200
    assert turns > 10


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
