"""The promises of the systems that kurz unites: Linkforge's three test cases, and the rules and
paths of ADMA, row by row."""

import asyncio
import base64
import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz, open_kurz
from kurz.clicks.batch import Kind
from kurz.errors import SettingRefused
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.errors import CodesExhausted
from kurz.links.minting import Mint
from kurz.links.model import Draft, Status, Strategy
from kurz.links.service import LinkService
from kurz.people.own_hosts import OwnHosts
from kurz.serving import open_app
from kurz.settings import Settings, load
from kurz.storage.click_schema import click_totals
from kurz.storage.installation import LeasedCounter
from kurz.storage.link_counter import LinkCounter
from kurz.storage.postgres import POOL_SIZE
from kurz.storage.schema import accounts, links
from support.engines import redis_in_the_long_run
from support.people import PASSWORD, Person

engine = redis_in_the_long_run

URL = "https://example.com/page"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


# Linkforge and its three test cases


@pytest.fixture
async def linkforge(client, people):
    """Makes a link in workspace 1 or 2 and gives its answer; sent as `curl -d` does."""
    owner = await people.add()
    for slug in ("one", "two"):
        await people.workspace(owner, slug)

    async def post(workspace_id: int, original_url: str) -> httpx2.Response:
        path = f"/api/v1/workspaces/{workspace_id}/links"
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer: httpx2.Response = await client.post(
            path, content=json.dumps({"original_url": original_url}), headers=owner.headers | form
        )
        return answer

    return post


async def test_linkforge_case_1_creating_the_same_link_twice_gives_one_code(linkforge):
    first = await linkforge(1, "https://example.com")
    second = await linkforge(1, "https://example.com")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["short_code"] == second.json()["short_code"]
    assert second.json() == first.json()


async def test_linkforge_case_2_workspaces_have_different_codes_for_one_url(linkforge):
    first = await linkforge(1, "https://example.com")
    second = await linkforge(2, "https://example.com")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["short_code"] != second.json()["short_code"]


async def test_linkforge_case_3_spellings_of_one_url_have_one_code(linkforge):
    spellings = [
        "HTTP://EXAMPLE.COM/page",
        "http://example.com/page",
        "http://example.com:80/page",
        "http://example.com/page/",
    ]
    answers = [await linkforge(1, url) for url in spellings]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 200]
    assert len({answer.json()["short_code"] for answer in answers}) == 1
    assert {answer.json()["canonical_url"] for answer in answers} == {"http://example.com/page"}


async def test_linkforges_codes_have_10_characters_that_nobody_mistakes(linkforge):
    answers = await asyncio.gather(*(linkforge(1, f"https://example.com/{n}") for n in range(40)))
    codes = {answer.json()["short_code"] for answer in answers}
    assert len(codes) == 40
    assert all(re.fullmatch(r"[1-9A-HJ-NP-Za-km-z]{10}", code) for code in codes)


async def test_linkforges_example_has_the_code_of_our_vectors(kurz, people, client):
    """Its walk-through is about workspace 42; the code printed there is an illustration."""
    owner = await people.add()
    await people.workspace(owner)
    made = await client.post(
        "/api/v1/workspaces/1/links",
        json={"original_url": "HTTP://Example.com:80/api/users?name=john&id=123"},
        headers=owner.headers,
    )
    assert made.json()["canonical_url"] == "http://example.com/api/users?id=123&name=john"
    created = await kurz.links.create(
        Draft(original_url="HTTP://Example.com:80/api/users?name=john&id=123", workspace_id=42)
    )
    assert created.link.short_code == "K5YWpCtbjZ"


# ADMA: its table of rules


