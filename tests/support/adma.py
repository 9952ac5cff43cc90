"""ADMA's paths, as somebody with an account uses them."""

from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.storage.schema.links import links
from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://example.com/page"


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
