"""Whoever is refused because of a field is told which one, in a member of the problem."""

from typing import Any

import httpx2
import pytest

from support.engines import sqlite_first
from support.people import PASSWORD, People, Person

engine = sqlite_first  # fields are judged before any engine is asked

URL = "https://example.com/"
API = "/api/v1"
PAST = "2001-01-01T00:00:00Z"
FAR = "9999-12-31T23:59:59-01:00"

# What a new link is refused for: a field with its value, the code, and the field that is named.
LINKS: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({"original_url": "ftp://example.com/"}, "url-refused", "original_url"),
    ({"custom_code": "a/b"}, "custom-code-refused", "custom_code"),
    ({"custom_code": "taken"}, "custom-code-taken", "custom_code"),
    ({"strategy": "custom"}, "strategy-refused", "strategy"),
    ({"expires_at": PAST}, "instant-refused", "expires_at"),
    ({"expires_at": FAR}, "instant-refused", "expires_at"),
    ({"expires_at": FAR, "expires_in": 60}, "instant-refused", "expires_at"),
    ({"expires_in": 0}, "instant-refused", "expires_in"),
    ({"expires_in": 10**10}, "instant-refused", "expires_in"),
    ({"starts_at": PAST}, "instant-refused", "starts_at"),
    ({"starts_at": FAR}, "instant-refused", "starts_at"),
    ({"title": " "}, "field-refused", "title"),
    ({"notes": "\0"}, "field-refused", "notes"),
    ({"tags": ["x" * 51]}, "field-refused", "tags"),
)
KEYS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"name": " "}, "name"),
    ({"name": "a\0b"}, "name"),
    ({"expires_at": PAST}, "expires_at"),
    ({"expires_at": FAR}, "expires_at"),
)
QUERIES = (
    ("/links?search=a", "field-refused", "search"),
    ("/links?cursor=x", "cursor-refused", "cursor"),
    ("/keys?cursor=x", "cursor-refused", "cursor"),
    ("/me/stats?from=soon", "period-refused", "from"),
    ("/me/stats?to=soon", "period-refused", "to"),
    ("/me/stats?zone=Nowhere", "period-refused", "zone"),
    ("/me/stats?from=2026-01-02&to=2026-01-01", "period-refused", "from"),
    ("/me/stats?from=2026-01-01&to=2026-02-28&interval=hour", "period-refused", "interval"),
)


def named(answer: httpx2.Response) -> tuple[str, str | None]:
    assert answer.status_code in (401, 409, 422), answer.text
    found = answer.json()
    return found["type"].removeprefix("/api/problems/"), found.get("field")


async def ask(
    client: httpx2.AsyncClient, person: Person, method: str, path: str, **options: Any
) -> httpx2.Response:
    return await client.request(method, API + path, headers=person.headers, **options)


async def test_fields_of_a_link(client, people):
    person = await people.add()
    for code in ("taken", "mine"):
        body = {"original_url": f"{URL}{code}", "custom_code": code}
        made = await ask(client, person, "POST", "/links", json=body)
        assert made.status_code == 201, made.text
    link = made.json()
    for fields, code, field in LINKS:
        answer = await ask(client, person, "POST", "/links", json={"original_url": URL, **fields})
        assert named(answer) == (code, field), fields
        if "strategy" not in fields:
            answer = await ask(client, person, "PATCH", f"/links/{link['id']}", json=fields)
            assert named(answer) == (code, "expires_in" if len(fields) == 2 else field), fields
    body = {"expires_at": FAR}
    answer = await ask(client, person, "POST", f"/links/{link['id']}/restore", json=body)
    assert named(answer) == ("instant-refused", "expires_at")
    items = [{"action": "edit", "id": link["id"], "changes": {"custom_code": "taken"}}]
    bulk = await ask(client, person, "POST", "/links/bulk", json={"items": items})
    assert bulk.json()["results"][0]["problem"]["field"] == "custom_code"
    answer = await client.post("/api/urls/public", json={"originalUrl": "ftp://example.com/"})
    assert named(answer) == ("url-refused", "originalUrl")


async def test_parts_of_a_query(client, people):
    person = await people.add()
    for path, code, field in QUERIES:
        assert named(await ask(client, person, "GET", path)) == (code, field), path