class Adma:
    """ADMA's paths, as a browser with an account uses them."""

    def __init__(self, kurz: Kurz, client: httpx2.AsyncClient, person: Person) -> None:
        self.kurz = kurz
        self.client = client
        self.person = person

    async def make_public(self, url: str = URL) -> dict[str, Any]:
        answer = await self.client.post("/api/urls/public", json={"originalUrl": url})
        assert answer.status_code == 201
        made: dict[str, Any] = answer.json()
        return made

    async def make(self, url: str = URL) -> dict[str, Any]:
        answer = await self.client.post(
            "/api/urls", json={"originalUrl": url}, headers=self.person.headers
        )
        assert answer.status_code == 201
        made: dict[str, Any] = answer.json()
        return made

    async def list(self) -> list[dict[str, Any]]:
        answer = await self.client.get("/api/urls", headers=self.person.headers)
        assert answer.status_code == 200
        found: list[dict[str, Any]] = answer.json()
        return found

    async def delete(self, made: dict[str, Any], person: Person | None = None) -> int:
        headers = (person or self.person).headers
        answer = await self.client.delete(f"/api/urls/{made['id']}", headers=headers)
        return answer.status_code

    async def follow(self, made: dict[str, Any]) -> httpx2.Response:
        return await self.client.get(f"/{made['shortCode']}")

    async def set(self, made: dict[str, Any], **values: Any) -> None:
        which = links.c.short_code == made["shortCode"]
        statement = sa.update(links).where(which).values(values)
        await self.kurz.database.write(lambda it: it.execute(statement))

    async def stored(self, made: dict[str, Any]) -> dict[str, Any]:
        query = sa.select(links).where(links.c.short_code == made["shortCode"])
        return await self.kurz.database.read(lambda it: dict(it.execute(query).mappings().one()))


@pytest.fixture
async def adma(kurz, client, people) -> Adma:
    return Adma(kurz, client, await people.add())


async def test_rule_anonymous_links_live_8_hours(adma, clock):
    made = await adma.make_public()
    assert made["linkType"] == "TEMPORARY"
    assert made["status"] == "ACTIVE"
    assert made["expiresAt"] == "2026-03-01T20:00:00Z"
    assert (await adma.stored(made))["owner_id"] is None
    clock.advance(hours=7, minutes=59, seconds=59)
    assert (await adma.follow(made)).status_code == 302
    clock.advance(seconds=1)
    assert (await adma.follow(made)).status_code == 410


async def test_rule_links_of_users_never_expire(adma, clock):
    made = await adma.make()
    assert (made["linkType"], made["expiresAt"]) == ("PERMANENT", None)
    assert (await adma.stored(made))["owner_id"] == adma.person.id
    clock.advance(days=36_500)
    assert (await adma.follow(made)).status_code == 302


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header, claims, _ = (
        base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(".")
    )
    return json.loads(header), json.loads(claims)


async def _token(adma: Adma) -> str:
    body = {"email": adma.person.account.email, "password": PASSWORD}
    answer = await adma.client.post("/api/auth/login", json=body)
    assert answer.status_code == 200
    token: str = answer.json()["token"]
    return token


async def test_rule_a_token_lives_24_hours(adma, clock):
    token = await _token(adma)
    _, claims = _parts(token)
    assert claims["exp"] - claims["iat"] == 86_400
    headers = {"authorization": f"Bearer {token}"}
    clock.advance(hours=23, minutes=59, seconds=59)
    assert (await adma.client.get("/api/urls", headers=headers)).status_code == 200
    clock.advance(seconds=32)  # clocks of instances may differ by half a minute
    assert (await adma.client.get("/api/urls", headers=headers)).status_code == 401


async def test_rule_tokens_are_signed_by_hs256_and_nothing_else_passes(adma):
    token = await _token(adma)
    header, claims = _parts(token)
    assert header["alg"] == "HS256"
    start, middle, signature = token.split(".")
    none = base64.urlsafe_b64encode(json.dumps(header | {"alg": "none"}).encode()).rstrip(b"=")
    other = base64.urlsafe_b64encode(json.dumps(claims | {"sub": "1"}).encode()).rstrip(b"=")
    for forged in (
        f"{none.decode()}.{middle}.",
        f"{none.decode()}.{middle}.{signature}",
        f"{start}.{other.decode()}.{signature}",
        f"{start}.{middle}.{signature[:-2]}",
        f"{start}.{middle}",
    ):
        headers = {"authorization": f"Bearer {forged}"}
        assert (await adma.client.get("/api/urls", headers=headers)).status_code == 401


