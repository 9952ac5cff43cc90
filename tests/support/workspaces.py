"""Workspaces in tests over HTTP: where they are, and what is often done with them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx2

from kurz.people.access import Role
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://example.com/a/page"
WORKSPACES = "/api/v1/workspaces"
DOMAIN = "go.example.com"
MOMENT = timedelta(microseconds=1)
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]
Join = Callable[..., Awaitable[Person]]
AddDomain = Callable[..., Awaitable[None]]


def path(workspace: Workspace, *pieces: object) -> str:
    return "/".join([WORKSPACES, str(workspace.id), *map(str, pieces)])


async def make_link(
    client: httpx2.AsyncClient, workspace: Workspace, person: Person, **fields: Any
) -> dict[str, Any]:
    body = {"original_url": URL, **fields}
    answer = await client.post(path(workspace, "links"), json=body, headers=person.headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def edit(
    client: httpx2.AsyncClient, workspace: Workspace, person: Person, **fields: Any
) -> httpx2.Response:
    return await client.patch(path(workspace), json=fields, headers=person.headers)


async def roles(kurz: Kurz, workspace: Workspace) -> dict[int, Role]:
    return {member.account_id: member.role for member in await kurz.teams.members(workspace.id)}


async def slugs_of(client: httpx2.AsyncClient, person: Person) -> list[str]:
    answer = await client.get(WORKSPACES, headers=person.headers)
    assert answer.status_code == 200, answer.text
    return [item["slug"] for item in answer.json()["workspaces"]]


async def status(client: httpx2.AsyncClient, address: str, **headers: str) -> int:
    return (await client.get(address, headers=headers)).status_code


def forget_domains(kurz: Kurz) -> None:
    """As a second later."""
    kurz.domains._sites = None
