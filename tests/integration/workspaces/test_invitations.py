"""Invitations into a workspace."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx2
import sqlalchemy as sa

from kurz.people.access import Role
from kurz.people.workspaces import Workspace
from kurz.storage.schema import people as people_tables
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.people import PASSWORD, People, Person
from support.workspaces import MOMENT, Connect, Join, path, roles

ACCEPT = "/api/v1/invitations/accept"
INVITATION_LIFE = timedelta(days=7)


async def invite(
    client: httpx2.AsyncClient, workspace: Workspace, person: Person, role: str = "viewer"
) -> dict[str, Any]:
    answer = await client.post(
        path(workspace, "invitations"), json={"role": role}, headers=person.headers
    )
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def accept(client: httpx2.AsyncClient, person: Person, token: str) -> httpx2.Response:
    return await client.post(ACCEPT, json={"token": token}, headers=person.headers)


class TestInvitations:
    async def test_it_makes_a_member_once(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, owner: Person, team: Workspace
    ) -> None:
        invitation = await invite(client, team, owner, "editor")
        assert invitation["url"] == f"http://kurz.test/app/join#{invitation['token']}"
        first, second = await people.add(), await people.add()
        joined = await accept(client, first, invitation["token"])
        assert joined.status_code == 200
        assert (joined.json()["id"], joined.json()["role"]) == (team.id, "editor")
        for person in (first, second):
            again = await accept(client, person, invitation["token"])
            assert again.status_code == 422
            assert again.json()["type"] == "/api/problems/one-time-link-refused"
        assert await roles(kurz, team) == {owner.id: Role.OWNER, first.id: Role.EDITOR}

    async def test_open_ones_are_listed_without_their_tokens(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        used, open_one = [await invite(client, team, owner, "editor") for _ in range(2)]
        await accept(client, await people.add(), used["token"])
        listed = await client.get(path(team, "invitations"), headers=owner.headers)
        assert open_one["token"] not in listed.text
        (shown,) = listed.json()["invitations"]
        assert (shown["id"], shown["role"], shown["created_by"]) == (
            open_one["id"],
            "editor",
            owner.id,
        )

    async def test_it_works_for_seven_days(
        self,
        client: httpx2.AsyncClient,
        people: People,
        owner: Person,
        team: Workspace,
        clock: FrozenClock,
    ) -> None:
        in_time, late = [await invite(client, team, owner) for _ in range(2)]
        assert datetime.fromisoformat(late["expires_at"]) == clock.now() + INVITATION_LIFE
        person = await people.add()
        clock.advance(seconds=(INVITATION_LIFE - MOMENT).total_seconds())
        person, owner = people.sign_in(person.account), people.sign_in(owner.account)
        assert (await accept(client, person, in_time["token"])).status_code == 200
        clock.advance(microseconds=1)
        assert (await accept(client, person, late["token"])).status_code == 422
        listed = await client.get(path(team, "invitations"), headers=owner.headers)
        assert listed.json()["invitations"] == []

    async def test_a_member_keeps_the_higher_role(
        self, client: httpx2.AsyncClient, kurz: Kurz, owner: Person, team: Workspace, join: Join
    ) -> None:
        for present, invited, then in (
            (Role.VIEWER, "owner", Role.OWNER),
            (Role.VIEWER, "editor", Role.EDITOR),
            (Role.EDITOR, "viewer", Role.EDITOR),
            (Role.OWNER, "viewer", Role.OWNER),
            (Role.OWNER, "editor", Role.OWNER),
        ):
            person = await join(present)
            invitation = await invite(client, team, owner, invited)
            answer = await accept(client, person, invitation["token"])
            assert (answer.status_code, answer.json()["role"]) == (200, then)
            assert (await roles(kurz, team))[person.id] is then
            assert (await accept(client, person, invitation["token"])).status_code == 422

    async def test_one_that_was_taken_back_does_not_work(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        invitation = await invite(client, team, owner)
        address = path(team, "invitations", invitation["id"])
        assert (await client.delete(address, headers=owner.headers)).status_code == 204
        assert (await client.delete(address, headers=owner.headers)).status_code == 404
        person = await people.add()
        assert (await accept(client, person, invitation["token"])).status_code == 422

    async def test_of_two_who_use_it_at_once_one_joins(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, owner: Person, team: Workspace
    ) -> None:
        pair = [await people.add(), await people.add()]
        for _ in range(10):
            invitation = await invite(client, team, owner)
            answers = await asyncio.gather(
                *(accept(client, person, invitation["token"]) for person in pair)
            )
            assert sorted(answer.status_code for answer in answers) == [200, 422]
            (joined,) = (await roles(kurz, team)).keys() - {owner.id}
            await kurz.teams.remove(team.id, joined)

    async def test_registering_with_it_joins_as_well(
        self, connect: Connect, kurz: Kurz, owner: Person, team: Workspace
    ) -> None:
        client = await connect(access="private")
        invitation = await invite(client, team, owner, "editor")
        body = {"email": "new@example.com", "password": PASSWORD, "invitation": invitation["token"]}
        made = await client.post("/api/v1/auth/register", json=body)
        assert made.status_code == 201
        assert (await roles(kurz, team))[made.json()["account"]["id"]] is Role.EDITOR
        body["email"] = "second@example.com"
        assert (await client.post("/api/v1/auth/register", json=body)).status_code == 422

    async def test_other_one_time_links_do_not_let_anybody_in_and_stay_as_they_are(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, owner: Person, team: Workspace
    ) -> None:
        person = await people.add()
        tokens = [
            (await kurz.one_time_tokens.invite(None))[0],
            (await kurz.one_time_tokens.make_reset(owner.id, None))[0],
            (await kurz.one_time_tokens.make_setup())[0],
        ]
        for token in (*tokens, "", "wrong", "\0"):
            assert (await accept(client, person, token)).status_code == 422
        count = sa.select(sa.func.count()).select_from(people_tables.one_time_tokens)
        kept = await kurz.database.read(lambda connection: connection.execute(count).scalar())
        assert kept == len(tokens)

    async def test_who_may_not_invite_any_more_does_not_come_back_by_an_own_invitation(
        self, client: httpx2.AsyncClient, kurz: Kurz, owner: Person, team: Workspace, join: Join
    ) -> None:
        for loss in ("removed", "left", "demoted", "handed over"):
            rogue = await join(Role.OWNER)
            own = await invite(client, team, rogue, "owner")
            others = await invite(client, team, owner, "viewer")
            member = path(team, "members", rogue.id)
            if loss == "removed":
                await client.delete(member, headers=owner.headers)
            elif loss == "left":
                await client.delete(member, headers=rogue.headers)
            elif loss == "demoted":
                await client.patch(member, json={"role": "viewer"}, headers=owner.headers)
            else:
                body = {"account_id": owner.id}
                await client.post(path(team, "transfer"), json=body, headers=rogue.headers)
            assert (await accept(client, rogue, own["token"])).status_code == 422, loss
            assert (await roles(kurz, team)).get(rogue.id) is not Role.OWNER, loss
            assert (await accept(client, rogue, others["token"])).status_code == 200, loss

    async def test_into_a_deleted_workspace_it_works_only_after_restoring(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        invitation = await invite(client, team, owner)
        person = await people.add()
        await client.delete(path(team), headers=owner.headers)
        assert (await accept(client, person, invitation["token"])).status_code == 422
        await client.post(path(team, "restore"), headers=owner.headers)
        assert (await accept(client, person, invitation["token"])).status_code == 200


async def test_an_invitation_into_a_deleted_workspace_makes_no_account(kurz, client, people):
    owner = await people.add()
    workspace = await people.workspace(owner)
    token, _ = await kurz.one_time_tokens.invite(owner.id, workspace.id, Role.OWNER)
    assert (
        await client.delete(f"/api/v1/workspaces/{workspace.id}", headers=owner.headers)
    ).status_code == 200
    body = {"email": "new@example.com", "password": PASSWORD, "invitation": token}
    assert (await client.post("/api/v1/auth/register", json=body)).status_code == 422
    assert [account.email for account in await kurz.accounts.list()] == [owner.account.email]
