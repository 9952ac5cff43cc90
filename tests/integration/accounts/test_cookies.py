"""Sessions in cookies, and requests from the pages of other sites."""

import itertools
import json
from typing import Any

import httpx2
import pytest

from kurz.people.access import Permission
from support.accounts import (
    AUTH,
    EMAIL,
    ME,
    OTHER_PASSWORD,
    assert_problem,
    cookie,
    credentials,
    everything,
    register,
    sign_in,
    status_of,
)
from support.people import PASSWORD


def attributes(answer: httpx2.Response) -> tuple[str, str, set[str]]:
    header, *_ = answer.headers.get_list("set-cookie")  # after it comes the device's
    first, *rest = header.split("; ")
    name, _, value = first.partition("=")
    return name, value, set(rest)


async def test_a_cookie_is_for_this_host_and_no_script(connect, people):
    client = await connect()
    await people.add(EMAIL)
    answer = await sign_in(client, as_cookie=True)
    name, token, rest = attributes(answer)
    assert name == "kurz"
    assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400"}
    assert answer.json()["token"] is None
    assert token not in answer.text
    client.cookies.clear()
    assert await status_of(client, cookie(token)) == 200
    out = await client.post(f"{AUTH}/sign-out", headers=cookie(token, origin="http://kurz.test"))
    assert out.status_code == 204
    assert attributes(out) == (
        "kurz",
        "",
        {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=0"},
    )
    assert await status_of(client, cookie(token)) == 401


async def test_whoever_comes_by_a_page_is_signed_in_there(client, people, kurz):
    setup_token, _ = await kurz.one_time_tokens.make_setup()
    by_setup = {"token": setup_token, **credentials("admin@example.com")}
    made = await client.post(f"{AUTH}/setup", json=by_setup | {"as_cookie": True})
    assert made.status_code == 201, made.text
    registered = await register(client, as_cookie=True)
    assert registered.status_code == 201
    person = await people.add()
    reset_token, _ = await kurz.one_time_tokens.make_reset(person.id, None)
    body = {"token": reset_token, "password": OTHER_PASSWORD, "as_cookie": True}
    reset = await client.post(f"{AUTH}/reset", json=body)
    assert reset.status_code == 200, reset.text
    client.cookies.clear()
    for answer in (made, registered, reset):
        name, token, rest = attributes(answer)
        assert name == "kurz"
        assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400"}
        assert answer.json()["token"] is None
        assert token not in answer.text
        me = await client.get(ME, headers=cookie(token))
        assert me.json()["email"] == answer.json()["account"]["email"]


@pytest.mark.parametrize("way", ["TLS", "trusted proxy"])
async def test_over_tls_a_cookie_never_leaves_it(connect, people, way):
    origin = "https://kurz.test" if way == "TLS" else "http://kurz.test"
    client = await connect(origin)
    forwarded = {} if way == "TLS" else {"x-forwarded-proto": "https"}
    await people.add(EMAIL)
    answer = await client.post(
        f"{AUTH}/sign-in", json=credentials(as_cookie=True), headers=forwarded
    )
    name, token, rest = attributes(answer)
    assert name == "__Host-kurz"
    assert rest == {"Path=/", "HttpOnly", "SameSite=Strict", "Max-Age=86400", "Secure"}
    client.cookies.clear()
    good = {"cookie": f"__Host-kurz={token}"} | forwarded
    assert await status_of(client, good) == 200
    assert await status_of(client, cookie(token) | forwarded) == 401  # anybody could set that one
    foreign = good | {"origin": "http://kurz.test"}
    out = await client.post(f"{AUTH}/sign-out", headers=foreign)
    assert_problem(out, 403, "request-forged")
    out = await client.post(f"{AUTH}/sign-out", headers=good | {"origin": "https://kurz.test"})
    assert out.status_code == 204
    assert attributes(out)[0] == "__Host-kurz"
    assert "Secure" in attributes(out)[2]


async def test_a_stranger_cannot_say_that_it_was_tls(connect, people):
    client = await connect(peer="203.0.113.9")
    await people.add(EMAIL)
    answer = await client.post(
        f"{AUTH}/sign-in",
        json=credentials(as_cookie=True),
        headers={"x-forwarded-proto": "https"},
    )
    assert attributes(answer)[0] == "kurz"
    assert "Secure" not in attributes(answer)[2]


OWN = "http://kurz.test"
FORGED: list[dict[str, str]] = [
    {},
    {"origin": ""},
    {"origin": "null"},
    {"origin": "https://evil.example"},
    {"origin": "https://kurz.test"},
    {"origin": "http://kurz.test:8080"},
    {"origin": "http://kurz.test.evil.example"},
    {"origin": "http://evil.kurz.test"},
    {"origin": "http://kurz.test/"},
    {"origin": "http://kurz.test, https://evil.example"},
    {"origin": "kurz.test"},
    {"referer": "http://kurz.test/app"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": ""},
    {"sec-fetch-site": "Same-Origin"},
    {"sec-fetch-site": "same-origin, cross-site"},
    {"sec-fetch-site": "cross-site", "origin": OWN},
    {"sec-fetch-site": "same-site", "origin": OWN},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    {"sec-fetch-site": "none", "origin": "https://evil.example"},
    {"sec-fetch-site": "none", "origin": "null"},
]
HONEST: list[dict[str, str]] = [
    {"origin": OWN},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
    {"sec-fetch-site": "same-origin", "origin": OWN},
]


async def test_another_sites_page_cannot_act_with_a_cookie(client, people, kurz):
    admin = await people.add(is_admin=True)
    other = await people.add()
    await people.key(admin, Permission.LINKS_READ)
    (key,) = await kurz.keys.list(admin.id)
    workspace = await people.workspace(admin, "team")
    link = await client.post(
        "/api/v1/links", json={"original_url": "https://example.com/"}, headers=admin.headers
    )
    acts: list[tuple[str, str, dict[str, Any] | None]] = [
        ("POST", "/api/v1/keys", {"name": "x", "scopes": ["admin"]}),
        ("POST", "/api/v1/links", {"original_url": "https://example.com/forged"}),
        ("POST", f"{AUTH}/sign-out", None),
        ("POST", f"{AUTH}/password", {"old_password": PASSWORD, "new_password": OTHER_PASSWORD}),
        ("POST", "/api/v1/admin/invitations", None),
        ("PATCH", f"/api/v1/admin/accounts/{other.id}", {"is_admin": True}),
        ("PATCH", f"/api/v1/links/{link.json()['id']}", {"title": "forged"}),
        ("PUT", f"/api/v1/admin/workspaces/{workspace.id}/quota", {"links_per_month": 1}),
        ("DELETE", f"/api/v1/keys/{key.id}", None),
        ("DELETE", f"/api/v1/links/{link.json()['id']}", None),
        ("DELETE", ME, {"password": PASSWORD}),
    ]
    before = await everything(kurz)
    for forged, (method, path, body) in itertools.product(FORGED, acts):
        headers = cookie(admin.token) | forged
        answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 403, (forged, method, path)
        assert_problem(answer, 403, "request-forged")
    text = cookie(admin.token) | {"content-type": "text/plain"}
    for forged in FORGED:
        answer = await client.post("/", content="https://example.com/x", headers=text | forged)
        assert answer.status_code == 403, forged
    assert await everything(kurz) == before
    for headers in (*FORGED, *HONEST):  # looking is no act
        answer = await client.get(ME, headers=cookie(admin.token) | headers)
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        assert "access-control-allow-credentials" not in answer.headers
    assert await everything(kurz) == before


async def test_our_own_pages_can_act_with_a_cookie(client, people, kurz):
    person = await people.add()
    for honest in HONEST:
        body = {"name": "x", "scopes": ["links:read"]}
        made = await client.post("/api/v1/keys", json=body, headers=cookie(person.token) | honest)
        assert made.status_code == 201, honest
        gone = await client.delete(
            f"/api/v1/keys/{made.json()['id']}", headers=cookie(person.token) | honest
        )
        assert gone.status_code == 204


async def test_a_form_of_another_site_cannot_sign_anybody_in(client, people):
    await people.add(EMAIL)
    body = json.dumps(credentials(as_cookie=True))
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = await client.post(
            f"{AUTH}/sign-in", content=body, headers={"content-type": media_type}
        )
        assert answer.status_code == 415
        assert "set-cookie" not in answer.headers
    preflight = await client.options(
        f"{AUTH}/sign-in",
        headers={"origin": "https://evil.example", "access-control-request-method": "POST"},
    )
    assert "access-control-allow-origin" not in preflight.headers


async def test_a_page_that_changes_its_password_never_sees_the_token(client, people):
    person = await people.add("ada@example.com")
    client.cookies.set("kurz", person.token)
    answer = await client.post(
        "/api/v1/auth/password",
        json={"old_password": PASSWORD, "new_password": "another horse battery"},
        headers={"sec-fetch-site": "same-origin"},
    )
    assert answer.status_code == 200
    assert answer.json()["token"] is None
    assert answer.headers["set-cookie"].startswith("kurz=")
