"""Creating a link is answered without FastAPI if the length of the body is announced. The answer is
the same as FastAPI's, which gets bodies of unknown length."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from support.engines import without_redis
from support.serving import open_app

engine = without_redis
API = "/api/v1/links"
TEAM = "/api/v1/workspaces/{}/links"
JSON = {"content-type": "application/json"}
GOOD = b'{"original_url": "https://example.com/a"}'

REQUESTS: dict[str, tuple[str, dict[str, str], bytes]] = {
    "a link": (API, JSON, GOOD),
    "a link with a code": (API, JSON, GOOD[:-1] + b', "custom_code": "my-code"}'),
    "a wrong code": (API, JSON, GOOD[:-1] + b', "custom_code": "?"}'),
    "no JSON": (API, JSON, b"{"),
    "an unknown field": (API, JSON, GOOD[:-1] + b', "color": "red"}'),
    "a wrong URL": (API, JSON, b'{"original_url": "javascript:1"}'),
    "no type": (API, {}, GOOD),
    "compressed": (API, JSON | {"content-encoding": "gzip"}, GOOD),
    "a wrong key of the request": (API, JSON | {"idempotency-key": "k" * 256}, GOOD),
    "a workspace": ("team", JSON, GOOD),
    "no such workspace": (TEAM.format(987654), JSON, GOOD),
    "a workspace that is no number": (TEAM.format("x"), JSON, GOOD),
    "no workspace": (TEAM.format(""), JSON, GOOD),
    "a path below": (f"{API}/", JSON, GOOD),
}


async def chunks(body: bytes) -> AsyncIterator[bytes]:
    yield body[:7]
    yield body[7:]


def told(answer: httpx2.Response) -> tuple[Any, ...]:
    """Everything but what differs between two links and between two requests."""
    names = [name for name, _ in answer.headers.multi_items()]
    varying = ("x-request-id", "location", "content-length", "ratelimit")
    same = [pair for pair in answer.headers.multi_items() if pair[0] not in varying]
    body = answer.json()
    if answer.is_success:
        body = {name: type(value) for name, value in body.items()}
    return answer.status_code, names, same, body


@pytest.fixture
async def client(kurz) -> AsyncIterator[httpx2.AsyncClient]:
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="https://example.org"
        ) as client:
            yield client


@pytest.fixture
async def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that FastAPI was asked for."""
    paths: list[str] = []
    call = FastAPI.__call__

    async def note(self: FastAPI, scope: Any, receive: Any, send: Any) -> None:
        paths.append(scope["path"])
        await call(self, scope, receive, send)

    monkeypatch.setattr(FastAPI, "__call__", note)
    return paths


async def sign_up(client: httpx2.AsyncClient) -> dict[str, str]:
    person = {"email": "ada@example.com", "password": "correct horse battery staple"}
    answer = await client.post("/api/v1/auth/register", json=person)
    return {"authorization": f"Bearer {answer.json()['token']}"}


@pytest.mark.parametrize("caller", ["a stranger", "an account", "nobody known"])
async def test_both_ways_give_the_same_answer(client, caller):
    account = await sign_up(client)
    made = await client.post(
        "/api/v1/workspaces", headers=account, json={"name": "Team", "slug": "team"}
    )
    team = TEAM.format(made.json()["id"])
    wrong = {"authorization": "Bearer nonsense"}
    sent = {"a stranger": {}, "an account": account, "nobody known": wrong}[caller]
    for name, (path, headers, body) in REQUESTS.items():
        address = team if path == "team" else path
        both = [
            await client.post(address, headers=headers | sent, content=content)
            for content in (body, chunks(body))
        ]
        if both[0].status_code == 201 and both[1].status_code == 200:
            continue  # the same code or URL again
        assert told(both[0]) == told(both[1]), name


async def test_only_unusual_requests_take_the_way_through_fastapi(client, seen):
    for path in API, TEAM.format(1):
        await client.post(path, headers=JSON, content=GOOD)
        assert seen == []
        await client.post(path, headers=JSON, content=chunks(GOOD))
        await client.get(path)
        assert seen == [path, path]
        seen.clear()
