"""An account cannot write without limit: a rate for everything that changes something, and a number
that there may be of each thing."""

import asyncio
import re
from typing import Any

import httpx2
import pytest

from kurz.people.access import Role
from kurz.people.workspaces import Workspace
from kurz.rates import Rate
from servers.dns import DnsServer
from support.api_operations import DOCUMENT
from support.desk import Desk, code_of
from support.engines import redis_in_the_long_run
from support.people import Person

engine = redis_in_the_long_run
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
ONCE = Rate(1, 24 * 60 * 60)
# Creating a link has a limit of its own.
CREATES = {"create_link", "create_link_in_workspace", "create_link_from_text", "create_url"}


@on_sqlite
async def test_every_operation_that_changes_something_is_charged(connect, kurz, people):
    client = await connect(rate_limits="on", limit_write=ONCE)
    admin = await people.add(is_admin=True)
    team = await people.workspace(admin)
    first = await client.post("/api/v1/keys", json={}, headers=admin.headers)
    assert first.status_code == 422
    values = {"workspace_id": team.id, "account_id": admin.id, "host": "a.example"}
    checked = set()
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            needs, name = operation.get("x-needs", "nobody"), operation["operationId"]
            if method == "get" or needs == "nobody" or name in CREATES:
                continue
            filled = re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], 1)), path)
            answer = await client.request(method, filled, headers=admin.headers, json={})
            assert code_of(answer) == (429, "too-many-requests"), name
            assert answer.headers["ratelimit-policy"] == '"write";q=1;w=86400', name
            assert "429" in operation["responses"], name
            checked.add(name)
    assert {"edit_link", "create_workspace", "create_key", "add_domain"} <= checked
    assert (await client.get("/api/v1/me", headers=admin.headers)).status_code == 200


