"""A workspace at the root (`KURZ_ROOT_WORKSPACE`)."""

from collections.abc import Callable

import httpx2
import pytest

from kurz.errors import SettingRefused
from kurz.people.access import Permission, Role
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.people import PASSWORD, People, Person
from support.workspaces import URL, Connect, Join, edit, make_link, path, status


class TestAtTheRoot:
    @pytest.fixture
    async def rooted(self, connect: Connect, team: Workspace) -> httpx2.AsyncClient:
        return await connect(root_workspace="team")

    async def test_its_links_stand_at_the_root_and_still_under_its_slug(
        self, rooted: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        body = {"original_url": URL}
        made = await rooted.post("/api/v1/links", json=body, headers=owner.headers)
        assert made.status_code == 201
        link = made.json()
        code = link["short_code"]
        assert link["workspace_id"] == team.id
        assert link["strategy"] == "deterministic"
        assert link["short_url"] == f"http://kurz.test/{code}"
        for address in (f"/{code}", f"/@team/{code}"):
            answer = await rooted.get(address)
            assert (answer.status_code, answer.headers["location"]) == (302, URL)
        again = await rooted.post("/api/v1/links", json=body, headers=owner.headers)
        assert (again.status_code, again.json()["id"]) == (200, link["id"])
        for address in (f"/api/v1/links/{link['id']}", path(team, "links", link["id"])):
            shown = await rooted.get(address, headers=owner.headers)
            assert shown.json()["short_url"] == f"http://kurz.test/{code}"

    async def test_all_of_its_members_work_there_as_their_roles_allow(
        self,
        rooted: httpx2.AsyncClient,
        people: People,
        owner: Person,
        join: Join,
    ) -> None:
        editor, viewer = await join(Role.EDITOR), await join(Role.VIEWER)
        stranger = await people.add()
        body = {"original_url": URL, "tags": ["red"]}
        made = await rooted.post("/api/v1/links", json=body, headers=editor.headers)
        link = f"/api/v1/links/{made.json()['id']}"
        expected = {owner: (200, 200, 200), viewer: (200, 403, 403), stranger: (404, 404, 404)}
        for person, statuses in expected.items():
            answers = [
                await rooted.get("/api/v1/links", headers=person.headers),
                await rooted.patch(link, json={"title": "x"}, headers=person.headers),
                await rooted.post("/api/v1/links", json=body, headers=person.headers),
            ]
            assert tuple(answer.status_code for answer in answers) == statuses
        listed = await rooted.get("/api/urls", headers=viewer.headers)
        assert [item["shortCode"] for item in listed.json()] == [made.json()["short_code"]]
        tags = await rooted.get("/api/v1/tags", headers=viewer.headers)
        assert tags.json()["tags"] == [{"tag": "red", "links": 1, "is_exact": True}]
        text = await rooted.post("/", content=f"{URL}/text", headers=editor.headers)
        assert text.status_code == 201
        assert (await rooted.get(text.text.strip())).status_code == 302

    async def test_a_key_for_that_workspace_works_there_and_one_for_another_does_not(
        self, rooted: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.workspace(owner, "other")
        for workspace, expected in ((team, 201), (other, 404)):
            key = await people.key(owner, Permission.LINKS_CREATE, workspace_id=workspace.id)
            body = {"original_url": URL}
            answer = await rooted.post("/api/v1/links", json=body, headers={"x-api-key": key})
            assert answer.status_code == expected

    async def test_there_are_no_anonymous_or_personal_links(
        self,
        rooted: httpx2.AsyncClient,
        client: httpx2.AsyncClient,
        kurz: Kurz,
        owner: Person,
        team: Workspace,
    ) -> None:
        before = await client.post("/api/v1/links", json={"original_url": URL})
        personal = await client.post(
            "/api/v1/links", json={"original_url": URL}, headers=owner.headers
        )
        statuses = [
            (await rooted.post("/", content=URL)).status_code,
            (await rooted.post("/api/v1/links", json={"original_url": URL})).status_code,
            (await rooted.post("/api/urls/public", json={"originalUrl": URL})).status_code,
        ]
        assert statuses == [401, 401, 401]
        item = {name: before.json()[name] for name in ("short_code", "claim_token", "original_url")}
        claimed = await rooted.post("/api/v1/claims", json={"items": [item]}, headers=owner.headers)
        synced = await rooted.post("/api/urls/sync", json={"urls": [URL]}, headers=owner.headers)
        assert (claimed.status_code, synced.status_code) == (403, 403)
        for made in (before, personal):
            assert await status(rooted, f"/{made.json()['short_code']}") == 404
            link = f"/api/v1/links/{made.json()['id']}"
            assert await status(rooted, link, **owner.headers) == 404
        listed = await rooted.get("/api/v1/links", headers=owner.headers)
        assert listed.json()["links"] == []

    async def test_other_workspaces_stay_under_their_slugs(
        self, rooted: httpx2.AsyncClient, people: People, owner: Person
    ) -> None:
        other = await people.workspace(owner, "other")
        made = await make_link(rooted, other, owner, custom_code="theirs")
        assert made["short_url"] == "http://kurz.test/@other/theirs"
        assert await status(rooted, "/@other/theirs") == 302
        assert await status(rooted, "/theirs") == 404

    async def test_an_old_slug_means_it_too(
        self, connect: Connect, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        await edit(client, team, owner, slug="renamed")
        rooted = await connect(root_workspace="team")
        code = (await make_link(rooted, team, owner))["short_code"]
        assert await status(rooted, f"/{code}") == 302

    async def test_it_cannot_be_deleted_under_the_feet_of_everybody(
        self, rooted: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        code = (await make_link(rooted, team, owner))["short_code"]
        answer = await rooted.delete(path(team), headers=owner.headers)
        assert answer.status_code == 403
        assert "KURZ_ROOT_WORKSPACE" in answer.json()["detail"]
        assert await status(rooted, f"/{code}") == 302

    async def test_kurz_does_not_start_with_one_that_it_does_not_have(
        self, connect: Connect, kurz: Kurz, team: Workspace
    ) -> None:
        await kurz.teams.delete(team)
        for slug in ("unknown", "team"):
            with pytest.raises(SettingRefused, match=f"there is no workspace “{slug}”"):
                await connect(root_workspace=slug)

    async def test_anonymous_links_are_made_where_no_workspace_is_at_the_root(
        self, client: httpx2.AsyncClient, team: Workspace
    ) -> None:
        made = await client.post("/api/v1/links", json={"original_url": URL})
        assert (made.status_code, made.json()["workspace_id"]) == (201, 0)


async def test_kurz_serve_says_what_to_do_about_an_unknown_root_workspace(
    start_program: Callable[..., object],
) -> None:
    with pytest.raises(
        AssertionError, match="KURZ_ROOT_WORKSPACE: there is no workspace “nowhere”"
    ):
        start_program(KURZ_ROOT_WORKSPACE="nowhere")


async def test_the_only_member_of_the_workspace_at_the_root_stays(connect, people):
    await people.add(is_admin=True)
    owner = await people.add()
    await people.workspace(owner, "root")
    client = await connect(root_workspace="root")
    answer = await client.request(
        "DELETE", "/api/v1/me", json={"password": PASSWORD}, headers=owner.headers
    )
    assert answer.status_code == 409
