"""Workspaces over HTTP: names, links, members, invitations, deletion, and one at the root."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.errors import SettingRefused
from kurz.links.codes import deterministic
from kurz.links.model import Draft
from kurz.people.access import Permission, Role
from kurz.people.workspaces import Workspace
from kurz.storage import schema
from support.clock import FrozenClock
from support.engines import redis_in_the_long_run, usually_on
from support.long_run import in_the_long_run
from support.people import PASSWORD, People, Person

engine = redis_in_the_long_run

URL = "https://example.com/a/page"
WORKSPACES = "/api/v1/workspaces"
ACCEPT = "/api/v1/invitations/accept"
DOMAIN = "go.example.com"
GRACE = timedelta(days=30)
INVITATION_LIFE = timedelta(days=7)
MOMENT = timedelta(microseconds=1)

GOOD_SLUGS = ("a", "0", "a-b", "a--b", "x" * 64, "0-9")
BAD_SLUGS = ("", "-a", "a-", "A", "a_b", "a.b", "a b", "a/b", "ä", "x" * 65, "a\n", "@a", "a\0")
BAD_VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"name": None},
    {"name": " "},
    {"name": "x" * 101},
    {"name": "a\u202eb"},
    {"slug": None},
    {"strategy": None},
    {"strategy": "custom"},
    {"default_expiry_days": -1},
    {"default_expiry_days": 36_501},
    {"default_expiry_days": "7"},
    {"default_expiry_days": True},
    {"root_url": "javascript:alert(1)"},
    {"root_url": ""},
)

ACTIONS = ("remove", "demote", "leave", "step down", "hand over")

Connect = Callable[..., Awaitable[httpx2.AsyncClient]]
Join = Callable[..., Awaitable[Person]]
AddDomain = Callable[..., Awaitable[None]]


@pytest.fixture
async def owner(people: People) -> Person:
    return await people.add("owner@example.com")


@pytest.fixture
async def team(people: People, owner: Person) -> Workspace:
    return await people.workspace(owner, "team")


@pytest.fixture
def join(people: People, team: Workspace) -> Join:
    """A new member."""

    async def join(role: Role, email: str | None = None) -> Person:
        person = await people.add(email)
        await people.join(team, person, role)
        return person

    return join


def path(workspace: Workspace, *pieces: object) -> str:
    return "/".join([WORKSPACES, str(workspace.id), *map(str, pieces)])


async def make_link(
    client: httpx2.AsyncClient, workspace: Workspace, person: Person, **fields: Any
) -> dict[str, Any]:
    body = {"original_url": URL, **fields}
    answer = await client.post(path(workspace, "links"), json=body, headers=person.headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def edit(
    client: httpx2.AsyncClient, workspace: Workspace, person: Person, **fields: Any
) -> httpx2.Response:
    return await client.patch(path(workspace), json=fields, headers=person.headers)


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


async def roles(kurz: Kurz, workspace: Workspace) -> dict[int, Role]:
    return {member.account_id: member.role for member in await kurz.teams.members(workspace.id)}


async def slugs_of(client: httpx2.AsyncClient, person: Person) -> list[str]:
    answer = await client.get(WORKSPACES, headers=person.headers)
    assert answer.status_code == 200, answer.text
    return [item["slug"] for item in answer.json()["workspaces"]]


async def status(client: httpx2.AsyncClient, address: str, **headers: str) -> int:
    return (await client.get(address, headers=headers)).status_code


def forget_domains(kurz: Kurz) -> None:
    """As a second later."""
    kurz.domains._sites = None


class TestMaking:
    async def test_who_makes_a_workspace_owns_it(
        self, client: httpx2.AsyncClient, owner: Person, clock: FrozenClock
    ) -> None:
        body = {"name": "Press office", "slug": "press"}
        made = await client.post(WORKSPACES, json=body, headers=owner.headers)
        assert made.status_code == 201
        shown = made.json()
        assert shown["id"] >= 1
        assert datetime.fromisoformat(shown["created_at"]) == clock.now()
        assert {name: shown[name] for name in ("name", "slug", "role", "strategy")} == {
            **body,
            "role": "owner",
            "strategy": "deterministic",
        }
        seen = await client.get(f"{WORKSPACES}/{shown['id']}", headers=owner.headers)
        assert seen.json() == shown
        members = await client.get(f"{WORKSPACES}/{shown['id']}/members", headers=owner.headers)
        assert [(item["email"], item["role"]) for item in members.json()["members"]] == [
            ("owner@example.com", "owner")
        ]

    async def test_a_slug_is_of_small_letters_digits_and_dashes_inside(
        self, client: httpx2.AsyncClient, owner: Person
    ) -> None:
        for slug in GOOD_SLUGS:
            body = {"name": "Any", "slug": slug}
            made = await client.post(WORKSPACES, json=body, headers=owner.headers)
            assert made.status_code == 201, slug
        assert sorted(await slugs_of(client, owner)) == sorted(GOOD_SLUGS)

    async def test_any_other_slug_is_refused(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        for slug in BAD_SLUGS:
            body = {"name": "Any", "slug": slug}
            made = await client.post(WORKSPACES, json=body, headers=owner.headers)
            renamed = await edit(client, team, owner, slug=slug)
            for answer in (made, renamed):
                assert answer.status_code == 422, slug
                assert answer.json()["type"] == "/api/problems/name-refused"
        assert await slugs_of(client, owner) == ["team"]

    async def test_a_taken_slug_is_a_conflict_and_leaves_nothing(
        self, client: httpx2.AsyncClient, kurz: Kurz, people: People, team: Workspace
    ) -> None:
        other = await people.add()
        body = {"name": "Another", "slug": "team"}
        answer = await client.post(WORKSPACES, json=body, headers=other.headers)
        assert answer.status_code == 409
        assert answer.json()["type"] == "/api/problems/slug-taken"
        assert [item.id for item in await kurz.workspaces.list_all()] == [team.id]
        assert await slugs_of(client, other) == []

    async def test_of_many_who_want_one_slug_at_once_one_gets_it(
        self, client: httpx2.AsyncClient, people: People
    ) -> None:
        crowd = [await people.add() for _ in range(4)]
        for number in range(5):
            body = {"name": "Wanted", "slug": f"wanted-{number}"}
            answers = await asyncio.gather(
                *(client.post(WORKSPACES, json=body, headers=one.headers) for one in crowd)
            )
            assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
        owned = [slug for one in crowd for slug in await slugs_of(client, one)]
        assert sorted(owned) == [f"wanted-{number}" for number in range(5)]

    async def test_the_same_request_sent_again_makes_no_second_one(
        self, client: httpx2.AsyncClient, owner: Person
    ) -> None:
        headers = {**owner.headers, "idempotency-key": "once"}
        body = {"name": "Press", "slug": "press"}
        first = await client.post(WORKSPACES, json=body, headers=headers)
        again = await client.post(WORKSPACES, json=body, headers=headers)
        assert again.status_code == 201
        assert again.json() == first.json()
        assert await slugs_of(client, owner) == ["press"]

    async def test_nobody_sets_what_is_not_theirs_to_set(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        for extra in ("id", "role", "created_at", "deleted_at", "links_per_month", "owner_id"):
            body = {"name": "Press", "slug": "press", extra: 1}
            made = await client.post(WORKSPACES, json=body, headers=owner.headers)
            edited = await edit(client, team, owner, name="Another", **{extra: 1})
            assert (made.status_code, edited.status_code) == (422, 422), extra
        shown = await client.get(WORKSPACES, headers=owner.headers)
        assert [item["name"] for item in shown.json()["workspaces"]] == ["Team"]


class TestRenaming:
    async def test_every_slug_it_ever_had_goes_on_answering(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        code = (await make_link(client, team, owner))["short_code"]
        for slug in ("second", "third"):
            renamed = await edit(client, team, owner, slug=slug)
            assert renamed.status_code == 200
            assert renamed.json()["slug"] == slug
        for slug in ("team", "second", "third", "TEAM"):
            answer = await client.get(f"/@{slug}/{code}")
            assert (answer.status_code, answer.headers["location"]) == (302, URL)
        listed = await client.get(path(team, "links"), headers=owner.headers)
        assert listed.json()["links"][0]["short_url"] == f"http://kurz.test/@third/{code}"

    async def test_an_old_slug_is_nobody_elses_and_may_be_taken_back(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.add()
        theirs = await people.workspace(other, "theirs")
        await edit(client, team, owner, slug="second")
        body = {"name": "Mine now", "slug": "team"}
        made = await client.post(WORKSPACES, json=body, headers=other.headers)
        renamed = await edit(client, theirs, other, slug="team", name="Mine now")
        assert (made.status_code, renamed.status_code) == (409, 409)
        shown = await client.get(path(theirs), headers=other.headers)
        assert (shown.json()["slug"], shown.json()["name"]) == ("theirs", "Theirs")
        back = await edit(client, team, owner, slug="team")
        assert (back.status_code, back.json()["slug"]) == (200, "team")
        assert (await edit(client, theirs, other, slug="second")).status_code == 409

    async def test_of_two_that_take_one_slug_at_once_one_gets_it(
        self, client: httpx2.AsyncClient, people: People, owner: Person, team: Workspace
    ) -> None:
        other = await people.add()
        theirs = await people.workspace(other, "theirs")
        for number in range(8):
            slug = f"both-{number}"
            answers = await asyncio.gather(
                edit(client, team, owner, slug=slug), edit(client, theirs, other, slug=slug)
            )
            assert sorted(answer.status_code for answer in answers) == [200, 409]

    async def test_a_new_name_is_shown_at_once(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        assert await status(client, path(team), **owner.headers) == 200
        await edit(client, team, owner, name="Another")
        shown = await client.get(path(team), headers=owner.headers)
        assert shown.json()["name"] == "Another"

    async def test_values_that_cannot_be_are_refused(
        self, client: httpx2.AsyncClient, owner: Person, team: Workspace
    ) -> None:
        before = (await client.get(path(team), headers=owner.headers)).json()
        for fields in BAD_VALUES:
            assert (await edit(client, team, owner, **fields)).status_code == 422, fields
        assert (await client.get(path(team), headers=owner.headers)).json() == before


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
            {"act": act, "id": link["id"], **({"changes": {"title": "x"}} if act == "edit" else {})}
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
            {"act": "create", "link": {"original_url": f"{URL}/new"}},
            {"act": "edit", "id": made["id"], "changes": {"title": "x"}},
            {"act": "delete", "id": made["id"]},
            {"act": "restore", "id": made["id"]},
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
        assert listed.json()["tags"] == [{"tag": "red", "links": 1}]


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
            assert again.json()["type"] == "/api/problems/pass-refused"
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
            (await kurz.passes.invite(None))[0],
            (await kurz.passes.make_reset(owner.id, None))[0],
            (await kurz.passes.make_setup())[0],
        ]
        for token in (*tokens, "", "wrong", "\0"):
            assert (await accept(client, person, token)).status_code == 422
        count = sa.select(sa.func.count()).select_from(schema.passes)
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
        assert tags.json()["tags"] == [{"tag": "red", "links": 1}]
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


async def test_the_number_of_the_root_is_no_workspaces(
    client: httpx2.AsyncClient, kurz: Kurz, owner: Person
) -> None:
    draft = Draft(original_url=URL, owner_id=owner.id, custom_code="mine")
    await kurz.links.create(draft)
    for number in ("0", "-1", "00", str(2**53), str(2**64), "x"):
        for address in (f"{WORKSPACES}/{number}", f"{WORKSPACES}/{number}/links"):
            answer = await client.get(address, headers=owner.headers)
            assert answer.status_code == 422, address
        body = {"original_url": URL}
        made = await client.post(f"{WORKSPACES}/{number}/links", json=body, headers=owner.headers)
        assert made.status_code == 422


async def test_kurz_serve_says_what_to_do_about_an_unknown_root_workspace(
    start_program: Callable[..., object],
) -> None:
    with pytest.raises(
        AssertionError, match="KURZ_ROOT_WORKSPACE: there is no workspace “nowhere”"
    ):
        start_program(KURZ_ROOT_WORKSPACE="nowhere")


async def test_an_invitation_into_a_deleted_workspace_makes_no_account(kurz, client, people):
    owner = await people.add()
    workspace = await people.workspace(owner)
    token, _ = await kurz.passes.invite(owner.id, workspace.id, Role.OWNER)
    assert (
        await client.delete(f"/api/v1/workspaces/{workspace.id}", headers=owner.headers)
    ).status_code == 200
    body = {"email": "new@example.com", "password": PASSWORD, "invitation": token}
    assert (await client.post("/api/v1/auth/register", json=body)).status_code == 422
    assert [account.email for account in await kurz.accounts.list()] == [owner.account.email]


async def test_the_only_member_of_the_workspace_at_the_root_stays(connect, people):
    await people.add(is_admin=True)
    owner = await people.add()
    await people.workspace(owner, "root")
    client = await connect(root_workspace="root")
    answer = await client.request(
        "DELETE", "/api/v1/me", json={"password": PASSWORD}, headers=owner.headers
    )
    assert answer.status_code == 409
