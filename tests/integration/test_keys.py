"""API keys: what they open, when they end, and that nobody can read them anywhere (threat T20)."""

import asyncio
import base64
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.bootstrap import open_kurz
from kurz.people.access import Permission, Role
from kurz.people.identity import Identity
from kurz.settings import Settings
from kurz.storage import schema
from support.engines import redis_in_the_long_run, usually_on
from support.patience import PATIENCE
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


# What can be read by somebody who gets hold of the database or the log


async def _dump(settings: Settings) -> bytes:
    """Every value of every table."""

    def read(connection: sa.Connection) -> bytes:
        found = []
        for table in schema.metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                found += [v if isinstance(v, bytes) else str(v).encode() for v in row]
        return b"\n".join(found)

    async with open_kurz(settings) as kurz:
        return await kurz.database.read(read)


def _files(folder: Path) -> bytes:
    """Every byte of the data folder, but for the secret."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "secret"]
    return b"\n".join(path.read_bytes() for path in paths)


def _spellings(secret: str) -> list[bytes]:
    plain = secret.encode()
    return [
        plain,
        plain.hex().encode(),
        base64.b64encode(plain)[:-4],
        plain.decode()[::-1].encode(),
    ]


class Visitor:
    """Does what people do, and remembers every secret that was sent or shown on the way."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self.secrets: dict[str, str] = {}

    def post(self, path: str, body: Any, status: int, **headers: str) -> dict[str, Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._client.post(path, json=body, headers=named)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def keep(self, name: str, secret: str) -> str:
        self.secrets[name] = secret
        return secret

    def set_up(self, token: str) -> str:
        password = self.keep("first password", "a horse, a battery, a staple")
        body = {"email": "ada@example.com", "password": password}
        link = self.keep("set-up link", token)
        self.post("/api/v1/auth/reset", {"token": link, "password": password}, 422)
        made = self.post("/api/v1/auth/setup", {"token": link, **body}, 201)
        return self.keep("token", made["token"])

    def sign_in_by_cookie(self, password: str) -> None:
        body = {"email": "ada@example.com", "password": password, "as_cookie": True}
        answer = self._client.post("/api/v1/auth/sign-in", json=body)
        self.keep("cookie", answer.cookies["kurz"])
        self.keep("device cookie", answer.cookies["kurz-device"])
        self._client.cookies.clear()

    def fail_to_sign_in(self) -> None:
        wrong = self.keep("wrong password", "this was the password of my bank")
        body = {"email": "ada@example.com", "password": wrong}
        self.post("/api/v1/auth/sign-in", body, 401)
        # A slip of the finger: the password stands where the address belongs, or in a broken body.
        slip = self.keep("password as address", "my password in the wrong field")
        self.post("/api/v1/auth/sign-in", {"email": slip, "password": "x"}, 401)
        self.post("/api/v1/auth/register", {"email": slip, "password": slip}, 422)
        self.post("/api/v1/auth/register", {"email": [slip], "pass": slip}, 422)
        broken = f'{{"password": "{slip}"'
        headers = {"content-type": "application/json"}
        self._client.post("/api/v1/auth/sign-in", content=broken, headers=headers)
        for value in (f"Basic {slip}", f"Bearer {slip}"):
            self._client.get(ME, headers={"authorization": value})

    def use_a_key(self, bearer: str) -> None:
        body = {"name": "a key", "scopes": ["links:read", "links:write"]}
        made = self.post(KEYS, body, 201, authorization=bearer, idempotency_key="one")
        key = self.keep("key", made["key"])
        self.keep("secret of the key", key.split("_", 2)[2])
        assert self._client.get(ME, headers=by(key)).status_code == 200
        assert self._client.get(ME, params={"api_key": key}).status_code == 401
        assert self._client.get("/nothing", params={"token": key}).status_code == 404

    def claim(self, bearer: str) -> None:
        made = self.post(LINKS, URL, 201, idempotency_key="two")
        token = self.keep("claim token", made["claim_token"])
        item = {"short_code": made["short_code"], "claim_token": token, **URL}
        self.post("/api/v1/claims", {"items": [item]}, 200, authorization=bearer)
        open_one = self.post(LINKS, URL, 201)  # one that nobody claims
        self.keep("other claim token", open_one["claim_token"])

    def hand_out_links(self, bearer: str) -> None:
        me = self._client.get(ME, headers={"authorization": bearer}).json()
        path = f"/api/v1/admin/accounts/{me['id']}/reset-link"
        made = self.post(path, None, 201, authorization=bearer, idempotency_key="three")
        self.keep("reset link", made["token"])
        made = self.post("/api/v1/admin/invitations", None, 201, authorization=bearer)
        self.keep("invitation", made["token"])
        self.post("/api/v1/auth/reset", {"token": made["token"], "password": "x" * 9}, 422)

    def change_password(self, bearer: str) -> None:
        new = self.keep("second password", "🐎 another horse, another battery")
        body = {"old_password": self.secrets["first password"], "new_password": new}
        made = self.post("/api/v1/auth/password", body, 200, authorization=bearer)
        self.keep("second token", made["token"])


@usually_on("sqlite")
async def test_no_secret_can_be_read_in_the_database_or_the_log(
    addresses, environment, start_program, tmp_path
):
    folder = tmp_path / "kurz-data"
    url = addresses.get("database_url")
    program = start_program(**environment, KURZ_LOG_LEVEL="debug")
    with program.client() as client:
        visitor = Visitor(client)
        bearer = f"Bearer {visitor.set_up(program.set_up_token)}"
        visitor.sign_in_by_cookie(visitor.secrets["first password"])
        visitor.fail_to_sign_in()
        visitor.use_a_key(bearer)
        visitor.claim(bearer)
        visitor.hand_out_links(bearer)
        visitor.change_password(bearer)
    tables = await _dump(Settings(data_dir=folder, database_url=url, **PATIENCE))
    files = _files(folder)
    program.stop()
    # The start prints the set-up link, to whoever started it, and nothing else does.
    printed = program.output.replace(program.set_up_token, "")
    log = program.log().encode() + printed.encode()
    # What is there shows that the search would find what must not be.
    key_hash = hashlib.sha256(visitor.secrets["secret of the key"].encode()).digest()
    for wanted in (b"ada@example.com", b"$2b$12$", key_hash):
        assert wanted in tables
        assert url or wanted in files
    assert b"/api/v1/auth/sign-in" in log
    visitor.keep("installation's secret", (folder / "secret").read_text().strip())
    for token in ("token", "second token", "cookie", "device cookie"):
        visitor.keep(f"signature of the {token}", visitor.secrets[token].rpartition(".")[2])
    for name, secret in visitor.secrets.items():
        for spelling in _spellings(secret):
            assert spelling not in tables, name
            assert spelling not in files, name
            assert spelling not in log, name