def test_rule_a_secret_has_at_least_32_characters():
    good = "q8Zr-4Lw2Xv7Nc1Tb9Ky5Hd3Gf6Jm0Ps"
    assert len(good) == 32
    assert load({}, {"KURZ_SECRET": good}).settings.secret == good
    with pytest.raises(SettingRefused, match="at least 32 characters"):
        load({}, {"KURZ_SECRET": good[:-1]})


@on_sqlite
async def test_rule_passwords_are_hashed_by_bcrypt_at_cost_12(kurz, settings):
    """With the settings that everybody has; other tests take a cheaper cost."""
    async with open_kurz(settings) as parts, open_app(parts) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://kurz.test") as client:
            body = {"email": "ada@example.com", "password": PASSWORD}
            assert (await client.post("/api/auth/register", json=body)).status_code == 201
    query = sa.select(accounts.c.password_hash)
    stored = await kurz.database.read(lambda it: it.execute(query).scalar_one())
    assert re.fullmatch(r"\$2b\$12\$[./A-Za-z0-9]{53}", stored)


async def test_rule_codes_have_7_characters_of_62(adma):
    made = [await adma.make_public() for _ in range(30)] + [await adma.make() for _ in range(30)]
    codes = "".join(item["shortCode"] for item in made)
    assert all(re.fullmatch(r"[a-zA-Z0-9]{7}", item["shortCode"]) for item in made)
    assert len({item["shortCode"] for item in made}) == 60
    for letters in (r"[a-z]", r"[A-Z]", r"[0-9]"):
        assert re.search(letters, codes)
    assert Settings().code_length == 7
    assert Settings().code_strategy == "random"


async def test_rule_a_code_is_tried_5_times(kurz, clock):
    """The sixth would have been free."""
    tried: list[str] = []

    def service(free_at: int) -> LinkService:
        def code() -> str:
            tried.append("taken77" if len(tried) + 1 < free_at else "free777")
            return tried[-1]

        mint = Mint(
            root_strategy=Strategy.RANDOM,
            random_code=code,
            counted_code=str,
            counter=LeasedCounter(kurz.database),
        )
        ids = Permutation(bytes(32), 2**53, purpose=b"test")
        own_hosts = OwnHosts(None, kurz.domains)
        drafting = Drafting(temporary_life=timedelta(hours=8))
        return LinkService(kurz.store, mint, drafting, ids, own_hosts, clock)

    draft = Draft(original_url=URL, is_anonymous=True)
    await kurz.links.create(Draft(original_url=URL, owner_id=1, custom_code="taken77"))
    with pytest.raises(CodesExhausted):
        await service(6).create(draft)
    assert tried == ["taken77"] * 5
    tried.clear()
    assert (await service(5).create(draft)).link.short_code == "free777"
    assert len(tried) == 5


async def test_rule_an_expired_link_is_410_gone(adma, clock):
    made = await adma.make_public()
    clock.advance(hours=8)
    gone = await adma.follow(made)
    assert gone.status_code == 410
    assert "location" not in gone.headers
    await adma.set(made, status=Status.EXPIRED)
    assert (await adma.follow(made)).status_code == 410


async def test_rule_a_missing_link_is_404_not_found(adma):
    assert (await adma.follow({"shortCode": "missing"})).status_code == 404
    made = await adma.make()
    await adma.delete(made)
    assert (await adma.follow(made)).status_code == 404


async def test_rule_a_redirect_is_302_found(adma):
    for made in (await adma.make_public(), await adma.make()):
        found = await adma.follow(made)
        assert (found.status_code, found.headers["location"]) == (302, URL)


