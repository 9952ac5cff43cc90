"""What every answer carries: security headers and a request id."""

import re

import pytest

from kurz.api.app import create_api
from kurz.links.model import Status
from support.headers import OPERATIONS, check_headers, policy

URL = "https://example.com/"
API = "/api/v1/links"
JSON = {"content-type": "application/json"}
PAGE = {"accept": "text/html"}
BASE = "https://go.example.com"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


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
async def test_what_can_be_got_can_be_headed(client):
    paths = ("/healthz", "/readyz", "/api/docs", "/api/docs/start.js", "/api/openapi.json")
    assert {path: (await client.head(path)).status_code for path in paths} == dict.fromkeys(
        paths, 200
    )
