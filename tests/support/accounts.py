"""Accounts in tests over HTTP: registering, signing in, and how credentials are sent."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.storage.schema import base
from kurz.wiring.core import Kurz
from support.people import PASSWORD
from support.tables import OWN_TABLES

EMAIL = "ada@example.com"
OTHER_PASSWORD = "another horse, another battery"
AUTH = "/api/v1/auth"
ME = "/api/v1/me"
PUBLIC_URL = "https://go.example.com"
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


def credentials(email: str = EMAIL, password: str = PASSWORD, **more: Any) -> dict[str, Any]:
    return {"email": email, "password": password, **more}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def cookie(token: str, **more: str) -> dict[str, str]:
    return {"cookie": f"kurz={token}", **more}


async def register(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    """Comes again when all places are taken, as the answer asks for."""
    while True:
        answer = await client.post(f"{AUTH}/register", json=credentials(**body))
        if answer.status_code != 503:
            return answer
        await asyncio.sleep(0.05)


async def sign_in(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post(f"{AUTH}/sign-in", json=credentials(**body))


async def status_of(client: httpx2.AsyncClient, headers: dict[str, str]) -> int:
    return (await client.get(ME, headers=headers)).status_code


def assert_problem(answer: httpx2.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"/api/problems/{code}"
    assert answer.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in answer.headers) == (status == 401)


def _tables(connection: sa.Connection) -> dict[str, list[str]]:
    return {
        table.name: sorted(map(repr, connection.execute(sa.select(table)).all()))
        for table in base.metadata.sorted_tables
        if table.name not in OWN_TABLES
    }


async def everything(kurz: Kurz) -> dict[str, list[str]]:
    return await kurz.database.read(_tables)
