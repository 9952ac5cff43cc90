"""Somebody who works with the domains of a workspace over HTTP."""

from typing import Any

import httpx2

from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from servers.dns import DnsServer
from support.people import Person

HOST = "go.example.com"
URL = "https://example.com/a/page"


class DomainDesk:
    """Somebody's workspace, and what they ask for its domains."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        dns: DnsServer,
        person: Person,
        team: Workspace,
    ) -> None:
        self.client = client
        self.person = person
        self.team = team
        self.path = f"/api/v1/workspaces/{team.id}/domains"
        self._kurz = kurz
        self._dns = dns

    @property
    def headers(self) -> dict[str, str]:
        return self.person.headers

    async def add(self, host: str = HOST) -> httpx2.Response:
        answer = await self.client.post(self.path, json={"host": host}, headers=self.headers)
        self._kurz.domains._sites = None  # as a second later
        return answer

    async def verify(self, host: str = HOST) -> httpx2.Response:
        answer = await self.client.post(f"{self.path}/{host}/verify", headers=self.headers)
        self._kurz.domains._sites = None
        return answer

    async def remove(self, host: str = HOST) -> httpx2.Response:
        answer = await self.client.delete(f"{self.path}/{host}", headers=self.headers)
        self._kurz.domains._sites = None
        return answer

    async def prove(self, host: str = HOST) -> dict[str, Any]:
        added = (await self.add(host)).json()
        self._dns.put(added["record_name"], added["record_value"])
        answer = await self.verify(host)
        assert answer.status_code == 200, answer.text
        shown: dict[str, Any] = answer.json()
        return shown

    async def list(self) -> list[dict[str, Any]]:
        answer = await self.client.get(self.path, headers=self.headers)
        assert answer.status_code == 200
        found: list[dict[str, Any]] = answer.json()["domains"]
        return found

    async def make_link(self) -> str:
        answer = await self.client.post(
            self.path.replace("domains", "links"),
            json={"original_url": URL, "custom_code": "mine"},
            headers=self.headers,
        )
        assert answer.status_code == 201, answer.text
        address: str = answer.json()["short_url"]
        return address

    async def visit(self, path: str = "/mine", host: str = HOST) -> httpx2.Response:
        return await self.client.get(path, headers={"host": host})
