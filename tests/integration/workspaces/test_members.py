"""Members of a workspace: roles, keys, the last owner, and handing over."""

import asyncio

import httpx2
import pytest

from kurz.people.access import Permission, Role
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.engines import usually_on
from support.long_run import in_the_long_run
from support.people import People, Person
from support.workspaces import (
    URL,
    WORKSPACES,
    Connect,
    Join,
    edit,
    make_link,
    path,
    roles,
    slugs_of,
    status,
)

ACTIONS = ("remove", "demote", "leave", "step down", "hand over")


class TestMembers:
    async def test_another_role_acts_at_once(
        self,
        client: httpx2.AsyncClient,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        person = await join(Role.VIEWER)
        number = 0

        async def statuses() -> tuple[int, int, int]:
            """Of looking, of making a link, and of inviting."""
            nonlocal number
            number += 1
            body = {"original_url": f"{URL}/{number}"}
            looked = await client.get(path(team), headers=person.headers)
            made = await client.post(path(team, "links"), json=body, headers=person.headers)
            invited = await client.post(path(team, "invitations"), json={}, headers=person.headers)
            return looked.status_code, made.status_code, invited.status_code

        member = path(team, "members", person.id)
        assert await statuses() == (200, 403, 403)
        for role, expected in (
            ("editor", (200, 201, 403)),
            ("owner", (200, 201, 201)),
            ("viewer", (200, 403, 403)),
        ):
            answer = await client.patch(member, json={"role": role}, headers=owner.headers)
            assert (answer.status_code, answer.json()["role"]) == (200, role)
            assert await statuses() == expected
        assert (await client.delete(member, headers=owner.headers)).status_code == 204
        assert await statuses() == (404, 404, 404)
        assert await slugs_of(client, person) == []

    async def test_a_key_loses_what_its_person_loses(
        self,
        client: httpx2.AsyncClient,
        people: People,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        person = await join(Role.EDITOR)
        text = await people.key(person, *Permission, workspace_id=team.id)
        key = {"x-api-key": text}
        links = path(team, "links")
        body = {"original_url": URL}
        assert (await client.post(links, json=body, headers=key)).status_code == 201
        member = path(team, "members", person.id)
        await client.patch(member, json={"role": "viewer"}, headers=owner.headers)
        assert (await client.post(links, json=body, headers=key)).status_code == 403
        assert (await client.get(links, headers=key)).status_code == 200
        await client.delete(member, headers=owner.headers)
        assert (await client.get(links, headers=key)).status_code == 404

    async def test_a_key_for_one_workspace_sees_no_other(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.workspace(owner, "other")
        headers = {"x-api-key": await people.key(owner, *Permission, workspace_id=team.id)}
        listed = await client.get(WORKSPACES, headers=headers)
        assert [item["id"] for item in listed.json()["workspaces"]] == [team.id]
        assert (await client.get(path(other), headers=headers)).status_code == 404
        assert (await client.get("/api/v1/links", headers=headers)).status_code == 403

    async def test_the_last_owner_stays(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor = await join(Role.EDITOR)
        mine = path(team, "members", owner.id)

        async def statuses() -> list[int]:
            demoted = await client.patch(mine, json={"role": "editor"}, headers=owner.headers)
            left = await client.delete(mine, headers=owner.headers)
            return [demoted.status_code, left.status_code]

        answer = await client.delete(mine, headers=owner.headers)
        assert answer.json()["type"] == "/api/problems/owner-missing"
        assert await statuses() == [409, 409]
        same = await client.patch(mine, json={"role": "owner"}, headers=owner.headers)
        assert same.status_code == 200
        await client.patch(
            path(team, "members", editor.id), json={"role": "owner"}, headers=owner.headers
        )
        assert await statuses() == [200, 204]
        assert await roles(kurz, team) == {editor.id: Role.OWNER}

    async def test_nobody_can_be_changed_who_is_not_there(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        stranger = await people.add()
        for account_id in (stranger.id, 1):
            member = path(team, "members", account_id)
            edited = await client.patch(member, json={"role": "owner"}, headers=owner.headers)
            removed = await client.delete(member, headers=owner.headers)
            assert (edited.status_code, removed.status_code) == (404, 404)
            assert edited.json()["type"] == "/api/problems/member-not-found"

    async def test_who_leaves_leaves_the_links(
        self,
        client: httpx2.AsyncClient,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        editor, viewer = await join(Role.EDITOR), await join(Role.VIEWER)
        code = (await make_link(client, team, editor))["short_code"]
        for person in (editor, viewer):
            mine = path(team, "members", person.id)
            assert (await client.delete(mine, headers=person.headers)).status_code == 204
            assert (await client.delete(mine, headers=person.headers)).status_code == 404
            assert (await client.get(path(team), headers=person.headers)).status_code == 404
        assert await status(client, f"/@team/{code}") == 302
        listed = await client.get(path(team, "links"), headers=owner.headers)
        assert [item["owner_id"] for item in listed.json()["links"]] == [editor.id]


class TestTwoOwnersAtOnce:
    """Each works with another instance, which remembers that both are owners."""

    @usually_on("postgres")
    @pytest.mark.parametrize("rounds", [3, *in_the_long_run(10)])
    async def test_an_owner_is_left_whatever_they_do_to_each_other(
        self, connect: Connect, kurz: Kurz, people: People, rounds: int
    ) -> None:
        clients = [await connect(code_length=length) for length in (7, 8)]
        pair = [await people.add(), await people.add()]
        for number, action in enumerate(ACTIONS * rounds):
            workspace = await people.workspace(pair[0], f"round-{number}")
            await people.join(workspace, pair[1], Role.OWNER)
            for client, person in zip(clients, pair, strict=True):
                assert await status(client, path(workspace), **person.headers) == 200
            answers = await asyncio.gather(
                *(
                    self.act(action, client, workspace, person, other)
                    for client, person, other in zip(clients, pair, pair[::-1], strict=True)
                )
            )
            assert Role.OWNER in (await roles(kurz, workspace)).values(), f"both {action}"
            assert all(answer.status_code in (200, 204, 403, 404, 409) for answer in answers)
            assert any(answer.status_code in (200, 204) for answer in answers)

    @staticmethod
    async def act(
        action: str, client: httpx2.AsyncClient, workspace: Workspace, me: Person, other: Person
    ) -> httpx2.Response:
        members = path(workspace, "members")
        if action == "remove":
            return await client.delete(f"{members}/{other.id}", headers=me.headers)
        if action == "leave":
            return await client.delete(f"{members}/{me.id}", headers=me.headers)
        if action == "hand over":
            body = {"account_id": other.id}
            return await client.post(path(workspace, "transfer"), json=body, headers=me.headers)
        target = other if action == "demote" else me
        return await client.patch(
            f"{members}/{target.id}", json={"role": "viewer"}, headers=me.headers
        )


class TestHandingOver:
    async def test_the_other_owns_it_then_and_the_former_owner_edits(
        self,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
        join: Join,
    ) -> None:
        viewer, third = await join(Role.VIEWER), await join(Role.OWNER)
        body = {"account_id": viewer.id}
        answer = await client.post(path(team, "transfer"), json=body, headers=owner.headers)
        assert (answer.status_code, answer.json()["role"]) == (200, "editor")
        assert await roles(kurz, team) == {
            viewer.id: Role.OWNER,
            owner.id: Role.EDITOR,
            third.id: Role.OWNER,
        }
        again = await client.post(path(team, "transfer"), json=body, headers=owner.headers)
        assert again.status_code == 403
        assert (await edit(client, team, viewer, name="Mine")).status_code == 200

    async def test_only_another_member_can_have_it(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, owner: Person, team: Workspace
    ) -> None:
        stranger = await people.add()
        for account_id, expected in ((stranger.id, 404), (1, 404), (owner.id, 422)):
            body = {"account_id": account_id}
            answer = await client.post(path(team, "transfer"), json=body, headers=owner.headers)
            assert answer.status_code == expected
        assert await roles(kurz, team) == {owner.id: Role.OWNER}

    async def test_who_was_an_owner_a_moment_ago_cannot_hand_it_over(
        self, connect: Connect, kurz: Kurz, owner: Person, team: Workspace, join: Join
    ) -> None:
        """Another instance still takes them for one."""
        former, friend = await join(Role.OWNER), await join(Role.VIEWER)
        here, there = [await connect(code_length=length) for length in (7, 8)]
        assert await status(there, path(team), **former.headers) == 200
        member = path(team, "members", former.id)
        await here.patch(member, json={"role": "viewer"}, headers=owner.headers)
        body = {"account_id": friend.id}
        answer = await there.post(path(team, "transfer"), json=body, headers=former.headers)
        assert answer.status_code in (403, 404)
        assert await roles(kurz, team) == {
            owner.id: Role.OWNER,
            former.id: Role.VIEWER,
            friend.id: Role.VIEWER,
        }
