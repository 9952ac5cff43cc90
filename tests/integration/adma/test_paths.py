"""The paths of ADMA, which kurz takes over, with the numbers of the platform."""

import asyncio
import re
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.links.model import Draft, Status
from kurz.storage.followers.link_counter import LinkCounter
from kurz.storage.schema.clicks import click_totals
from support.adma import URL, Adma
from support.engines import sqlite_first
from support.people import PASSWORD

engine = sqlite_first  # the contracts of links and of their store are tried on every engine
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
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


# ADMA: its paths


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


async def _stats(client: httpx2.AsyncClient) -> dict[str, Any]:
    answer = await client.get("/api/stats")
    assert answer.status_code == 200
    numbers: dict[str, Any] = answer.json()
    return numbers


# ADMA: numbers of the platform


async def test_an_empty_platform_has_no_latency(client):
    assert await _stats(client) == {"totalLinks": 0, "totalRedirects": 0, "avgLatencyMs": None}


async def test_numbers_count_live_links_and_weigh_latency_by_redirects(adma, clock):
    """Links of everybody, temporary and permanent, in workspaces too; redirects of all links."""
    await adma.make_public()
    _, _, deleted, paused, used_up = [await adma.make() for _ in range(5)]
    await adma.kurz.links.create(Draft(original_url=URL, workspace_id=1))
    total = {"kind": SubjectKind.INSTALLATION, "subject": 0, "clicks": 8, "timed": 6}
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
