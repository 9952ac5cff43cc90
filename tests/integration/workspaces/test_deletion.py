"""Deleting and restoring workspaces, and what deleting an account does to them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import httpx2

from kurz.people.access import Permission, Role
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.engines import usually_on
from support.people import PASSWORD, People, Person
from support.workspaces import (
    DOMAIN,
    MOMENT,
    URL,
    WORKSPACES,
    AddDomain,
    Connect,
    Join,
    edit,
    forget_domains,
    make_link,
    path,
    roles,
    slugs_of,
    status,
)

GRACE = timedelta(days=30)


class TestDeleting:
    async def test_its_links_stop_answering_at_once_and_come_back_with_it(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        clock: FrozenClock,
        add_domain: AddDomain,
    ) -> None:
        await edit(client, team, owner, slug="renamed")
        await add_domain(DOMAIN, team.id)
        forget_domains(kurz)
        code = (await make_link(client, team, owner))["short_code"]

        async def statuses() -> set[int]:
            forget_domains(kurz)
            return {
                await status(client, f"/@team/{code}"),
                await status(client, f"/@renamed/{code}"),
                await status(client, f"/{code}", host=DOMAIN),
                await status(client, f"/{code}+", host=DOMAIN, accept="text/html") + 102,
            }

        assert await statuses() == {302}
        deleted = await client.delete(path(team), headers=owner.headers)
        assert datetime.fromisoformat(deleted.json()["deleted_at"]) == clock.now()
        assert await statuses() == {404, 506}
        clock.advance(hours=23)
        restored = await client.post(path(team, "restore"), headers=owner.headers)
        assert (restored.status_code, restored.json()["deleted_at"]) == (200, None)
        assert await statuses() == {302}
        kept = await client.post(
            path(team, "links"), json={"original_url": URL}, headers=owner.headers
        )
        assert (kept.status_code, kept.json()["short_code"]) == (200, code)

    async def test_its_domain_serves_nothing_within_a_second(
        self,
        connect: Connect,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        add_domain: AddDomain,
    ) -> None:
        await add_domain(DOMAIN, team.id)
        client = await connect("https://kurz.example", base_url="https://kurz.example")
        code = (await make_link(client, team, owner))["short_code"]
        assert await status(client, f"/{code}", host=DOMAIN) == 302
        await client.delete(path(team), headers=owner.headers)
        await asyncio.sleep(1.05)
        assert await status(client, f"/{code}", host=DOMAIN) == 421

    async def test_only_restoring_can_be_done_with_it(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor = await join(Role.EDITOR)
        made = await make_link(client, team, owner)
        await client.delete(path(team), headers=owner.headers)
        requests: list[tuple[str, str, Any]] = [
            ("GET", path(team), None),
            ("PATCH", path(team), {"slug": "another"}),
            ("GET", path(team, "links"), None),
            ("POST", path(team, "links"), {"original_url": URL}),
            ("GET", path(team, "links", made["id"]), None),
            ("DELETE", path(team, "links", made["id"]), None),
            ("GET", path(team, "members"), None),
            ("PATCH", path(team, "members", editor.id), {"role": "owner"}),
            ("DELETE", path(team, "members", editor.id), None),
            ("POST", path(team, "invitations"), {"role": "viewer"}),
            ("GET", path(team, "invitations"), None),
            ("POST", path(team, "transfer"), {"account_id": editor.id}),
            ("GET", path(team, "domains"), None),
            ("POST", path(team, "domains"), {"host": DOMAIN}),
        ]
        for method, address, body in requests:
            answer = await client.request(method, address, json=body, headers=owner.headers)
            assert answer.status_code == 404, f"{method} {address}"
            assert answer.json()["type"] == "/api/problems/workspace-not-found"
        refused = await client.post(path(team, "restore"), headers=editor.headers)
        assert refused.status_code == 403
        assert await roles(kurz, team) == {owner.id: Role.OWNER, editor.id: Role.EDITOR}
        assert await slugs_of(client, owner) == ["team"]
        assert (await client.post(path(team, "restore"), headers=owner.headers)).status_code == 200

    async def test_it_can_be_restored_for_thirty_days_and_not_longer(
        self,
        client: httpx2.AsyncClient,
        people: People,
        owner: Person,
        team: Workspace,
        clock: FrozenClock,
    ) -> None:
        await client.delete(path(team), headers=owner.headers)
        clock.advance(seconds=(GRACE - MOMENT).total_seconds())
        owner = people.sign_in(owner.account)
        assert await slugs_of(client, owner) == ["team"]
        assert (await client.post(path(team, "restore"), headers=owner.headers)).status_code == 200
        await client.delete(path(team), headers=owner.headers)
        clock.advance(seconds=GRACE.total_seconds())
        owner = people.sign_in(owner.account)
        assert await slugs_of(client, owner) == []
        for _ in range(2):  # nor by deleting it once more
            answer = await client.post(path(team, "restore"), headers=owner.headers)
            assert answer.status_code == 404
            assert (await client.delete(path(team), headers=owner.headers)).status_code == 404
        body = {"name": "Team", "slug": "team"}
        other = await people.add()
        taken = await client.post(WORKSPACES, json=body, headers=other.headers)
        assert taken.status_code == 409

    async def test_deleting_it_again_does_not_give_it_more_time(
        self,
        client: httpx2.AsyncClient,
        people: People,
        owner: Person,
        team: Workspace,
        clock: FrozenClock,
    ) -> None:
        first = await client.delete(path(team), headers=owner.headers)
        clock.advance(days=29)
        owner = people.sign_in(owner.account)
        again = await client.delete(path(team), headers=owner.headers)
        assert again.status_code == 200
        assert again.json()["deleted_at"] == first.json()["deleted_at"]

    async def test_what_another_instance_has_deleted_is_restored_and_the_other_way_round(
        self,
        client: httpx2.AsyncClient,
        connect: Callable[..., Awaitable[httpx2.AsyncClient]],
        kurz: Kurz,
        owner: Person,
        team: Workspace,
    ) -> None:
        other = await connect(code_length=8)
        for one, another in ((client, other), (other, client)):
            for it in (one, another):
                assert (await it.get(path(team), headers=owner.headers)).status_code == 200
            await one.delete(path(team), headers=owner.headers)
            await another.post(path(team, "restore"), headers=owner.headers)
            found = await kurz.workspaces.find(team.id)
            assert found is not None
            assert found.deleted_at is None
            await one.delete(path(team), headers=owner.headers)
            found = await kurz.workspaces.find(team.id)
            assert found is not None
            assert found.deleted_at is not None
            await another.post(path(team, "restore"), headers=owner.headers)


class TestDeletingAccounts:
    @staticmethod
    async def delete(client: httpx2.AsyncClient, person: Person) -> int:
        answer = await client.request(
            "DELETE", "/api/v1/me", json={"password": PASSWORD}, headers=person.headers
        )
        return answer.status_code

    async def test_workspaces_that_nobody_else_is_in_are_deleted(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, owner: Person, team: Workspace
    ) -> None:
        code = (await make_link(client, team, owner))["short_code"]
        assert await self.delete(client, owner) == 204
        assert await status(client, f"/@team/{code}") == 404
        assert await status(client, path(team), **owner.headers) == 401
        found = await kurz.workspaces.find(team.id)
        assert found is not None
        assert found.deleted_at == kurz.clock.now()

    async def test_the_only_owner_of_others_has_to_hand_over_first(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        people: People,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor = await join(Role.EDITOR)
        alone = await people.workspace(owner, "alone")
        code = (await make_link(client, alone, owner))["short_code"]
        assert await self.delete(client, owner) == 409
        assert await status(client, f"/@alone/{code}") == 302
        assert await roles(kurz, team) == {owner.id: Role.OWNER, editor.id: Role.EDITOR}
        body = {"account_id": editor.id}
        await client.post(path(team, "transfer"), json=body, headers=owner.headers)
        assert await self.delete(client, owner) == 204
        assert await roles(kurz, team) == {editor.id: Role.OWNER}

    async def test_links_made_in_somebody_elses_workspace_stay(
        self,
        client: httpx2.AsyncClient,
        people: People,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor = await join(Role.EDITOR)
        key = {"x-api-key": await people.key(editor, *Permission, workspace_id=team.id)}
        made = await make_link(client, team, editor)
        assert await self.delete(client, editor) == 204
        assert await status(client, f"/@team/{made['short_code']}") == 302
        assert (await client.get(path(team, "links"), headers=key)).status_code == 401
        shown = await client.get(path(team, "links", made["id"]), headers=owner.headers)
        assert shown.json()["owner_id"] is None

    async def test_of_two_owners_who_delete_their_accounts_at_once_nobody_leaves_it_without_one(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People
    ) -> None:
        for number in range(6):
            pair = [await people.add(), await people.add()]
            workspace = await people.workspace(pair[0], f"round-{number}")
            await people.join(workspace, pair[1], Role.OWNER)
            viewer = await people.add()
            await people.join(workspace, viewer, Role.VIEWER)
            statuses = await asyncio.gather(*(self.delete(client, person) for person in pair))
            assert sorted(statuses) == [204, 409]
            left = await roles(kurz, workspace)
            assert sorted(left.values()) == [Role.OWNER, Role.VIEWER]

    @usually_on("postgres")
    async def test_nobody_becomes_its_only_owner_while_deleting_their_account(
        self, connect: Connect, kurz: Kurz, people: People, team: Workspace, owner: Person
    ) -> None:
        clients = [await connect(code_length=length) for length in (7, 8)]
        for number in range(20):
            editor = await people.add()
            workspace = await people.workspace(owner, f"round-{number}")
            await people.join(workspace, editor, Role.EDITOR)
            transfer = path(workspace, "transfer")
            body = {"account_id": editor.id}

            async def hand_over(address: str, body: dict[str, int], wait: float) -> int:
                await asyncio.sleep(wait)  # a password is checked before anything is deleted
                answer = await clients[1].post(address, json=body, headers=owner.headers)
                return answer.status_code

            deleting = self.delete(clients[0], editor)
            await asyncio.gather(deleting, hand_over(transfer, body, number / 2000))
            assert Role.OWNER in (await roles(kurz, workspace)).values()
