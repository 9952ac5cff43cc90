"""API keys: what they open, and when they end."""

import asyncio
import hashlib
from datetime import timedelta
from typing import Any

import httpx2

from kurz.people.access import Permission, Role
from kurz.people.identity import Identity
from support.engines import redis_in_the_long_run
from support.people import Person

engine = redis_in_the_long_run

KEYS = "/api/v1/keys"
ME = "/api/v1/me"
LINKS = "/api/v1/links"
URL = {"original_url": "https://example.com/"}


async def make(client: httpx2.AsyncClient, person: Person, **fields: Any) -> httpx2.Response:
    body = {"name": "a key", "scopes": ["links:read"], **fields}
    return await client.post(KEYS, json=body, headers=person.headers)


def by(key: str) -> dict[str, str]:
    return {"x-api-key": key}


async def listed(client: httpx2.AsyncClient, person: Person) -> list[dict[str, Any]]:
    answer = await client.get(KEYS, headers=person.headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["keys"]
    return found


async def test_a_key_is_shown_once_and_kept_as_a_hash(client, people, kurz):
    person = await people.add()
    made = await make(client, person, name="Release script ✨")
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    text = made.json()["key"]
    start, prefix, secret = text.split("_", 2)
    assert (start, len(prefix), len(secret)) == ("kurz", 8, 43)
    assert made.json()["prefix"] == f"kurz_{prefix}"
    again = await client.get(KEYS, headers=person.headers)
    assert secret not in again.text
    assert "hash" not in again.text
    assert [item["name"] for item in again.json()["keys"]] == ["Release script ✨"]
    (stored,) = await kurz.keys.list(person.id)
    assert stored.secret_hash == hashlib.sha256(secret.encode()).digest()
    assert secret not in repr(stored)


async def test_no_two_keys_are_alike(client, people, kurz):
    person = await people.add()
    keys = {await people.key(person, Permission.LINKS_READ) for _ in range(30)}
    assert len({key.split("_", 2)[1] for key in keys}) == 30
    assert len({key.split("_", 2)[2] for key in keys}) == 30


async def test_a_key_opens_what_its_scopes_say(client, people):
    admin = await people.add(is_admin=True)
    link_id = (await client.post(LINKS, json=URL, headers=admin.headers)).json()["id"]
    opens: dict[Permission, set[str]] = {
        Permission.LINKS_READ: {"read"},
        Permission.LINKS_CREATE: {"create"},
        Permission.LINKS_WRITE: {"create", "write"},
        Permission.STATS_READ: set(),
        Permission.ADMIN: {"admin"},
    }
    for permission, expected in opens.items():
        headers = by(await people.key(admin, permission))
        answers = {
            "read": await client.get(LINKS, headers=headers),
            "create": await client.post(LINKS, json=URL, headers=headers),
            "write": await client.patch(f"{LINKS}/{link_id}", json={"title": "x"}, headers=headers),
            "admin": await client.get("/api/v1/admin/accounts", headers=headers),
        }
        assert {name for name, answer in answers.items() if answer.is_success} == expected
        assert all(
            answer.status_code == 403 for answer in answers.values() if not answer.is_success
        )
        shown = (await client.get(ME, headers=headers)).json()["scopes"]
        included = {"links:create"} if permission is Permission.LINKS_WRITE else set()
        assert set(shown) == {str(permission)} | included


async def test_no_key_gives_itself_more(client, people, kurz):
    admin = await people.add(is_admin=True)
    headers = by(await people.key(admin, *Permission))
    (key,) = await kurz.keys.list(admin.id)
    for method, path, body in (
        ("POST", KEYS, {"name": "more", "scopes": ["admin"]}),
        ("GET", KEYS, None),
        ("DELETE", f"{KEYS}/{key.id}", None),
        ("POST", "/api/v1/auth/sign-out", None),
        ("POST", "/api/v1/auth/password", {"old_password": "x", "new_password": "y"}),
        ("DELETE", ME, {"password": "x"}),
        ("GET", f"{ME}/export", None),
    ):
        answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code == 403, (method, path)
    assert [item.id for item in await kurz.keys.list(admin.id)] == [key.id]


async def test_only_administrators_make_keys_for_administrators(client, people, kurz):
    admin, person = await people.add(is_admin=True), await people.add()
    assert (await make(client, person, scopes=["admin"])).status_code == 403
    assert (await make(client, person, scopes=["links:read", "admin"])).status_code == 403
    assert (await make(client, admin, scopes=["admin"])).status_code == 201
    assert await kurz.keys.list(person.id) == []


async def test_a_key_loses_what_its_person_loses(connect, people, kurz):
    await people.add(is_admin=True)
    person = await people.add(is_admin=True)
    headers = by(await people.key(person, Permission.ADMIN, Permission.LINKS_READ))
    client = await connect()
    assert (await client.get("/api/v1/admin/accounts", headers=headers)).status_code == 200
    await kurz.accounts.set_admin(person.id, is_admin=False)
    other = await connect()  # has not seen the key yet
    assert (await other.get("/api/v1/admin/accounts", headers=headers)).status_code == 403
    assert (await other.get(LINKS, headers=headers)).status_code == 200


async def test_a_key_ends_when_it_says(connect, people, clock, kurz):
    client = await connect()
    person = await people.add()
    ends_at = clock.now() + timedelta(hours=1)
    made = await make(client, person, expires_at=ends_at.isoformat())
    headers = by(made.json()["key"])
    assert (await client.get(ME, headers=headers)).status_code == 200
    clock.advance(minutes=59, seconds=59)
    assert (await client.get(ME, headers=headers)).status_code == 200
    clock.advance(seconds=1)
    assert (await client.get(ME, headers=headers)).status_code == 401
    assert (await (await connect()).get(ME, headers=headers)).status_code == 401
    assert [item["id"] for item in await listed(client, person)] == [made.json()["id"]]


IMPOSSIBLE_ENDS: tuple[Any, ...] = (
    "2026-03-01T12:00:00Z",  # now
    "2026-03-01T11:59:59Z",
    "2026-03-01T13:59:59+02:00",
    "1969-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",  # the year 10000 in UTC
    "9999-12-31T23:59:59.999999-00:01",
    "2030-01-01T00:00:00",  # which zone?
    "2030-02-30T00:00:00Z",
    "tomorrow",
    "",
    True,
    [],
    {},
    0,
    -1,
)


async def test_an_end_that_cannot_be_is_refused_and_spoils_nothing(client, people):
    person = await people.add()
    for expires_at in IMPOSSIBLE_ENDS:
        answer = await make(client, person, expires_at=expires_at)
        assert answer.status_code == 422, expires_at
        assert answer.headers["content-type"] == "application/problem+json"
    assert await listed(client, person) == []


async def test_the_last_instant_of_all_is_an_end_like_any_other(client, people):
    person = await people.add()
    made = await make(client, person, expires_at="9999-12-31T23:59:59.999999Z")
    assert made.status_code == 201
    (key,) = await listed(client, person)
    assert key["expires_at"] == "9999-12-31T23:59:59.999999Z"
    assert (await client.get(ME, headers=by(made.json()["key"]))).status_code == 200


IMPOSSIBLE_KEYS: tuple[dict[str, Any], ...] = (
    {"name": ""},
    {"name": "  "},
    {"name": "x" * 101},
    {"name": "two\nlines"},
    {"name": "\x1b[31mred"},
    {"name": "NUL\0"},
    {"name": "turned \u202e"},
    {"scopes": []},
    {"scopes": ["links:delete"]},
    {"scopes": ["LINKS:READ"]},
    {"scopes": ["links:read links:write"]},
    {"scopes": "links:read"},
    {"scopes": ["*"]},
    {"workspace_id": 0},
    {"workspace_id": -1},
    {"workspace_id": "1"},
    {"workspace_id": True},
    {"workspace_id": 1.0},
    {"account_id": 1},
    {"key": "kurz_aaaaaaaa_" + "A" * 43},
)


async def test_a_key_that_cannot_be_is_refused(client, people, kurz):
    person = await people.add()
    for fields in IMPOSSIBLE_KEYS:
        answer = await make(client, person, **fields)
        assert answer.status_code == 422, fields
    assert await kurz.keys.list(person.id) == []


async def test_a_revoked_key_is_gone(connect, people, kurz):
    client = await connect()
    person, other = await people.add(), await people.add()
    made = (await make(client, person)).json()
    path = f"{KEYS}/{made['id']}"
    assert (await client.get(ME, headers=by(made["key"]))).status_code == 200
    assert (await client.delete(path, headers=other.headers)).status_code == 404
    assert (await client.get(ME, headers=by(made["key"]))).status_code == 200
    assert (await client.delete(path, headers=person.headers)).status_code == 204
    assert (await client.get(ME, headers=by(made["key"]))).status_code == 401
    assert (await (await connect()).get(ME, headers=by(made["key"]))).status_code == 401
    assert (await client.delete(path, headers=person.headers)).status_code == 404
    for bad in ("0", "-1", str(2**53), str(2**63), "x"):
        assert (await client.delete(f"{KEYS}/{bad}", headers=person.headers)).status_code == 422


async def test_a_key_for_one_workspace_opens_that_one_only(client, people, kurz):
    admin = await people.add(is_admin=True)
    team = await people.workspace(admin, "team")
    other = await people.workspace(admin, "other")
    made = await make(
        client, admin, scopes=["links:read", "links:write", "admin"], workspace_id=team.id
    )
    headers = by(made.json()["key"])
    assert made.json()["workspace_id"] == team.id
    inside = f"/api/v1/workspaces/{team.id}/links"
    assert (await client.post(inside, json=URL, headers=headers)).status_code == 201
    assert (await client.get(inside, headers=headers)).status_code == 200
    for path in (f"/api/v1/workspaces/{other.id}/links", f"/api/v1/workspaces/{2**40}/links"):
        assert (await client.get(path, headers=headers)).status_code == 404
        assert (await client.post(path, json=URL, headers=headers)).status_code == 404
    assert (await client.get(LINKS, headers=headers)).status_code == 403
    assert (await client.post(LINKS, json=URL, headers=headers)).status_code == 403
    spaces = (await client.get("/api/v1/workspaces", headers=headers)).json()["workspaces"]
    assert [item["id"] for item in spaces] == [team.id]
    for path in ("accounts", "invitations", "workspaces"):
        answer = await client.get(f"/api/v1/admin/{path}", headers=headers)
        assert answer.status_code == 403
    promote = await client.patch(
        f"/api/v1/admin/accounts/{admin.id}", json={"is_admin": True}, headers=headers
    )
    assert promote.status_code == 403


async def test_a_key_for_a_workspace_takes_a_member_of_it(connect, people, kurz):
    client = await connect()
    owner, viewer, stranger = [await people.add() for _ in range(3)]
    team = await people.workspace(owner, "team")
    await people.join(team, viewer, Role.VIEWER)
    assert (await make(client, stranger, workspace_id=team.id)).status_code == 404
    assert (await make(client, stranger, workspace_id=2**40)).status_code == 404
    assert (await make(client, stranger, workspace_id=2**63)).status_code in (404, 422)
    made = await make(client, viewer, scopes=["links:read", "links:write"], workspace_id=team.id)
    headers = by(made.json()["key"])
    inside = f"/api/v1/workspaces/{team.id}/links"
    assert (await client.get(inside, headers=headers)).status_code == 200
    assert (await client.post(inside, json=URL, headers=headers)).status_code == 403
    await kurz.teams.remove(team.id, viewer.id)
    assert (await (await connect()).get(inside, headers=headers)).status_code == 404


async def test_when_a_key_was_used_is_known_to_a_minute_or_so(kurz, people, clock):
    person = await people.add()
    text = await people.key(person, Permission.LINKS_READ)
    seconds = 0.0
    identity = Identity(
        people.tokens, kurz.account_store, kurz.keys, clock, monotonic=lambda: seconds
    )
    (unused,) = await kurz.keys.list(person.id)
    assert unused.last_used_at is None
    first = clock.now()
    await identity.identify(text)
    clock.advance(seconds=59)
    seconds += 59.0
    await identity.identify(text)
    (key,) = await kurz.keys.list(person.id)
    assert key.last_used_at == first
    clock.advance(seconds=6)
    seconds += 6.0
    await asyncio.gather(*(identity.identify(text) for _ in range(5)))
    (key,) = await kurz.keys.list(person.id)
    assert key.last_used_at == clock.now()


async def test_a_refused_key_was_not_used(client, people, kurz):
    person = await people.add()
    text = await people.key(person, Permission.LINKS_READ)
    head, prefix, secret = text.split("_", 2)
    wrong = [
        f"{head}_{prefix}_{'A' * 43}",
        f"{head}_{prefix}_{secret[:-1]}",
        f"{head}_{prefix}_{secret}A",
        f"{head}_{prefix}_{secret.swapcase()}",
        f"{head}_{prefix}_",
        f"{head}_{prefix}",
        f"{head}_{prefix.swapcase()}_{secret}",
        f"{head}_%%%%%%%%_{secret}",
        f"{head}_________{secret}",
        f"KURZ_{prefix}_{secret}",
        f"{head}_{prefix}_{secret}\x00",
        f"{head}_{prefix}_{secret}é",
        f"{head}_{prefix} {secret}",
        "kurz_",
        "kurz_" + "x" * 100_000,
        secret,
        prefix,
    ]
    for value in wrong:
        for headers in (
            {b"x-api-key": value.encode()},
            {b"authorization": b"Bearer " + value.encode()},
        ):
            answer = await client.get(ME, headers=headers)
            assert answer.status_code == 401, value
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
    (key,) = await kurz.keys.list(person.id)
    assert key.last_used_at is None
    assert (await client.get(ME, headers=by(f"  {text} "))).status_code == 200


async def test_a_repeated_request_shows_the_same_key_to_the_same_person_only(client, people, kurz):
    one, other = await people.add(), await people.add()
    body = {"name": "x", "scopes": ["links:read"]}
    again = {"idempotency-key": "the same"}
    first = await client.post(KEYS, json=body, headers=one.headers | again)
    second = await client.post(KEYS, json=body, headers=one.headers | again)
    assert first.json() == second.json()
    theirs = await client.post(KEYS, json=body, headers=other.headers | again)
    assert theirs.json()["key"] != first.json()["key"]
    assert len(await kurz.keys.list(one.id)) == 1
    different = await client.post(KEYS, json=body | {"name": "y"}, headers=one.headers | again)
    assert different.status_code == 422
