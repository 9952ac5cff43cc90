"""Creating and renaming workspaces: slugs, names, and what is refused."""

import asyncio
from datetime import datetime
from typing import Any

import httpx2

from kurz.links.model import Draft
from kurz.people.workspaces import Workspace
from kurz.wiring.core import Kurz
from support.clock import FrozenClock
from support.people import People, Person
from support.workspaces import URL, WORKSPACES, edit, make_link, path, slugs_of, status

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