@on_sqlite
async def test_a_rate_can_be_set_and_switched_off(connect, people):
    person = await people.add()
    some = await connect(rate_limits="on", limit_write=Rate(2, 60))
    answers = [await some.delete("/api/v1/keys/1", headers=person.headers) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    endless = await connect(rate_limits="on", limit_write=None)
    answers = [await endless.delete("/api/v1/keys/1", headers=person.headers) for _ in range(400)]
    assert {answer.status_code for answer in answers} == {404}


class Things:
    """Makes one more of something, each under another name."""

    def __init__(self, client: httpx2.AsyncClient, person: Person, workspace: Workspace) -> None:
        self._client, self._person, self._workspace = client, person, workspace

    async def _post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        return await self._client.post(f"/api/v1{path}", json=body, headers=self._person.headers)

    async def workspaces(self, number: int) -> httpx2.Response:
        return await self._post("/workspaces", {"name": "More", "slug": f"more-{number}"})

    async def keys(self, number: int) -> httpx2.Response:
        return await self._post("/keys", {"name": f"key {number}", "scopes": ["links:read"]})

    async def domains(self, number: int) -> httpx2.Response:
        path = f"/workspaces/{self._workspace.id}/domains"
        return await self._post(path, {"host": f"n{number}.example.com"})

    async def invitations(self, number: int) -> httpx2.Response:
        del number
        path = f"/workspaces/{self._workspace.id}/invitations"
        return await self._post(path, {"role": "viewer"})

    async def slugs(self, number: int) -> httpx2.Response:
        path = f"/api/v1/workspaces/{self._workspace.id}"
        body = {"slug": f"renamed-{number}"}
        return await self._client.patch(path, json=body, headers=self._person.headers)


@pytest.mark.parametrize(
    ("kind", "room"),
    # The person has a workspace already, and that has a slug.
    [("workspaces", 2), ("keys", 3), ("domains", 3), ("invitations", 3), ("slugs", 2)],
)
async def test_there_can_be_so_many_even_if_they_come_at_once(connect, people, kind, room):
    client = await connect(rate_limits="on", **{f"limit_{kind}": 3})
    person = await people.add()
    make = getattr(Things(client, person, await people.workspace(person)), kind)
    answers = await asyncio.gather(*(make(number) for number in range(8)))
    made = [answer for answer in answers if answer.is_success]
    assert len(made) == room, [answer.text for answer in answers]
    for answer in answers:
        if not answer.is_success:
            assert code_of(answer) == (409, "limit-reached"), answer.text
            assert answer.json()["limit"] == 3
            assert answer.json()["setting"] == f"KURZ_LIMIT_{kind.upper()}"
    # Somebody else has room of their own.
    other = await people.add()
    make = getattr(Things(client, other, await people.workspace(other, "other")), kind)
    assert (await make(9)).is_success


async def test_nobody_becomes_owner_of_more_workspaces_than_they_may(connect, people):
    client = await connect(rate_limits="on", limit_workspaces=1)
    full, giver = await people.add(), await people.add()
    await people.workspace(full, "full")
    team = await people.workspace(giver, "given")
    path = f"/api/v1/workspaces/{team.id}"
    invited = await client.post(
        f"{path}/invitations", json={"role": "owner"}, headers=giver.headers
    )
    accept = {"token": invited.json()["token"]}
    refused = await client.post("/api/v1/invitations/accept", json=accept, headers=full.headers)
    assert code_of(refused) == (409, "limit-reached")
    await people.join(team, full, Role.EDITOR)
    handed = await client.post(
        f"{path}/transfer", json={"account_id": full.id}, headers=giver.headers
    )
    assert code_of(handed) == (409, "limit-reached")
    role = await client.patch(
        f"{path}/members/{full.id}", json={"role": "owner"}, headers=giver.headers
    )
    assert code_of(role) == (409, "limit-reached")


@on_sqlite
async def test_stored_answers_are_limited_and_still_sent_again(connect, kurz, people):
    client = await connect(rate_limits="on", limit_stored_answers=Rate(3, 24 * 60 * 60))
    desk = Desk(kurz, client, await people.add(), None)

    async def make(key: str) -> httpx2.Response:
        body = {"original_url": "https://example.com/"}
        return await desk.ask("POST", desk.links, json=body, headers={"idempotency-key": key})

    assert (await make("first")).status_code == 201
    many = [{"action": "create", "link": {"original_url": "https://example.com/"}}] * 2
    bulk = {"json": {"items": many}, "headers": {"idempotency-key": "many"}}
    refused = await desk.ask("POST", f"{desk.links}/bulk", **bulk)
    assert code_of(refused) == (429, "too-many-requests")  # the request, and each of its items
    assert (await make("second")).status_code == 201
    assert (await make("third")).status_code == 201
    refused = await make("fourth")
    assert code_of(refused) == (429, "too-many-requests")
    assert refused.headers["ratelimit-policy"].startswith('"stored-answers"')
    again = await make("first")
    assert (again.status_code, again.headers["idempotency-replayed"]) == (201, "true")


@on_sqlite
async def test_the_items_of_bulk_requests_are_limited(connect, kurz, people):
    client = await connect(rate_limits="on", limit_bulk_items=Rate(3, 60 * 60))
    desk = Desk(kurz, client, await people.add(), None)
    item = {"action": "create", "link": {"original_url": "https://example.com/"}}
    assert len(await desk.bulk(item, item)) == 2
    refused = await desk.ask("POST", f"{desk.links}/bulk", json={"items": [item, item]})
    assert code_of(refused) == (429, "too-many-requests")
    assert len(await desk.bulk(item)) == 1


@on_sqlite
async def test_whatever_changes_many_links_draws_on_the_same_rate(connect, kurz, people):
    """Else an account could write as much as it likes by another door."""
    client = await connect(rate_limits="on", limit_bulk_items=Rate(4, 60 * 60))
    url = "https://example.com/"

    async def send(desk: Desk, way: str) -> httpx2.Response:
        """Something that costs three."""
        if way == "import":
            rows = f"original_url\n{url}1\n{url}2\n"
            return await desk.ask(
                "POST", f"{desk.links}/import", content=rows, headers={"content-type": "text/csv"}
            )
        if way == "claims":
            items = {"items": [{"original_url": f"{url}{number}"} for number in range(3)]}
            return await desk.ask("POST", "/api/v1/claims", json=items)
        if way == "sync":
            return await desk.ask("POST", "/api/urls/sync", json=[url] * 3)
        if way == "rename":
            return await desk.ask("PATCH", "/api/v1/tags/old", json={"tag": "new"})
        return await desk.ask("DELETE", "/api/v1/tags/new")

    for first, second in (("import", "claims"), ("sync", "import"), ("rename", "remove")):
        desk = Desk(kurz, client, await people.add(), None)
        for _ in range(3):
            await desk.make(tags=["old"])
        assert (await send(desk, first)).status_code == 200, first
        refused = await send(desk, second)
        assert code_of(refused) == (429, "too-many-requests"), second
        assert refused.headers["ratelimit-policy"] == '"bulk-items";q=4;w=3600'


@on_sqlite
async def test_a_dry_run_costs_what_an_import_does_and_large_imports_cost_less(
    connect, kurz, people
):
    client = await connect(
        rate_limits="on",
        limit_bulk_items=Rate(10, 60 * 60),
        limit_import_rows=10,
        limit_import_rows_allowed=100,
    )
    desk = Desk(kurz, client, await people.add(), None)

    async def bring(rows: int, *, is_dry: bool = False) -> httpx2.Response:
        lines = "".join(f'{{"original_url":"https://example.com/{n}"}}\n' for n in range(rows))
        return await desk.ask(
            "POST",
            f"{desk.links}/import?dry_run={str(is_dry).lower()}",
            content=lines,
            headers={"content-type": "application/jsonl"},
        )

    assert (await bring(5, is_dry=True)).status_code == 200
    assert (await bring(5)).status_code == 200
    for is_dry in True, False:
        assert code_of(await bring(1, is_dry=is_dry)) == (429, "too-many-requests")
    other = await people.add()
    await kurz.accounts.set_imports(other.id, may_import_many=True)
    desk = Desk(kurz, client, other, None)
    assert [(await bring(50)).status_code for _ in range(3)] == [200, 200, 429]


@on_sqlite
async def test_what_costs_more_than_a_whole_rate_takes_all_of_it(connect, kurz, people):
    client = await connect(rate_limits="on", limit_bulk_items=Rate(2, 60 * 60))
    desk = Desk(kurz, client, await people.add(), None)
    for _ in range(3):
        await desk.make(tags=["old"])
    renamed = await desk.ask("PATCH", "/api/v1/tags/old", json={"tag": "new"})
    assert (renamed.status_code, renamed.json()) == (200, {"links": 3})
    refused = await desk.ask("DELETE", "/api/v1/tags/new")
    assert code_of(refused) == (429, "too-many-requests")


@on_sqlite
async def test_verifying_a_domain_asks_name_servers_only_so_often(connect, people):
    with DnsServer() as dns:
        client = await connect(
            rate_limits="on", dns_servers=(dns.address,), limit_verify=Rate(2, 60)
        )
        person = await people.add()
        team = await people.workspace(person)
        path = f"/api/v1/workspaces/{team.id}/domains"
        await client.post(path, json={"host": "go.example.com"}, headers=person.headers)
        verify = f"{path}/go.example.com/verify"
        answers = [await client.post(verify, headers=person.headers) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [409, 409, 429, 429, 429]
        assert len(dns.questions) == 2
