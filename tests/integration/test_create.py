"""Making links without an account: `POST /`, `/api/v1/links` and `/api/urls/public`."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.api.dialects.urls import UrlRead
from kurz.api.schemas.links import LinkCreate, NewLinkRead
from kurz.links.service import hash_claim_token
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz

URL = "https://Example.com/a/../b/?z=1&a=2#part"
CANONICAL = "https://example.com/b?a=2&z=1"
CODE = re.compile(r"[a-zA-Z0-9]{7}")
HOURS_8 = 28_800

# Every way to make a link: the path, and the request that makes one to `url`.
WAYS: dict[str, Callable[[str], dict[str, Any]]] = {
    "/": lambda url: {"content": url},
    "/api/v1/links": lambda url: {"json": {"original_url": url}},
    "/api/urls/public": lambda url: {"json": {"originalUrl": url}},
}
every_way = pytest.mark.parametrize("path", WAYS)
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

# A value that each field would accept from somebody with an account.
FIELDS = {
    "custom_code": "mine",
    "strategy": "counter",
    "starts_at": "2026-04-01T00:00:00Z",
    "expires_at": "2026-04-01T00:00:00Z",
    "title": "A title",
    "tags": ["one"],
    "notes": "Some notes",
    "redirect_status": 301,
    "forward_query": True,
    "max_clicks": 3,
}


def make(
    client: httpx2.AsyncClient, path: str, url: str = URL, **options: Any
) -> Awaitable[httpx2.Response]:
    return client.post(path, **WAYS[path](url), **options)


def short_url(answer: httpx2.Response) -> str:
    if answer.headers["content-type"].startswith("text/plain"):
        return answer.text.removesuffix("\n")
    body = answer.json()
    address: str = body.get("short_url") or body["shortUrl"]
    return address


def problem(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")


async def stored(kurz: Kurz) -> list[sa.RowMapping]:
    """The rows of all links."""
    return await kurz.database.read(
        lambda connection: [*connection.execute(sa.select(links)).mappings()]
    )


async def test_the_api_answers_with_the_whole_link(client, clock):
    answer = await make(client, "/api/v1/links")
    body = answer.json()
    assert answer.status_code == 201
    assert answer.headers["content-type"] == "application/json"
    assert body.keys() == NewLinkRead.model_fields.keys()
    link = NewLinkRead.model_validate(body)
    assert CODE.fullmatch(link.short_code)
    assert 0 <= link.id < 2**53
    assert link.created_at == link.updated_at == clock.now()
    assert link.expires_at == clock.now() + timedelta(hours=8)
    told = link.model_dump(
        mode="json",
        exclude={"id", "short_code", "created_at", "updated_at", "expires_at", "claim_token"},
    )
    assert told == {
        "workspace_id": 0,
        "short_url": f"http://kurz.test/{link.short_code}",
        "original_url": URL,
        "canonical_url": CANONICAL,
        "link_type": "TEMPORARY",
        "status": "ACTIVE",
        "is_paused": False,
        "strategy": "random",
        "owner_id": None,
        "version": 1,
        "starts_at": None,
        "deleted_at": None,
        "swept_at": None,
        "purged_at": None,
        "redirect_status": 302,
        "title": None,
        "tags": [],
        "notes": None,
        "forward_query": False,
        "max_clicks": None,
        "clicks_used": 0,
        "redirect_count": 0,
        "avg_redirect_ms": None,
        "destination_status": None,
        "destination_http_status": None,
        "last_checked_at": None,
        "held_at": None,
    }


async def test_the_camel_case_path_answers_in_its_own_words(client, clock):
    answer = await make(client, "/api/urls/public")
    body = answer.json()
    assert answer.status_code == 201
    assert body.keys() == {field.alias for field in UrlRead.model_fields.values()}
    assert {"originalUrl", "shortCode", "shortUrl", "linkType", "expiresAt"} < body.keys()
    assert {"redirectCount", "avgRedirectMs", "destinationStatus"} < body.keys()
    url = UrlRead.model_validate(body)
    assert (url.original_url, url.link_type, url.status) == (URL, "TEMPORARY", "ACTIVE")
    assert url.short_url == f"http://kurz.test/{url.short_code}"
    assert url.expires_at == clock.now() + timedelta(hours=8)
    assert url.redirect_count == 0


async def test_the_shell_gets_one_line_of_text(client):
    answer = await make(client, "/")
    assert answer.status_code == 201
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert re.fullmatch(r"http://kurz\.test/[a-zA-Z0-9]{7}\n", answer.text)


@on_sqlite
@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "Text/Plain; q=1"]
)
async def test_the_shell_may_send_what_its_tools_send(client, content_type):
    headers = {"content-type": content_type} if content_type else {}
    answer = await client.post("/", content=f"{URL}\r\n", headers=headers)
    assert answer.status_code == 201
    followed = await client.get(answer.headers["location"])
    assert followed.headers["location"] == "https://example.com/b/?z=1&a=2#part"


@every_way
async def test_a_created_link_says_where_it_is_and_is_kept_by_nobody(client, path):
    answer = await make(client, path)
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["location"] == short_url(answer)
    followed = await client.get(short_url(answer))
    assert followed.status_code == 302
    assert followed.headers["location"] == "https://example.com/b/?z=1&a=2#part"


@pytest.mark.parametrize("path", ["/api/v1/links", "/api/urls/public"])
async def test_the_claim_token_is_told_once_and_stored_hashed(client, kurz, path):
    body = (await make(client, path)).json()
    token = body.get("claim_token") or body["claimToken"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    code = body.get("short_code") or body["shortCode"]
    for accept in ("text/html", "application/json"):
        shown = await client.get(f"/{code}+", headers={"accept": accept})
        assert shown.status_code == 200
        assert token not in shown.text
    (row,) = await stored(kurz)
    assert row["claim_hash"] == hash_claim_token(token)
    assert token.encode() not in b"|".join(str(value).encode() for value in row.values())


async def test_every_link_has_a_code_an_id_and_a_token_of_its_own(client):
    made = [(await make(client, "/api/v1/links")).json() for _ in range(20)]
    for name in ("short_code", "id", "claim_token"):
        assert len({link[name] for link in made}) == 20
    ids = [link["id"] for link in made]
    assert ids != sorted(ids)


@on_sqlite
@pytest.mark.parametrize("field", FIELDS)
async def test_a_field_that_needs_an_account_is_named(client, kurz, field):
    body = {"original_url": URL, field: FIELDS[field]}
    answer = await client.post("/api/v1/links", json=body)
    assert problem(answer) == (401, "sign-in-required")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert f"`{field}`" in answer.json()["detail"]
    assert await stored(kurz) == []


def test_every_field_of_a_create_is_tried_without_an_account():
    assert FIELDS.keys() | {"original_url", "expires_in"} == LinkCreate.model_fields.keys()


async def test_several_fields_that_need_an_account_are_all_named(client, kurz):
    answer = await client.post("/api/v1/links", json={"original_url": URL, **FIELDS})
    assert problem(answer) == (401, "sign-in-required")
    assert all(f"`{field}`" in answer.json()["detail"] for field in FIELDS)
    assert await stored(kurz) == []


@pytest.mark.parametrize("seconds", [1, HOURS_8])
async def test_an_anonymous_link_lives_as_long_as_asked_up_to_8_hours(client, clock, seconds):
    answer = await client.post("/api/v1/links", json={"original_url": URL, "expires_in": seconds})
    assert answer.status_code == 201
    link = answer.json()
    assert datetime.fromisoformat(link["expires_at"]) == clock.now() + timedelta(seconds=seconds)
    clock.advance(seconds=seconds, microseconds=-1)
    assert (await client.get(link["short_url"])).status_code == 302
    clock.advance(microseconds=1)
    assert (await client.get(link["short_url"])).status_code == 410


@pytest.mark.parametrize("seconds", [0, -1, HOURS_8 + 1, 10**30, -(10**30)])
@on_sqlite
async def test_another_life_is_refused(client, kurz, seconds):
    answer = await client.post("/api/v1/links", json={"original_url": URL, "expires_in": seconds})
    assert problem(answer) == (422, "instant-refused")
    assert "`expires_in`" in answer.json()["detail"]
    assert await stored(kurz) == []


@on_sqlite
async def test_the_setting_decides_how_long_temporary_links_live(connect, clock):
    client = await connect(temporary_link_hours=2)
    link = (await make(client, "/api/v1/links")).json()
    assert datetime.fromisoformat(link["expires_at"]) == clock.now() + timedelta(hours=2)
    too_long = {"original_url": URL, "expires_in": 7201}
    assert problem(await client.post("/api/v1/links", json=too_long)) == (422, "instant-refused")


@every_way
async def test_a_private_kurz_makes_no_links_for_strangers(connect, kurz, path):
    client = await connect(access="private")
    answer = await make(client, path)
    assert problem(answer) == (401, "sign-in-required")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert await stored(kurz) == []


@on_sqlite
@every_way
async def test_a_private_kurz_does_not_judge_what_strangers_send(connect, path):
    client = await connect(access="private")
    assert problem(await make(client, path, "javascript:alert(1)")) == (401, "sign-in-required")


@on_sqlite
@every_way
async def test_short_urls_start_with_the_base_url(connect, path):
    client = await connect("http://go.example.com", base_url="https://go.example.com")
    headers = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "http"}
    answer = await make(client, path, headers=headers)
    assert re.fullmatch(r"https://go\.example\.com/[a-zA-Z0-9]{7}", short_url(answer))


@on_sqlite
@every_way
@pytest.mark.parametrize(
    ("origin", "shown"),
    [
        ("http://kurz.test", "http://kurz.test"),
        ("http://kurz.test:8080", "http://kurz.test:8080"),
        ("http://10.0.0.7:8080", "http://10.0.0.7:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
async def test_without_a_base_url_short_urls_start_with_the_host(connect, path, origin, shown):
    client = await connect(origin)
    address = short_url(await make(client, path))
    assert address.startswith(f"{shown}/")
    assert (await client.get(address)).status_code == 302


@on_sqlite
async def test_a_host_in_capitals_is_the_same_host(client):
    answer = await make(client, "/", headers={"host": "KURZ.Test"})
    assert answer.text.startswith("http://kurz.test/")


@on_sqlite
@pytest.mark.parametrize(
    ("peer", "sent", "scheme"),
    [
        ("127.0.0.1", "https", "https"),
        ("::1", "https", "https"),
        ("127.0.0.1", " HTTPS ", "https"),
        ("127.0.0.1", "http", "http"),
        ("127.0.0.1", "javascript", "http"),
        ("127.0.0.1", None, "http"),
        ("192.0.2.1", "https", "http"),
        ("not-an-address", "https", "http"),
    ],
)
async def test_only_a_trusted_proxy_says_that_people_use_https(connect, peer, sent, scheme):
    client = await connect(peer=peer)
    headers = {"x-forwarded-proto": sent} if sent else {}
    answer = await make(client, "/", headers=headers)
    assert answer.text.startswith(f"{scheme}://kurz.test/")


@on_sqlite
async def test_the_setting_decides_which_proxies_are_trusted(connect):
    headers = {"x-forwarded-proto": "https"}
    for peer, scheme in ("192.0.2.77", "https"), ("127.0.0.1", "http"):
        client = await connect(peer=peer, trusted_proxies=("192.0.2.0/24",))
        answer = await make(client, "/", headers=headers)
        assert answer.text.startswith(f"{scheme}://kurz.test/")


@on_sqlite
@pytest.mark.parametrize("name", ["x-forwarded-host", "x-original-host", "forwarded"])
async def test_no_other_header_names_the_host(client, name):
    answer = await make(client, "/", headers={name: "host=evil.example"})
    assert answer.text.startswith("http://kurz.test/")


LOOPS = {
    "http://kurz.test": [
        "http://kurz.test/abc",
        "http://KURZ.test:80/abc",
        "http://kurz.test./abc",
        "http://kurz%2Etest/abc",
    ],
    "http://kurz.test:8080": ["http://kurz.test:8080/", "https://kurz.test:8080/"],
    "http://[::1]:8080": ["http://[0:0:0:0:0:0:0:1]:8080/abc"],
}


@on_sqlite
@every_way
@pytest.mark.parametrize(("origin", "urls"), LOOPS.items(), ids=LOOPS)
async def test_a_link_to_the_host_it_is_made_on_is_a_loop(connect, kurz, path, origin, urls):
    client = await connect(origin)
    for url in urls:
        answer = await make(client, path, url)
        assert (url, *problem(answer)) == (url, 422, "url-refused")
        assert "back to this shortener" in answer.json()["detail"]
    assert await stored(kurz) == []


@on_sqlite
async def test_a_loop_is_found_under_a_host_written_with_its_last_dot(connect):
    client = await connect("http://kurz.test.")
    answer = await make(client, "/api/v1/links", "http://kurz.test/abc")
    assert problem(answer) == (422, "url-refused")


@on_sqlite
async def test_another_port_of_the_host_is_no_loop(connect):
    client = await connect("http://kurz.test:8080")
    assert (await make(client, "/", "http://kurz.test:3000/")).status_code == 201


@on_sqlite
@pytest.mark.parametrize(
    "url", ["https://go.example.com/x", "http://go.example.com:8080/", "https://GO.example.com./"]
)
@every_way
async def test_a_link_to_the_base_url_is_a_loop(connect, path, url):
    client = await connect("https://go.example.com", base_url="https://go.example.com")
    assert problem(await make(client, path, url)) == (422, "url-refused")


async def test_a_link_to_a_custom_domain_of_ours_is_a_loop(client, add_workspace, add_domain):
    await add_domain("go.team.example", await add_workspace("team"))
    answer = await make(client, "/api/v1/links", "https://go.team.example/abc")
    assert problem(answer) == (422, "url-refused")


async def test_parallel_creates_all_get_their_own_link(client, kurz):
    urls = [f"https://example.com/{number}" for number in range(50)]
    answers = await asyncio.gather(*(make(client, "/api/v1/links", url) for url in urls))
    assert {answer.status_code for answer in answers} == {201}
    followed = await asyncio.gather(*(client.get(short_url(answer)) for answer in answers))
    assert [answer.headers["location"] for answer in followed] == urls
    assert len(await stored(kurz)) == 50