async def test_fields_of_an_account(client, people):
    person = await people.add("ada@example.com")
    path = "/auth/register"
    for email, password, more, expected in (
        ("nobody", PASSWORD, {}, ("email-refused", "email")),
        ("ada@example.com", PASSWORD, {}, ("email-taken", "email")),
        ("bob@example.com", "short", {}, ("password-refused", "password")),
        ("bob@example.com", PASSWORD, {"invitation": "x"}, ("one-time-link-refused", "invitation")),
    ):
        body = {"email": email, "password": password, **more}
        assert named(await client.post(API + path, json=body)) == expected
    for old, new, expected in (
        ("another password", PASSWORD, ("sign-in-refused", "old_password")),
        (PASSWORD, "short", ("password-refused", "new_password")),
    ):
        body = {"old_password": old, "new_password": new}
        answer = await ask(client, person, "POST", "/auth/password", json=body)
        assert named(answer) == expected
    answer = await ask(client, person, "DELETE", "/me", json={"password": "another password"})
    assert named(answer) == ("sign-in-refused", "password")
    reset = await client.post(f"{API}/auth/reset", json={"token": "x", "password": PASSWORD})
    assert named(reset) == ("one-time-link-refused", "token")
    for fields, field in KEYS:
        key: dict[str, Any] = {"name": "a key", "scopes": ["links:read"], **fields}
        answer = await ask(client, person, "POST", "/keys", json=key)
        assert named(answer) == ("name-refused", field), fields


async def test_fields_of_a_workspace(client, people):
    person = await people.add()
    await people.workspace(person, "taken")
    path = f"/workspaces/{(await people.workspace(person, 'mine')).id}"
    for fields, expected in (
        ({"name": " "}, ("name-refused", "name")),
        ({"slug": "-a"}, ("name-refused", "slug")),
        ({"slug": "taken"}, ("slug-taken", "slug")),
        ({"root_url": "ftp://example.com/"}, ("url-refused", "root_url")),
    ):
        assert named(await ask(client, person, "PATCH", path, json=fields)) == expected
    for host in ("localhost", "co.uk"):
        answer = await ask(client, person, "POST", f"{path}/domains", json={"host": host})
        assert named(answer) == ("domain-refused", "host")
    body = {"account_id": person.id}
    answer = await ask(client, person, "POST", f"{path}/transfer", json=body)
    assert named(answer) == ("name-refused", "account_id")


async def test_what_an_administrator_sends(client, people):
    admin = await people.add(is_admin=True)
    answer = await ask(client, admin, "PUT", "/admin/hosts/com/ban", json={})
    assert named(answer) == ("host-refused", "host")
    body = {"reason": "a\nb"}
    answer = await ask(client, admin, "PUT", "/admin/hosts/example.com/ban", json=body)
    assert named(answer) == ("field-refused", "reason")


async def test_rows_of_an_import(client, people):
    person = await people.add()
    rows = (
        (b"ftp://a/,,,", "original_url"),
        (b",,,", "original_url"),
        (b"https://example.com/,a/b,,", "short_code"),
        (b"https://example.com/,,,many", "max_clicks"),
        (b"https://example.com/,,soon,", "expires_at"),
    )
    head = b"original_url,short_code,expires_at,max_clicks\n"
    answer = await client.post(
        f"{API}/links/import",
        content=head + b"\n".join(row for row, _ in rows),
        headers=person.headers | {"content-type": "text/csv"},
    )
    found = [problem["field"] for problem in answer.json()["problems"]]
    assert found == [field for _, field in rows]


async def test_several_fields_at_once(client, people: People):
    person = await people.add()
    body = {"original_url": 1, "tags": ["a", 2], "colour": "red"}
    refused = await ask(client, person, "POST", "/links", json=body)
    assert named(refused) == ("request-refused", None)
    errors = refused.json()["errors"]
    assert {(error["field"], error["code"]) for error in errors} == {
        ("original_url", "string_type"),
        ("tags.1", "string_type"),
        ("colour", "extra_forbidden"),
    }
    assert all(error.keys() == {"field", "code", "detail"} for error in errors)
    empty = await ask(client, person, "PATCH", "/links/1", json={})
    assert [error["field"] for error in empty.json()["errors"]] == ["body"]
    stranger = await client.post(f"{API}/links", json={"original_url": URL, "title": "x"})
    assert [error["field"] for error in stranger.json()["errors"]] == ["title"]


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_the_style_of_a_qr_code(client, people):
    person = await people.add()
    made = await ask(client, person, "POST", "/links", json={"original_url": URL})
    path = f"/links/{made.json()['id']}/qr"
    answer = await ask(client, person, "GET", f"{path}?dark=%23ffffff")
    assert named(answer) == ("field-refused", "light")
