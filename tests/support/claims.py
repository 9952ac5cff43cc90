"""A browser that remembers anonymous links and claims them."""

from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.links.model import Scope, Status
from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://Example.com/a/page?x=1#part"
LINKS = "/api/v1/links"
CLAIMS = "/api/v1/claims"
NOT_FOUND = {
    "type": "/api/problems/link-not-found",
    "title": "Link not found",
    "status": 404,
    "detail": "Links cannot be claimed here.",
}
NOTHING = {"result": "not_claimed", "link": None, "problem": NOT_FOUND}


class Browser:
    """Makes anonymous links and claims them."""

    def __init__(self, kurz: Kurz, client: httpx2.AsyncClient) -> None:
        self.kurz = kurz
        self.client = client

    async def make(self, url: str = URL, **body: Any) -> dict[str, Any]:
        answer = await self.client.post(LINKS, json={"original_url": url} | body)
        assert answer.status_code == 201
        link: dict[str, Any] = answer.json()
        return link

    async def send(self, person: Person, *items: dict[str, Any]) -> httpx2.Response:
        return await self.client.post(CLAIMS, json={"items": [*items]}, headers=person.headers)

    async def claim(self, person: Person, *items: dict[str, Any]) -> list[dict[str, Any]]:
        answer = await self.send(person, *items)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        assert len(results) == len(items)
        return results

    async def rows(self) -> list[dict[str, Any]]:
        query = sa.select(links).order_by(links.c.id)
        return await self.kurz.database.read(
            lambda it: [dict(row) for row in it.execute(query).mappings()]
        )

    async def row(self, link: dict[str, Any]) -> dict[str, Any]:
        [found] = [row for row in await self.rows() if row["short_code"] == link["short_code"]]
        return found

    async def status_of(self, link: dict[str, Any]) -> int:
        return (await self.client.get(f"/{link['short_code']}")).status_code

    async def set_status(self, link: dict[str, Any], status: Status) -> None:
        stored = await self.kurz.links.get(link["id"], Scope())
        changed = await self.kurz.store.update(stored, {"status": status}, self.kurz.clock.now())
        assert changed is not None


def proof(link: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"short_code": link["short_code"], "claim_token": link["claim_token"]} | more
