"""Reading links over HTTP, one by one and in lists, at the root and in a workspace."""

from typing import Any

import pytest

from kurz.people.access import Permission, Role
from support.desk import URL, Desk, code_of
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
NOT_FOUND = (404, "link-not-found")


# Reading


async def test_what_was_made_is_read_again(place):
    fields = {
        "custom_code": "mine",
        "starts_at": "2026-03-01T12:00:00Z",
        "expires_at": "2027-01-01T00:00:00Z",
        "title": "A title",
        "tags": ["one", "two"],
        "notes": "Some\nnotes",
        "redirect_status": 307,
        "forward_query": True,
        "max_clicks": 3,
    }
    made = await place.make(**fields)
    for name, value in fields.items():
        assert made["short_code" if name == "custom_code" else name] == value
    answer = await place.get(made)
    assert answer.json() == made
    assert answer.headers["etag"] == '"1"'
    assert answer.headers["cache-control"] == "no-store"


async def test_links_of_others_look_as_if_they_did_not_exist(desk, team, people):
    mine, ours = await desk.make(), await team.make()
    stranger = Desk(desk.kurz, desk.client, await people.add(), None)
    everything = [
        (stranger, mine),
        (team, mine),
        (desk, ours),
        (stranger, ours),
        (desk, {"id": 2**53 - 1}),
        (desk, {"id": 0}),
        (Desk(desk.kurz, desk.client, team.person, None), ours),
    ]
    for who, link in everything:
        answers = [
            await who.get(link),
            await who.get(link, "/history"),
            await who.get(link, "/qr"),
            await who.edit(link, title="x"),
            await who.delete(link),
            await who.restore(link),
        ]
        assert {code_of(answer) for answer in answers} == {NOT_FOUND}
        [result] = await who.bulk({"action": "delete", "id": link["id"]})
        assert result["status"] == 404
    assert (await desk.get(mine)).json() == mine
    assert (await team.get(ours)).json() == ours
    stranger_there = Desk(desk.kurz, desk.client, stranger.person, team.workspace_id)
    assert code_of(await stranger_there.get(ours)) == (404, "workspace-not-found")


@on_sqlite
async def test_an_id_that_is_none_is_refused(desk):
    for link_id in ("x", "-1", 2**53, "1.5", "0x10", "%00", "١"):
        assert (await desk.get({"id": link_id})).status_code in (404, 422)


async def test_who_may_only_look_changes_nothing(team, people):
    link = await team.make()
    viewer = await people.add()
    workspace = await team.kurz.workspaces.find(team.workspace_id)
    await people.join(workspace, viewer, Role.VIEWER)
    looking = Desk(team.kurz, team.client, viewer, team.workspace_id)
    assert (await looking.get(link)).json() == link
    refused = [
        await looking.edit(link, title="x"),
        await looking.delete(link),
        await looking.restore(link),
        await looking.ask("POST", looking.links, json={"original_url": URL}),
        await looking.ask("POST", f"{looking.links}/bulk", json={"items": [{"action": "x"}]}),
        await looking.ask("PATCH", f"{looking.tags}/a", json={"tag": "b"}),
        await looking.ask("DELETE", f"{looking.tags}/a"),
    ]
    assert {code_of(answer) for answer in refused} == {(403, "permission-missing")}
    assert (await team.get(link)).json() == link


async def test_a_key_to_create_edits_nothing_in_a_list_either(desk, people):
    link = await desk.make()
    key = await people.key(desk.person, Permission.LINKS_CREATE)
    answer = await desk.client.post(
        f"{desk.links}/bulk",
        json={
            "items": [
                {"action": "create", "link": {"original_url": URL}},
                {"action": "edit", "id": link["id"], "changes": {"title": "x"}},
                {"action": "delete", "id": link["id"]},
                {"action": "restore", "id": link["id"]},
            ]
        },
        headers={"x-api-key": key},
    )
    assert [item["status"] for item in answer.json()["results"]] == [201, 403, 403, 403]
    assert (await desk.get(link)).json() == link


# Lists


async def test_a_list_is_filtered_by_what_it_is_asked_for(place):
    first = await place.make(title="Spring sale", tags=["a"])
    second = await place.make(f"{URL}/2", tags=["a", "b"])
    third = await place.make(f"{URL}/3")
    await place.edit(second, is_paused=True)
    await place.delete(third)

    async def ids(**query: Any) -> list[int]:
        answer = await place.ask("GET", place.links, params=query)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert (body["total"], body["is_total_exact"]) == (len(body["links"]), True)
        return sorted(link["id"] for link in body["links"])

    both = sorted([first["id"], second["id"]])
    assert await ids() == both
    assert await ids(tag="a") == both
    assert await ids(tag="b") == [second["id"]]
    assert await ids(status="PAUSED") == [second["id"]]
    assert await ids(status="DELETED") == [third["id"]]
    assert await ids(search="spring") == [first["id"]]
    assert await ids(owner_id=place.person.id) == both
    assert await ids(created_before="2026-03-01T12:00:00Z") == []


@on_sqlite
async def test_a_list_asked_for_nonsense_is_refused(desk):
    for query in (
        {"status": "NONE"},
        {"limit": 0},
        {"limit": 201},
        {"cursor": "x"},
        {"sort": "id"},
        {"created_from": "yesterday"},
        {"search": ""},
        {"owner_id": 0},
    ):
        assert (await desk.ask("GET", desk.links, params=query)).status_code == 422, query


async def test_pages_follow_each_other(desk):
    made = [(await desk.make(f"{URL}/{n}"))["id"] for n in range(5)]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await desk.ask("GET", desk.links, params=query)).json()
        assert page["total"] == 5
        seen += [link["id"] for link in page["links"]]
        cursor = page["next_cursor"]
    assert seen == made[::-1]
