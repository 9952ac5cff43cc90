"""Somebody who works with links over HTTP."""

from typing import Any

import httpx2

from kurz.wiring.core import Kurz
from support.people import Person

URL = "https://example.com/page"


class Desk:
    """Somebody at work in one place."""

    def __init__(
        self, kurz: Kurz, client: httpx2.AsyncClient, person: Person, workspace_id: int | None
    ) -> None:
        self.kurz = kurz
        self.client = client
        self.person = person
        self.workspace_id = workspace_id
        base = "/api/v1" if workspace_id is None else f"/api/v1/workspaces/{workspace_id}"
        self.links = f"{base}/links"
        self.tags = f"{base}/tags"
        self.trash = f"{base}/trash"

    async def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = self.person.headers | options.pop("headers", {})
        return await self.client.request(method, path, headers=headers, **options)

    async def make(self, url: str = URL, **body: Any) -> dict[str, Any]:
        answer = await self.ask("POST", self.links, json={"original_url": url} | body)
        assert answer.status_code == 201, answer.text
        link: dict[str, Any] = answer.json()
        return link

    async def get(self, link: dict[str, Any], end: str = "") -> httpx2.Response:
        return await self.ask("GET", f"{self.links}/{link['id']}{end}")

    async def edit(
        self, link: dict[str, Any], *, if_match: str | None = None, **body: Any
    ) -> httpx2.Response:
        headers = {} if if_match is None else {"if-match": if_match}
        return await self.ask("PATCH", f"{self.links}/{link['id']}", json=body, headers=headers)

    async def delete(self, link: dict[str, Any], if_match: str | None = None) -> httpx2.Response:
        headers = {} if if_match is None else {"if-match": if_match}
        return await self.ask("DELETE", f"{self.links}/{link['id']}", headers=headers)

    async def restore(self, link: dict[str, Any], **options: Any) -> httpx2.Response:
        return await self.ask("POST", f"{self.links}/{link['id']}/restore", **options)

    async def purge(self, link: dict[str, Any], if_match: str | None = None) -> httpx2.Response:
        headers = {} if if_match is None else {"if-match": if_match}
        return await self.ask("DELETE", f"{self.trash}/{link['id']}", headers=headers)

    async def empty_trash(self) -> dict[str, Any]:
        answer = await self.ask("DELETE", self.trash)
        assert answer.status_code == 200, answer.text
        emptied: dict[str, Any] = answer.json()
        return emptied

    async def list_trash(self) -> list[dict[str, Any]]:
        answer = await self.ask("GET", self.links, params={"status": "DELETED"})
        found: list[dict[str, Any]] = answer.json()["links"]
        return found

    async def follow(self, link: dict[str, Any]) -> httpx2.Response:
        return await self.client.get(link["short_url"])

    async def bulk(self, *items: Any) -> list[dict[str, Any]]:
        answer = await self.ask("POST", f"{self.links}/bulk", json={"items": [*items]})
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        assert len(results) == len(items)
        return results

    async def tag_counts(self) -> dict[str, int]:
        answer = await self.ask("GET", self.tags)
        return {item["tag"]: item["links"] for item in answer.json()["tags"]}


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")
