"""Somebody with a quota of links."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.people.workspaces import Workspace
from kurz.storage.schema.links import links, usage
from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://example.com/page"
LINKS = "/api/v1/links"
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


class Quota:
    """A person who may make `limit` links a month, at the root or in a workspace with a quota."""

    def __init__(self, kurz: Kurz, client: httpx2.AsyncClient, person: Person, path: str) -> None:
        self.kurz = kurz
        self.client = client
        self.person = person
        self.path = path

    async def make(self, url: str = URL, **body: Any) -> httpx2.Response:
        sent = {"original_url": url, "strategy": "random"} | body
        if body.get("custom_code"):
            del sent["strategy"]
        return await self.client.post(self.path, json=sent, headers=self.person.headers)

    async def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        return await self.client.post(path, json=body, headers=self.person.headers)

    async def spent(self) -> int:
        """Of the latest month."""
        query = sa.select(usage.c.links).order_by(usage.c.month.desc())
        number: int = await self.kurz.database.read(lambda it: it.execute(query).scalar() or 0)
        return number

    async def stored(self) -> int:
        query = sa.select(sa.func.count()).select_from(links)
        number: int = await self.kurz.database.read(lambda it: it.execute(query).scalar_one())
        return number


async def set_quota(kurz: Kurz, workspace: Workspace, limit: int | None) -> None:
    await kurz.teams.edit(workspace.id, {"links_per_month": limit})


EXCEEDED = (429, "quota-exceeded")
