"""The links of a workspace: codes, short URLs, tags, and the front of its domains."""

from datetime import datetime, timedelta
from typing import Any

import httpx2

from kurz.links.codes import deterministic
from kurz.people.access import Permission, Role
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.people import People, Person
from support.workspaces import (
    DOMAIN,
    URL,
    AddDomain,
    Connect,
    Join,
    edit,
    forget_domains,
    make_link,
    path,
    status,
)


class TestItsLinks:
    async def test_codes_are_computed_from_the_url_by_default(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        first = await make_link(client, team, owner)
        assert first["short_code"] == deterministic.generate(URL, team.id)
        again = await client.post(
            path(team, "links"), json={"original_url": URL}, headers=owner.headers
        )
        assert (again.status_code, again.json()["id"]) == (200, first["id"])

    async def test_it_may_have_another_strategy_and_a_request_yet_another(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        for strategy in ("random", "counter"):
            await edit(client, team, owner, strategy=strategy)
            first, second = [await make_link(client, team, owner) for _ in range(2)]
            assert first["strategy"] == second["strategy"] == strategy
            assert first["short_code"] != second["short_code"]
        chosen = await make_link(client, team, owner, strategy="deterministic")
        assert chosen["short_code"] == deterministic.generate(URL, team.id)

    async def test_its_links_live_as_long_as_it_says(
        self, connect: Connect, owner: Person, team: Workspace, clock: FrozenClock
    ) -> None:
        client = await connect(default_expiry_days=5)

        async def life(**fields: Any) -> timedelta | None:
            made = await make_link(client, team, owner, strategy="random", **fields)
            if made["expires_at"] is None:
                return None
            return datetime.fromisoformat(made["expires_at"]) - clock.now()

        assert await life() == timedelta(days=5)
        for days, expected in ((3, timedelta(days=3)), (0, None), (None, timedelta(days=5))):
            await edit(client, team, owner, default_expiry_days=days)
            assert await life() == expected
        await edit(client, team, owner, default_expiry_days=3)
        assert await life(expires_in=60) == timedelta(seconds=60)

    async def test_two_workspaces_may_use_one_code_for_different_things(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.workspace(owner, "other")
        await make_link(client, team, owner, custom_code="same")
        await make_link(client, other, owner, custom_code="same", original_url=f"{URL}/other")
        assert (await client.get("/@team/same")).headers["location"] == URL
        assert (await client.get("/@other/same")).headers["location"] == f"{URL}/other"
        assert await status(client, "/same") == 404

    async def test_short_urls_have_its_slug_or_its_verified_domain(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        add_domain: AddDomain,
    ) -> None:
        made = await make_link(client, team, owner, custom_code="mine")
        assert made["short_url"] == "http://kurz.test/@team/mine"
        link = path(team, "links", made["id"])
        await add_domain("waits.example.com", team.id, is_verified=False)
        forget_domains(kurz)
        shown = await client.get(link, headers=owner.headers)
        assert shown.json()["short_url"] == "http://kurz.test/@team/mine"
        await add_domain(DOMAIN, team.id)
        forget_domains(kurz)
        shown = await client.get(link, headers=owner.headers)
        assert shown.json()["short_url"] == f"http://{DOMAIN}/mine"
        listed = await client.get(path(team, "links"), headers=owner.headers)
        assert listed.json()["links"][0]["short_url"] == f"http://{DOMAIN}/mine"
        answer = await client.get("/mine", headers={"host": DOMAIN})
        assert (answer.status_code, answer.headers["location"]) == (302, URL)
        assert await status(client, "/@team/mine") == 302

    async def test_every_member_sees_everybodys_links(
        self,
        client: httpx2.AsyncClient,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor, viewer = await join(Role.EDITOR), await join(Role.VIEWER)
        made = await make_link(client, team, editor)
        assert made["owner_id"] == editor.id
        for person in (owner, editor, viewer):
            listed = await client.get(path(team, "links"), headers=person.headers)
            assert [item["id"] for item in listed.json()["links"]] == [made["id"]]
            own = await client.get("/api/v1/links", headers=person.headers)
            assert own.json()["links"] == []

    async def test_items_of_a_bulk_request_stay_within_their_workspace(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        foreign = await people.add()
        theirs = await make_link(client, await people.workspace(foreign, "theirs"), foreign)
        second = await make_link(client, await people.workspace(owner, "second"), owner)
        before = await client.get(path(team, "links"), headers=owner.headers)
        items = [
            {
                "action": act,
                "id": link["id"],
                **({"changes": {"title": "x"}} if act == "edit" else {}),
            }
            for link in (theirs, second)
            for act in ("edit", "delete", "restore")
        ]
        for address in (path(team, "links/bulk"), "/api/v1/links/bulk"):
            answer = await client.post(address, json={"items": items}, headers=owner.headers)
            assert [result["status"] for result in answer.json()["results"]] == [404] * 6
        after = await client.get(path(team, "links"), headers=owner.headers)
        assert after.json() == before.json()
        for slug, link in (("theirs", theirs), ("second", second)):
            assert await status(client, f"/@{slug}/{link['short_code']}") == 302

    async def test_a_key_that_may_only_make_links_changes_none_in_a_bulk_request(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        made = await make_link(client, team, owner)
        key = await people.key(owner, Permission.LINKS_CREATE)
        items = [
            {"action": "create", "link": {"original_url": f"{URL}/new"}},
            {"action": "edit", "id": made["id"], "changes": {"title": "x"}},
            {"action": "delete", "id": made["id"]},
            {"action": "restore", "id": made["id"]},
        ]
        answer = await client.post(
            path(team, "links/bulk"), json={"items": items}, headers={"x-api-key": key}
        )
        assert [item["status"] for item in answer.json()["results"]] == [201, 403, 403, 403]

    async def test_tags_are_renamed_in_one_workspace_only(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.workspace(owner, "other")
        for workspace in (team, other):
            await make_link(client, workspace, owner, tags=["red"])
        answer = await client.patch(
            path(team, "tags/red"), json={"tag": "blue"}, headers=owner.headers
        )
        assert answer.json() == {"links": 1}
        listed = await client.get(path(other, "tags"), headers=owner.headers)
        assert listed.json()["tags"] == [{"tag": "red", "links": 1, "is_exact": True}]


class TestRootUrl:
    async def test_the_front_of_its_domains_leads_where_it_says(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        add_domain: AddDomain,
    ) -> None:
        await add_domain(DOMAIN, team.id)
        assert await status(client, "/", host=DOMAIN) == 404
        await edit(client, team, owner, root_url="https://Example.com/front")
        forget_domains(kurz)
        answer = await client.get("/", headers={"host": DOMAIN})
        assert (answer.status_code, answer.headers["location"]) == (
            302,
            "https://example.com/front",
        )
        await edit(client, team, owner, root_url=None)
        forget_domains(kurz)
        assert await status(client, "/", host=DOMAIN) == 404

    async def test_it_does_not_lead_in_a_circle(
        self,
        connect: Connect,
        people: People,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        add_domain: AddDomain,
    ) -> None:
        other = await people.workspace(owner, "other")
        await add_domain(DOMAIN, team.id)
        await add_domain("other.example.com", other.id)
        client = await connect()
        based = await connect("https://kurz.example", base_url="https://kurz.example")
        circles = {
            client: ["http://kurz.test/", f"https://{DOMAIN}/", f"http://{DOMAIN.upper()}./x"],
            based: ["https://kurz.example/", f"https://{DOMAIN}/", "http://other.example.com:80/"],
        }
        for caller, addresses in circles.items():
            for address in addresses:
                answer = await edit(caller, team, owner, root_url=address)
                assert answer.status_code == 422, address
                assert answer.json()["type"] == "/api/problems/url-refused"
