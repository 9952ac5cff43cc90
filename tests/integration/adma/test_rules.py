"""The rules of ADMA, which kurz takes over, row by row."""

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

from kurz.errors import SettingRefused
from kurz.links.code_generator import CodeGenerator
from kurz.links.codes.permutation import Permutation
from kurz.links.drafting import Drafting
from kurz.links.errors import CodesExhausted
from kurz.links.model import Draft, Status, Strategy
from kurz.links.service import LinkService
from kurz.people.own_hosts import OwnHosts
from kurz.settings.load import load
from kurz.settings.model import Settings
from kurz.storage.engine.postgres import POOL_SIZE
from kurz.storage.links.installation import LeasedCounter
from kurz.storage.schema.people import accounts
from kurz.wiring.core import open_kurz
from support.adma import URL, Adma
from support.engines import sqlite_first
from support.people import PASSWORD
from support.serving import open_app

engine = sqlite_first  # the contracts of links and of their store are tried on every engine
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)


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

        code_generator = CodeGenerator(
            root_strategy=Strategy.RANDOM,
            random_code=code,
            counted_code=str,
            counter=LeasedCounter(kurz.database),
        )
        ids = Permutation(bytes(32), 2**53, purpose=b"test")
        own_hosts = OwnHosts(None, kurz.domains)
        drafting = Drafting(temporary_life=timedelta(hours=8))
        return LinkService(kurz.store, code_generator, drafting, ids, own_hosts, clock)

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
    """Ten at most: two more are for the lookups of redirects."""

    def wait(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_sleep(0.05)"))

    await asyncio.gather(*(kurz.database.read(wait) for _ in range(40)))
    mine = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    count = await kurz.database.read(lambda it: it.execute(sa.text(mine)).scalar_one())
    assert POOL_SIZE == count == 8


def test_the_rules_above_are_the_defaults_of_the_settings():
    settings = Settings(data_dir=Path("x"))
    assert settings.temporary_link_hours == 8
    assert settings.redirect_status == 302
    assert settings.default_expiry_days == 0
    assert settings.links_per_month == 0
    assert settings.access == "public"