@on_postgres
async def test_rule_the_pool_has_10_connections(kurz):
    """Ten at most: two more are for the look-ups of redirects."""

    def wait(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_sleep(0.05)"))

    await asyncio.gather(*(kurz.database.read(wait) for _ in range(40)))
    mine = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    count = await kurz.database.read(lambda it: it.execute(sa.text(mine)).scalar_one())
    assert POOL_SIZE == count == 8


# ADMA: its paths

NAMES = {
    "id",
    "originalUrl",
    "shortCode",
    "shortUrl",
    "linkType",
    "status",
    "createdAt",
    "expiresAt",
    "redirectCount",
    "avgRedirectMs",
    "destinationStatus",
    "lastCheckedAt",
    "claimToken",
}


async def test_a_public_url_is_made_by_anybody(adma):
    made = await adma.make_public("https://Example.com/Seite?b=1&a=2#Teil")
    assert made.keys() == NAMES
    assert made == {
        "id": made["id"],
        "originalUrl": "https://Example.com/Seite?b=1&a=2#Teil",
        "shortCode": made["shortCode"],
        "shortUrl": f"http://kurz.test/{made['shortCode']}",
        "linkType": "TEMPORARY",
        "status": "ACTIVE",
        "createdAt": "2026-03-01T12:00:00Z",
        "expiresAt": "2026-03-01T20:00:00Z",
        "redirectCount": 0,
        "avgRedirectMs": None,
        "destinationStatus": None,
        "lastCheckedAt": None,
        "claimToken": made["claimToken"],
    }
    assert len(made["claimToken"]) == 43


async def test_a_public_url_is_temporary_for_signed_in_people_too(adma):
    answer = await adma.client.post(
        "/api/urls/public", json={"originalUrl": URL}, headers=adma.person.headers
    )
    assert answer.json()["linkType"] == "TEMPORARY"
    assert await adma.list() == []


async def test_a_users_url_is_in_their_list(adma, people):
    first, second = await adma.make(), await adma.make(f"{URL}/2")
    await adma.make_public()
    await Adma(adma.kurz, adma.client, await people.add()).make()
    assert first.keys() == NAMES
    assert first["claimToken"] is None
    assert await adma.list() == [second, first]


async def test_the_list_shows_what_a_link_has_been_through(adma, clock):
    made = await adma.make()
    await adma.set(made, redirect_count=4, avg_redirect_ms=172.5, destination_http_status=200)
    await adma.set(made, last_checked_at=1_772_366_400_000_000)
    [shown] = await adma.list()
    assert shown == made | {
        "redirectCount": 4,
        "avgRedirectMs": 172.5,
        "destinationStatus": 200,
        "lastCheckedAt": "2026-03-01T12:00:00Z",
    }


async def test_deleting_hides_a_link_and_keeps_its_row(adma):
    kept, made = await adma.make(), await adma.make()
    assert await adma.delete(made) == 204
    assert await adma.list() == [kept]
    row = await adma.stored(made)
    assert row["status"] == Status.DELETED
    assert row["deleted_at"] is not None
    assert await adma.delete(made) == 404


async def test_only_the_owner_deletes(adma, people):
    mine, public = await adma.make(), await adma.make_public()
    other = await people.add()
    assert await adma.delete(mine, other) == 404
    assert await adma.delete(public, other) == 404
    assert (await adma.client.delete(f"/api/urls/{mine['id']}")).status_code == 401
    assert await adma.list() == [mine]


@on_sqlite
async def test_users_paths_need_a_token(adma):
    for method, path in (
        ("POST", "/api/urls"),
        ("GET", "/api/urls"),
        ("POST", "/api/urls/sync"),
        ("DELETE", "/api/urls/1"),
    ):
        body = {"json": {"originalUrl": URL}} if method == "POST" else {}
        for headers in ({}, {"authorization": "Bearer nonsense"}):
            answer = await adma.client.request(method, path, headers=headers, **body)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"


@on_sqlite
async def test_bodies_of_another_shape_are_refused(adma):
    for body in (
        {},
        {"originalUrl": None},
        {"url": URL},
        {"originalUrl": "ftp://example.com"},
        {"originalUrl": ""},
    ):
        for path in ("/api/urls", "/api/urls/public"):
            answer = await adma.client.post(path, json=body, headers=adma.person.headers)
            assert answer.status_code == 422, body
    assert await adma.list() == []


async def test_a_long_list_leads_on(adma):
    drafts = [Draft(original_url=f"{URL}/{n}", owner_id=adma.person.id) for n in range(1003)]
    for start in range(0, len(drafts), 8):  # all at once would wait for connections
        some = drafts[start : start + 8]
        await asyncio.gather(*(adma.kurz.links.create(draft) for draft in some))
    first = await adma.client.get("/api/urls", headers=adma.person.headers)
    assert len(first.json()) == 1000
    address = re.fullmatch(r'<([^>]+)>; rel="next"', first.headers["link"])
    assert address is not None
    rest = await adma.client.get(address[1], headers=adma.person.headers)
    assert len(rest.json()) == 3
    assert "link" not in rest.headers
    seen = {item["id"] for item in first.json() + rest.json()}
    assert len(seen) == 1003


async def test_registering_and_signing_in_give_a_token(client):
    body = {"email": "Ada@Example.com", "password": PASSWORD}
    registered = await client.post("/api/auth/register", json=body)
    assert registered.status_code == 201
    signed_in = await client.post("/api/auth/login", json=body)
    assert signed_in.status_code == 200
    for answer in (registered, signed_in):
        assert answer.json().keys() == {"token", "email", "expiresAt"}
        assert answer.json()["expiresAt"] == "2026-03-02T12:00:00Z"
        headers = {"authorization": f"Bearer {answer.json()['token']}"}
        made = await client.post("/api/urls", json={"originalUrl": URL}, headers=headers)
        assert made.status_code == 201
    assert (await client.post("/api/auth/register", json=body)).status_code == 409
    wrong = await client.post("/api/auth/login", json=body | {"password": "wrong password"})
    unknown = await client.post("/api/auth/login", json=body | {"email": "bob@example.com"})
    assert (wrong.status_code, wrong.content) == (401, unknown.content)


# ADMA: numbers of the platform


async def _stats(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/api/stats")
    assert answer.status_code == 200
    numbers: dict[str, Any] = answer.json()
    return numbers


async def test_an_empty_platform_has_no_latency(client):
    assert await _stats(client) == {"totalLinks": 0, "totalRedirects": 0, "avgLatencyMs": None}


async def test_numbers_count_live_links_and_weigh_latency_by_redirects(adma, clock):
    """Links of everybody, temporary and permanent, in workspaces too; redirects of all links."""
    await adma.make_public()
    _, _, deleted, paused, used_up = [await adma.make() for _ in range(5)]
    await adma.kurz.links.create(Draft(original_url=URL, workspace_id=1))
    total = {"kind": Kind.INSTALLATION, "subject": 0, "clicks": 8, "timed": 6}
    statement = sa.insert(click_totals).values(**total, mean_ms=25.0, m2=0.0)
    await adma.kurz.database.write(lambda it: it.execute(statement))
    await adma.set(paused, status=Status.PAUSED)
    await adma.set(used_up, max_clicks=2, clicks_used=2)
    await adma.delete(deleted)
    await LinkCounter(adma.kurz.database).catch_up()
    expected = {"totalLinks": 4, "totalRedirects": 8, "avgLatencyMs": 25.0}
    assert await _stats(adma.client) == expected


async def test_numbers_leave_out_what_has_expired_whatever_the_row_says(adma, clock):
    await adma.make_public()
    await adma.make()
    await LinkCounter(adma.kurz.database).catch_up()
    clock.advance(hours=8)
    assert (await _stats(adma.client))["totalLinks"] == 1


async def test_numbers_of_a_private_installation_are_for_members(adma, connect):
    client = await connect(access="private")
    assert (await client.get("/api/stats")).status_code == 401
    answer = await client.get("/api/stats", headers=adma.person.headers)
    assert answer.json()["totalLinks"] == 0


def test_the_rules_above_are_the_defaults_of_the_settings():
    settings = Settings(data_dir=Path("x"))
    assert settings.temporary_link_hours == 8
    assert settings.redirect_status == 302
    assert settings.default_expiry_days == 0
    assert settings.links_per_month == 0
    assert settings.access == "public"
