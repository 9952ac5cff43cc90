"""What is done with links over HTTP: read, edit, delete, restore, history, tags, lists of acts, QR
codes; at the root and, by the same family of paths, in a workspace."""

import asyncio
import json
import re
import struct
import zlib
from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa
import zxingcpp

from kurz.bootstrap import Kurz
from kurz.links.model import Draft, Link, Scope, Status
from kurz.people.access import Permission, Role
from kurz.storage.schema import changes, link_tags, links
from support.desk import URL, Desk, code_of
from support.engines import sqlite_first, usually_on

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


async def create_all(kurz: Kurz, drafts: list[Draft]) -> list[Link]:
    """A few at once: all of them would wait for connections."""
    made: list[Link] = []
    for start in range(0, len(drafts), 8):
        some = drafts[start : start + 8]
        created = await asyncio.gather(*(kurz.links.create(draft) for draft in some))
        made += [item.link for item in created]
    return made


NOT_FOUND = (404, "link-not-found")
REFUSED = (422, "request-refused")
OUTDATED = (412, "version-outdated")


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
        [result] = await who.bulk({"act": "delete", "id": link["id"]})
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
        await looking.ask("POST", f"{looking.links}/bulk", json={"items": [{"act": "x"}]}),
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
                {"act": "create", "link": {"original_url": URL}},
                {"act": "edit", "id": link["id"], "changes": {"title": "x"}},
                {"act": "delete", "id": link["id"]},
                {"act": "restore", "id": link["id"]},
            ]
        },
        headers={"x-api-key": key},
    )
    assert [item["status"] for item in answer.json()["results"]] == [201, 403, 403, 403]
    assert (await desk.get(link)).json() == link


# Editing


async def test_an_edit_changes_what_was_sent_and_nothing_else(place, clock):
    link = await place.make(title="old", tags=["a"], notes="kept", max_clicks=9)
    clock.advance(minutes=5)
    answer = await place.edit(link, title="new", tags=["b", "c"])
    expected = link | {
        "title": "new",
        "tags": ["b", "c"],
        "version": 2,
        "updated_at": "2026-03-01T12:05:00Z",
    }
    assert answer.json() == expected
    assert answer.headers["etag"] == '"2"'
    assert (await place.get(link)).json() == expected


EDITS: dict[str, Any] = {
    "original_url": "https://example.org/other",
    "custom_code": "another",
    "starts_at": "2026-05-01T00:00:00Z",
    "expires_at": "2027-01-01T00:00:00Z",
    "title": "New",
    "tags": ["x"],
    "notes": "n",
    "redirect_status": 308,
    "forward_query": True,
    "max_clicks": 7,
}


async def test_every_field_of_a_create_can_be_edited(place):
    link = await place.make()
    for name, value in EDITS.items():
        edited = (await place.edit(link, **{name: value})).json()
        assert edited["short_code" if name == "custom_code" else name] == value
    assert edited["version"] == 1 + len(EDITS)
    assert edited["canonical_url"] == "https://example.org/other"
    assert edited["strategy"] == "custom"


async def test_null_clears_what_can_be_empty(place):
    full = {
        "starts_at": "2026-05-01T00:00:00Z",
        "expires_at": "2027-01-01T00:00:00Z",
        "title": "t",
        "tags": ["x"],
        "notes": "n",
        "max_clicks": 7,
    }
    link = await place.make(**full)
    cleared = await place.edit(link, **dict.fromkeys(full))
    assert cleared.status_code == 200
    assert {cleared.json()[name] for name in full if name != "tags"} == {None}
    assert cleared.json()["tags"] == []
    assert await place.tag_counts() == {}


@on_sqlite
async def test_null_does_not_clear_the_rest(desk):
    link = await desk.make()
    for name in (
        "original_url",
        "custom_code",
        "redirect_status",
        "forward_query",
        "is_paused",
        "expires_in",
    ):
        answer = await desk.edit(link, **{name: None})
        assert code_of(answer) == REFUSED
        assert name in answer.json()["detail"]
        answer = await desk.edit(link, **{name: None, "title": "x"})
        assert code_of(answer) == REFUSED
    assert (await desk.get(link)).json() == link


@on_sqlite
async def test_unknown_and_fixed_fields_are_refused(desk):
    link = await desk.make()
    for name in sorted(set(link) - {*EDITS, "is_paused"}):
        assert code_of(await desk.edit(link, **{name: link[name]})) == REFUSED, name
    assert code_of(await desk.edit(link)) == REFUSED  # nothing to change
    assert (await desk.get(link)).json() == link


@on_sqlite
async def test_refused_values_change_nothing(desk):
    link = await desk.make(title="kept")
    for body in (
        {"original_url": "ftp://example.com"},
        {"original_url": f"http://kurz.test/{link['short_code']}"},
        {"custom_code": "no"},
        {"custom_code": "api"},
        {"custom_code": "with space"},
        {"starts_at": "2026-02-28T00:00:00Z"},
        {"expires_at": "2026-03-01T12:00:00Z"},
        {"expires_at": "2027-01-01T00:00:00"},
        {"expires_at": "2027-01-01T00:00:00Z", "expires_in": 60},
        {"expires_at": None, "expires_in": 60},
        {"starts_at": "2026-06-01T00:00:00Z", "expires_at": "2026-05-01T00:00:00Z"},
        {"expires_in": 0},
        {"expires_in": -1},
        {"expires_in": 10**12},
        {"expires_in": 10**400},
        {"expires_in": "60"},
        {"expires_in": 1.5},
        {"expires_in": True},
        {"title": ""},
        {"title": "x" * 201},
        {"title": "a\u0000b"},
        {"tags": [""]},
        {"tags": ["x" * 51]},
        {"tags": [f"{n}" for n in range(21)]},
        {"tags": "x"},
        {"notes": "x" * 2001},
        {"redirect_status": 303},
        {"redirect_status": "302"},
        {"forward_query": "yes"},
        {"forward_query": 1},
        {"max_clicks": 0},
        {"max_clicks": 2**53 + 1},
        {"is_paused": "true"},
    ):
        answer = await desk.edit(link, **body)
        assert answer.status_code == 422, body
    assert (await desk.get(link)).json() == link


async def test_expires_in_counts_from_now(place, clock):
    link = await place.make()
    clock.advance(days=1)
    edited = (await place.edit(link, expires_in=60)).json()
    assert edited["expires_at"] == "2026-03-02T12:01:00Z"
    clock.advance(seconds=59)
    assert (await place.follow(link)).status_code == 302
    clock.advance(seconds=1)
    assert (await place.follow(link)).status_code == 410


async def test_a_taken_code_is_refused_and_a_free_one_moves_the_link(place):
    first, second = await place.make(), await place.make(f"{URL}/2", custom_code="held")
    assert code_of(await place.edit(first, custom_code="held")) == (409, "custom-code-taken")
    moved = (await place.edit(first, custom_code="moved")).json()
    assert moved["short_url"].endswith("/moved")
    assert (await place.follow(first)).status_code == 404
    assert (await place.follow(moved)).headers["location"] == URL
    assert (await place.edit(second, custom_code="held")).json()["short_code"] == "held"


async def test_a_paused_link_is_not_found_until_it_goes_on(place):
    link = await place.make()
    paused = (await place.edit(link, is_paused=True)).json()
    assert paused["status"] == "PAUSED"
    assert (await place.follow(link)).status_code == 404
    assert (await place.edit(link, title="while paused")).json()["status"] == "PAUSED"
    assert (await place.edit(link, expires_in=3600)).json()["status"] == "PAUSED"
    resumed = (await place.edit(link, is_paused=False)).json()
    assert resumed["status"] == "ACTIVE"
    assert (await place.follow(link)).status_code == 302


async def test_pausing_revives_nothing_that_has_expired(desk, clock):
    link = await desk.make(expires_in=1)
    clock.advance(seconds=1)
    for is_paused in (True, False):
        edited = (await desk.edit(link, is_paused=is_paused)).json()
        assert (edited["status"], edited["is_paused"]) == ("EXPIRED", is_paused)
        assert (await desk.follow(link)).status_code == 410
    assert (await desk.edit(link, expires_at=None)).json()["status"] == "ACTIVE"
    assert (await desk.follow(link)).status_code == 302


async def test_a_link_that_was_taken_down_stays_as_it_is(desk):
    link = await desk.make()
    stored = await desk.kurz.links.get(link["id"], Scope())
    await desk.kurz.store.update(stored, {"status": Status.BANNED}, desk.kurz.clock.now())
    for answer in (
        await desk.edit(link, title="x"),
        await desk.edit(link, is_paused=False),
        await desk.delete(link),
        await desk.restore(link),
    ):
        assert code_of(answer) == (410, "link-banned")
    assert (await desk.get(link)).json()["status"] == "BANNED"
    assert (await desk.follow(link)).status_code == 410


# Versions


async def test_an_edit_of_what_somebody_else_changed_is_refused(place):
    link = await place.make()
    assert (await place.edit(link, if_match='"1"', title="first")).status_code == 200
    refused = await place.edit(link, if_match='"1"', title="second")
    assert code_of(refused) == OUTDATED
    assert (await place.get(link)).json()["title"] == "first"
    assert code_of(await place.delete(link, '"1"')) == OUTDATED
    assert (await place.edit(link, if_match='"2"', title="third")).status_code == 200
    assert (await place.delete(link, '"3"')).status_code == 204


@on_sqlite
async def test_if_match_takes_an_etag_in_any_spelling_that_a_proxy_leaves(desk):
    link = await desk.make()
    for number, if_match in enumerate(("*", ' "2" ', 'W/"3"', "*")):
        answer = await desk.edit(link, if_match=if_match, title=f"{number}")
        assert answer.status_code == 200, if_match
    for if_match in ('"1"', 'W/"1"', '"999999999999999999"', '"0"'):
        assert code_of(await desk.edit(link, if_match=if_match, title="x")) == OUTDATED


@on_sqlite
async def test_any_other_if_match_is_refused(desk):
    link = await desk.make()
    for if_match in (
        "1",
        '"',
        '""',
        '"x"',
        '"1',
        '"-1"',
        '"1", "2"',
        "W/1",
        '"1.0"',
        '"' + "1" * 99 + '"',
    ):
        for answer in (
            await desk.edit(link, if_match=if_match, title="x"),
            await desk.delete(link, if_match),
        ):
            assert code_of(answer) == REFUSED, if_match
            assert "if-match" in answer.json()["detail"]
    assert (await desk.get(link)).json() == link


async def test_of_edits_at_once_with_one_version_one_is_done(desk):
    link = await desk.make()
    answers = await asyncio.gather(
        *(desk.edit(link, if_match='"1"', title=f"{n}") for n in range(20))
    )
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {200: 1, 412: 19}
    assert (await desk.get(link)).json()["version"] == 2


async def test_edits_at_once_without_a_version_are_all_done(desk):
    link = await desk.make()
    fields: list[dict[str, Any]] = [
        {"title": "t"},
        {"notes": "n"},
        {"tags": ["x"]},
        {"max_clicks": 5},
    ]
    answers = await asyncio.gather(*(desk.edit(link, **fields[n % 4]) for n in range(12)))
    assert {answer.status_code for answer in answers} == {200}
    edited = (await desk.get(link)).json()
    assert edited["version"] == 13
    assert [edited[name] for name in ("title", "notes", "tags", "max_clicks")] == [
        "t",
        "n",
        ["x"],
        5,
    ]
    history = (await desk.get(link, "/history")).json()["history"]
    assert [entry["version"] for entry in history] == [*range(13, 1, -1)]


async def test_of_two_links_at_once_one_gets_the_code(desk):
    made = [await desk.make() for _ in range(6)]
    answers = await asyncio.gather(*(desk.edit(link, custom_code="wanted") for link in made))
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 5}


# The trash


async def test_a_deleted_link_is_not_found_and_comes_back(place, clock):
    link = await place.make()
    assert (await place.delete(link)).status_code == 204
    assert (await place.follow(link)).status_code == 404
    shown = (await place.get(link)).json()
    assert (shown["status"], shown["deleted_at"]) == ("DELETED", "2026-03-01T12:00:00Z")
    assert code_of(await place.delete(link)) == NOT_FOUND
    assert code_of(await place.edit(link, title="x")) == NOT_FOUND
    clock.advance(hours=23)
    assert (await place.restore(link)).json()["status"] == "ACTIVE"
    assert (await place.follow(link)).status_code == 302


async def test_restoring_answers_with_the_link(place):
    link = await place.make(expires_at="2027-01-01T00:00:00Z")
    await place.delete(link)
    answer = await place.restore(link)
    assert answer.status_code == 200
    assert answer.headers["etag"] == '"3"'
    assert answer.json() == link | {"version": 3}
    assert (await place.restore(link)).json() == answer.json()  # a live one stays as it is


async def test_an_expired_link_comes_back_until_then_or_for_ever(place, clock):
    for body, expires_at in (
        ({}, None),
        ({"json": {}}, None),
        ({"json": {"expires_at": None}}, None),
        ({"json": {"expires_at": "2026-03-01T18:00:00Z"}}, "2026-03-01T18:00:00Z"),
    ):
        link = await place.make(f"{URL}/{len(str(body))}", strategy="random", expires_in=60)
        clock.advance(seconds=60)
        assert (await place.get(link)).json()["status"] == "EXPIRED"
        restored = (await place.restore(link, **body)).json()
        assert (restored["status"], restored["expires_at"]) == ("ACTIVE", expires_at)
        assert (await place.follow(link)).status_code == 302


@on_sqlite
async def test_a_restore_that_makes_no_sense_is_refused(desk, clock):
    live, expired = await desk.make(), await desk.make(expires_in=1)
    clock.advance(seconds=1)
    later = {"expires_at": "2027-01-01T00:00:00Z"}
    assert code_of(await desk.restore(live, json=later)) == (422, "instant-refused")
    past = {"expires_at": "2026-01-01T00:00:00Z"}
    assert code_of(await desk.restore(expired, json=past)) == (422, "instant-refused")
    assert code_of(await desk.restore(expired, json={"title": "x"})) == REFUSED
    assert (await desk.restore(expired, content=b"{")).status_code in (400, 415)
    assert (await desk.get(expired)).json()["status"] == "EXPIRED"


async def test_a_restore_of_what_somebody_else_changed_is_refused(place):
    link = await place.make()
    await place.delete(link)
    for if_match in ('"1"', '"3"'):
        answer = await place.restore(link, headers={"if-match": if_match})
        assert code_of(answer) == OUTDATED
    [result] = await place.bulk({"act": "restore", "id": link["id"], "version": 1})
    assert result["status"] == 412
    assert (await place.follow(link)).status_code == 404
    assert (await place.restore(link, headers={"if-match": '"2"'})).status_code == 200


# History


async def test_history_tells_who_did_what_newest_first(team, people, clock):
    link = await team.make(title="old", tags=["a"])
    editor = await people.add()
    workspace = await team.kurz.workspaces.find(team.workspace_id)
    await people.join(workspace, editor, Role.EDITOR)
    other = Desk(team.kurz, team.client, editor, team.workspace_id)
    clock.advance(hours=1)
    await other.edit(link, title="new", expires_at="2027-01-01T00:00:00Z")
    await team.edit(link, is_paused=True)
    await team.ask("PATCH", f"{team.tags}/a", json={"tag": "b"})
    await team.delete(link)
    await other.restore(link)
    history = (await team.get(link, "/history")).json()["history"]
    assert [(entry["act"], entry["account_id"], entry["version"]) for entry in history] == [
        ("restore", editor.id, 6),
        ("delete", team.person.id, 5),
        ("tags", team.person.id, 4),
        ("edit", team.person.id, 3),
        ("edit", editor.id, 2),
    ]
    assert [entry["changes"] for entry in history] == [
        {"status": ["DELETED", "ACTIVE"]},
        {"status": ["PAUSED", "DELETED"]},
        {"tags": [["a"], ["b"]]},
        {"status": ["ACTIVE", "PAUSED"]},
        {"title": ["old", "new"], "expires_at": [None, "2027-01-01T00:00:00+00:00"]},
    ]
    assert {entry["changed_at"] for entry in history} == {"2026-03-01T13:00:00Z"}


async def test_what_was_refused_is_not_in_the_history(desk):
    link = await desk.make()
    await desk.edit(link, title="")
    await desk.edit(link, if_match='"9"', title="x")
    assert (await desk.get(link, "/history")).json()["history"] == []


async def test_every_write_is_in_the_change_log(desk):
    """It is what caches follow; a link that moves leaves its old code there too."""
    link = await desk.make(custom_code="before", tags=["a"])
    await desk.edit(link, custom_code="after")
    await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "b"})
    await desk.delete(link)
    await desk.restore(link)
    query = sa.select(changes.c.short_code, changes.c.version).order_by(changes.c.id)
    logged = await desk.kurz.database.read(lambda it: [tuple(row) for row in it.execute(query)])
    assert sorted(logged, key=lambda row: row[1]) == [
        ("before", 1),
        ("after", 2),
        ("before", 2),
        ("after", 3),
        ("after", 4),
        ("after", 5),
    ]


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


# Tags


async def test_a_tag_is_renamed_merged_and_taken_off(place):
    first = await place.make(tags=["x", "old", "y"])
    second = await place.make(f"{URL}/2", tags=["old", "new"])
    await place.make(f"{URL}/3", tags=["new"])
    assert await place.tag_counts() == {"new": 2, "old": 2, "x": 1, "y": 1}
    renamed = await place.ask("PATCH", f"{place.tags}/old", json={"tag": "new"})
    assert renamed.json() == {"links": 2}
    assert (await place.get(first)).json()["tags"] == ["x", "new", "y"]
    assert (await place.get(second)).json()["tags"] == ["new"]
    assert await place.tag_counts() == {"new": 3, "x": 1, "y": 1}
    taken_off = await place.ask("DELETE", f"{place.tags}/new")
    assert taken_off.json() == {"links": 3}
    assert (await place.get(first)).json()["tags"] == ["x", "y"]
    assert await place.tag_counts() == {"x": 1, "y": 1}
    assert (await place.get(first)).json()["version"] == 3


async def test_tags_of_others_are_nobodys_business(desk, team, people):
    other = Desk(desk.kurz, desk.client, await people.add(), None)
    everywhere = [(who, await who.make(tags=["shared"])) for who in (desk, team, other)]
    assert (await desk.ask("PATCH", f"{desk.tags}/shared", json={"tag": "mine"})).json() == {
        "links": 1
    }
    for who, link in everywhere[1:]:
        assert (await who.get(link)).json() == link
        assert await who.tag_counts() == {"shared": 1}


@on_sqlite
async def test_a_tag_that_no_link_has_is_not_found(desk):
    await desk.make(tags=["a"])
    for answer in (
        await desk.ask("PATCH", f"{desk.tags}/none", json={"tag": "b"}),
        await desk.ask("DELETE", f"{desk.tags}/none"),
        await desk.ask("DELETE", f"{desk.tags}/A"),
    ):
        assert code_of(answer) == (404, "tag-not-found")
    for tag in ("", " ", "x" * 51, "a\u0000", "a\u202eb", None, 5):
        answer = await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": tag})
        assert answer.status_code == 422, tag
    assert await desk.tag_counts() == {"a": 1}
    same = await desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "a"})
    assert same.json() == {"links": 0}


@on_sqlite
async def test_any_tag_can_be_named_in_a_path(desk):
    tags = ["a/b", "über uns", "50 % off", "a?b#c", "<b>", "a+b", "x\\y", "日本", "a//b", "50%2F"]
    for tag in tags:
        link = await desk.make(tags=[tag])
        path = f"{desk.tags}/{quote(tag, safe='')}"
        renamed = await desk.ask("PATCH", path, json={"tag": f"{tag}!"})
        assert renamed.json() == {"links": 1}, tag
        assert (await desk.get(link)).json()["tags"] == [f"{tag}!"]
        path = f"{desk.tags}/{quote(f'{tag}!', safe='')}"
        assert (await desk.ask("DELETE", path)).json() == {"links": 1}
    assert await desk.tag_counts() == {}


async def test_a_link_has_each_tag_once(place):
    link = await place.make(tags=["a", "b", "a"])
    assert link["tags"] == ["a", "b"]
    edited = await place.edit(link, tags=["c", "c", "a", "c"])
    assert edited.json()["tags"] == ["c", "a"]
    assert (await place.get(link)).json()["tags"] == ["c", "a"]


async def test_tags_of_more_links_than_a_transaction_takes_are_renamed(desk):
    """With links in the trash, links that have both, and edits by others meanwhile."""
    drafts = [
        Draft(
            original_url=URL,
            owner_id=desk.person.id,
            tags=("old", "new") if number % 10 == 0 else ("old",),
        )
        for number in range(701)
    ]
    made = await create_all(desk.kurz, drafts)
    links_made = [{"id": desk.kurz.links.public_id(link)} for link in made]
    await desk.delete(links_made[0])
    editing = [desk.edit(link, title="edited meanwhile") for link in links_made[1::100]]
    renaming = desk.ask("PATCH", f"{desk.tags}/old", json={"tag": "new"})
    renamed, *edited = await asyncio.gather(renaming, *editing)
    assert renamed.json() == {"links": 701}
    assert {answer.status_code for answer in edited} == {200}
    assert await desk.tag_counts() == {"new": 701}
    query = sa.select(links.c.tags, sa.func.count()).group_by(links.c.tags)
    stored = await desk.kurz.database.read(lambda it: [tuple(row) for row in it.execute(query)])
    assert stored == [('["new"]', 701)]
    titles = sa.select(sa.func.count()).where(links.c.title == "edited meanwhile")
    count = await desk.kurz.database.read(lambda it: it.execute(titles).scalar_one())
    assert count == 7


async def test_renames_and_edits_at_once_agree_in_the_end(desk):
    """The tags of a link and the table that lists are filtered by never differ."""
    made = [await desk.make(tags=["a", "b"]) for _ in range(12)]
    await asyncio.gather(
        desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "c"}),
        desk.ask("PATCH", f"{desk.tags}/b", json={"tag": "c"}),
        desk.ask("DELETE", f"{desk.tags}/a"),
        *(desk.edit(link, tags=["a", f"{n}"]) for n, link in enumerate(made)),
        *(desk.edit(link, notes="n") for link in made),
    )
    assert len({link_id for *_, link_id in await listed_tags(desk.kurz)}) == 12


async def test_renames_and_the_trash_at_once_agree_in_the_end(desk):
    made = [await desk.make(tags=["a", "b"]) for _ in range(12)]
    for link in made[::2]:
        await desk.delete(link)
    await asyncio.gather(
        desk.ask("PATCH", f"{desk.tags}/a", json={"tag": "c"}),
        desk.ask("PATCH", f"{desk.tags}/b", json={"tag": "c"}),
        *(desk.restore(link) for link in made[::4]),
        *(desk.delete(link) for link in made[1::4]),
    )
    rows = await listed_tags(desk.kurz)
    assert {(tag, in_trash) for _, tag, in_trash, _ in rows} == {("c", False), ("c", True)}
    assert await desk.tag_counts() == {"c": 12}


async def listed_tags(kurz: Kurz) -> set[tuple[int, str, bool, int]]:
    """The table that lists are filtered by, which has to say the same as the links themselves."""
    query = sa.select(links.c.space, links.c.tags, links.c.status, links.c.id)

    def read(connection: sa.Connection) -> tuple[set[Any], set[Any]]:
        stored = {
            (row.space, tag, row.status == Status.DELETED, row.id)
            for row in connection.execute(query)
            for tag in json.loads(row.tags or "[]")
        }
        return stored, {tuple(row) for row in connection.execute(sa.select(link_tags))}

    stored, listed = await kurz.database.read(read)
    assert listed == stored
    return listed


async def tagged(place: Desk, tag: str, **query: Any) -> list[int]:
    """The ids of the links that a list shows for a tag."""
    body = (await place.ask("GET", place.links, params={"tag": tag} | query)).json()
    assert body["total"] == len(body["links"])
    return [link["id"] for link in body["links"]]


async def test_a_link_in_the_trash_is_found_by_its_tag_only_there(place):
    kept, gone = [await place.make(f"{URL}/{n}", tags=["a", "b"]) for n in range(2)]
    await place.delete(gone)
    assert await tagged(place, "a") == [kept["id"]]
    assert await tagged(place, "a", status="ACTIVE") == [kept["id"]]
    assert await tagged(place, "a", status="DELETED") == [gone["id"]]
    assert await place.tag_counts() == {"a": 2, "b": 2}
    await listed_tags(place.kurz)
    await place.restore(gone)
    assert await tagged(place, "a") == [gone["id"], kept["id"]]
    assert await tagged(place, "a", status="DELETED") == []
    await listed_tags(place.kurz)


async def test_tags_follow_a_list_of_acts_into_the_trash_and_back(place):
    edited, deleted, back = [await place.make(f"{URL}/{n}", tags=["a"]) for n in range(3)]
    await place.delete(back)
    await place.bulk(
        {"act": "edit", "id": edited["id"], "changes": {"tags": ["b"]}},
        {"act": "delete", "id": deleted["id"]},
        {"act": "restore", "id": back["id"]},
    )
    assert await tagged(place, "a") == [back["id"]]
    assert await tagged(place, "b") == [edited["id"]]
    assert await tagged(place, "a", status="DELETED") == [deleted["id"]]
    await listed_tags(place.kurz)


async def test_a_tag_that_was_renamed_in_the_trash_is_found_after_the_restore(place):
    link = await place.make(tags=["old", "both", "kept"])
    other = await place.make(f"{URL}/2", tags=["both"])
    await place.delete(link)
    for old in "old", "both":
        answer = await place.ask("PATCH", f"{place.tags}/{old}", json={"tag": "new"})
        assert answer.status_code == 200
    assert await tagged(place, "new") == [other["id"]]
    assert await tagged(place, "new", status="DELETED") == [link["id"]]
    assert (await place.ask("DELETE", f"{place.tags}/kept")).json() == {"links": 1}
    await listed_tags(place.kurz)
    assert (await place.restore(link)).json()["tags"] == ["new"]
    assert await tagged(place, "new") == [other["id"], link["id"]]
    assert await place.tag_counts() == {"new": 2}
    await listed_tags(place.kurz)


async def test_a_link_that_is_made_again_leaves_the_trash_with_its_new_tags(team):
    link = await team.make(strategy="deterministic", tags=["before", "same"])
    await team.delete(link)
    again = await team.make(strategy="deterministic", tags=["same", "after"])
    assert again["id"] == link["id"]
    assert await tagged(team, "same") == await tagged(team, "after") == [link["id"]]
    assert await team.tag_counts() == {"same": 1, "after": 1}
    await listed_tags(team.kurz)


async def test_the_tags_of_an_account_that_is_gone_are_in_the_trash(desk, people):
    other = Desk(desk.kurz, desk.client, await people.add(), None)
    for who in desk, other:
        await who.make(tags=["a"])
    await other.delete(await other.make(f"{URL}/2", tags=["a"]))
    assert await desk.kurz.accounts.delete(desk.person.id)
    rows = await listed_tags(desk.kurz)
    assert sorted((space == -other.person.id, in_trash) for space, _, in_trash, _ in rows) == [
        (False, True),
        (True, False),
        (True, True),
    ]


# Many in one request


async def test_a_list_of_acts_has_a_result_for_each(place):
    kept, edited, deleted, trashed = [await place.make(f"{URL}/{n}") for n in range(4)]
    await place.delete(trashed)
    results = await place.bulk(
        {"act": "create", "link": {"original_url": f"{URL}/new", "tags": ["x"]}},
        {"act": "edit", "id": edited["id"], "changes": {"title": "t", "notes": None}},
        {"act": "delete", "id": deleted["id"], "version": 1},
        {"act": "restore", "id": trashed["id"]},
        {"act": "edit", "id": kept["id"], "changes": {"title": "x"}, "version": 9},
        {"act": "create", "link": {"original_url": "ftp://example.com"}},
        {"act": "create", "link": {"original_url": URL, "custom_code": "api"}},
        {"act": "delete", "id": trashed["id"] + 1 if trashed["id"] + 1 < 2**53 else 0},
    )
    assert [item["status"] for item in results] == [201, 200, 200, 200, 412, 422, 422, 404]
    assert [item["problem"]["type"].rpartition("/")[2] for item in results[4:]] == [
        "version-outdated",
        "url-refused",
        "custom-code-refused",
        "link-not-found",
    ]
    assert all(item.get("problem") is None for item in results[:4])
    for item in results[:4]:
        assert (await place.get(item["link"])).json() == item["link"]
    assert results[1]["link"]["title"] == "t"
    assert results[2]["link"]["status"] == "DELETED"
    assert results[3]["link"]["status"] == "ACTIVE"
    assert (await place.get(kept)).json() == kept


@on_sqlite
async def test_an_item_of_another_shape_fails_alone(desk):
    link = await desk.make()
    items: list[dict[str, Any]] = [
        {},
        {"act": "fly"},
        {"act": "create"},
        {"act": "create", "link": {}},
        {"act": "create", "link": {"original_url": URL, "owner_id": 1}},
        {"act": "create", "link": URL},
        {"act": "edit", "id": link["id"]},
        {"act": "edit", "id": link["id"], "changes": {}},
        {"act": "edit", "id": link["id"], "changes": {"forward_query": None}},
        {"act": "edit", "changes": {"title": "x"}},
        {"act": "delete"},
        {"act": "delete", "id": str(link["id"])},
        {"act": "delete", "id": link["id"], "version": 0},
        {"act": "delete", "id": -1},
        {"act": "delete", "id": 2**53},
        {"act": "restore", "id": None},
        {"act": "delete", "id": link["id"], "reason": "x"},
    ]
    good = {"act": "create", "link": {"original_url": URL}}
    results = await desk.bulk(*items, good)
    assert [item["status"] for item in results] == [422] * len(items) + [201]
    assert (await desk.get(link)).json() == link


@on_sqlite
async def test_fields_that_an_act_does_not_take_are_refused(desk):
    """Or somebody believes that they did something."""
    link = await desk.make()
    made = {"original_url": URL}
    results = await desk.bulk(
        {"act": "create", "link": made, "id": link["id"]},
        {"act": "create", "link": made, "version": 1},
        {"act": "create", "link": made, "changes": {"title": "x"}},
        {"act": "delete", "id": link["id"], "changes": {"title": "x"}},
        {"act": "restore", "id": link["id"], "link": made},
        {"act": "edit", "id": link["id"], "changes": {"title": "x"}, "link": made},
    )
    assert [item["status"] for item in results] == [422] * 6
    assert (await desk.get(link)).json() == link
    assert (await desk.ask("GET", desk.links)).json()["total"] == 1


@usually_on("postgres")
async def test_a_thousand_items_are_done_and_one_more_is_refused(desk):
    made = await desk.bulk(
        *({"act": "create", "link": {"original_url": f"{URL}/{n}"}} for n in range(400))
    )
    ids = [item["link"]["id"] for item in made]
    acts: list[dict[str, Any]] = [
        {"act": "create", "link": {"original_url": f"{URL}/{n}", "tags": [f"{n % 3}"]}}
        for n in range(400)
    ]
    acts += [{"act": "edit", "id": link_id, "changes": {"title": "t"}} for link_id in ids[:200]]
    acts += [{"act": "delete", "id": link_id} for link_id in ids[200:]]
    acts += [{"act": "create", "link": {"original_url": "no URL"}} for _ in range(200)]
    results = await desk.bulk(*acts)
    assert Counter(item["status"] for item in results) == {201: 400, 200: 400, 422: 200}
    assert [item["link"]["original_url"] for item in results[:400]] == [
        f"{URL}/{n}" for n in range(400)
    ]
    refused = await desk.ask("POST", f"{desk.links}/bulk", json={"items": [*acts, acts[0]]})
    assert code_of(refused) == REFUSED
    empty = await desk.ask("POST", f"{desk.links}/bulk", json={"items": []})
    assert code_of(empty) == REFUSED
    assert (await desk.ask("GET", desk.links)).json()["total"] == 600
    assert await desk.tag_counts() == {"0": 134, "1": 133, "2": 133}


async def test_many_acts_on_one_link_in_one_request_all_count(desk):
    link = await desk.make()
    edit = {"act": "edit", "id": link["id"], "changes": {"notes": "n"}}
    results = await desk.bulk(*[edit] * 1000)
    assert {item["status"] for item in results} == {200}
    assert (await desk.get(link)).json()["version"] == 1001


async def test_one_code_twice_in_a_request_is_given_once(place):
    def wanted(url: str) -> dict[str, Any]:
        return {"act": "create", "link": {"original_url": url, "custom_code": "wanted"}}

    results = await place.bulk(*[wanted(f"{URL}/{number}") for number in range(3)])
    assert Counter(item["status"] for item in results) == {201: 1, 409: 2}


async def test_one_code_and_url_twice_in_a_request_are_one_link(place):
    item = {"act": "create", "link": {"original_url": URL, "custom_code": "wanted"}}
    results = await place.bulk(item, item, item)
    assert Counter(item["status"] for item in results) == {201: 1, 200: 2}
    assert len({item["link"]["id"] for item in results}) == 1


async def test_one_url_twice_in_a_workspaces_request_is_one_link(team):
    item = {"act": "create", "link": {"original_url": URL}}
    results = await team.bulk(*[item] * 10)
    assert Counter(item["status"] for item in results) == {201: 1, 200: 9}
    assert len({item["link"]["id"] for item in results}) == 1


@on_sqlite
async def test_a_body_has_at_most_a_mebibyte(desk):
    start = b'{"items":[{"act":"create","link":{"original_url":"https://example.com"}}]}'
    headers = {"content-type": "application/json"}
    path = f"{desk.links}/bulk"
    fits = start + b" " * (1024 * 1024 - len(start))
    assert (await desk.ask("POST", path, content=fits, headers=headers)).status_code == 200
    refused = await desk.ask("POST", path, content=fits + b" ", headers=headers)
    assert code_of(refused) == (413, "body-too-large")

    async def pieces() -> Any:
        yield fits
        yield b" "

    refused = await desk.ask("POST", path, content=pieces(), headers=headers)
    assert code_of(refused) == (413, "body-too-large")
    assert (await desk.ask("GET", desk.links)).json()["total"] == 1


# QR codes


def read_code(pixels: bytes, width: int) -> str:
    """What a reader of QR codes makes of grey pixels."""
    picture = memoryview(pixels).cast("B", (len(pixels) // width, width))
    [found] = zxingcpp.read_barcodes(picture)
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    text: str = found.text
    return text


def read_svg(image: bytes, dark: str = "#000000") -> str:
    """Draws the runs of dark modules, 4 pixels a module."""
    text = image.decode()
    modules = int(re.search(r'viewBox="0 0 (\d+) \1"', text)[1])  # type: ignore[index]
    rows = [bytearray(b"\xff" * modules) for _ in range(modules)]
    drawn = re.search(rf'<path fill="{dark}" d="([^"]+)"', text)
    assert drawn is not None
    for x, y, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", drawn[1]):
        for column in range(int(x), int(x) + int(length)):
            rows[int(y)][column] = 0
    large = [bytes(value for value in row for _ in range(4)) for row in rows for _ in range(4)]
    return read_code(b"".join(large), 4 * modules)


def read_png(image: bytes) -> tuple[str, int, int]:
    """What it says, its width and its height."""
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(image):
        (size,) = struct.unpack_from(">I", image, place)
        kind = image[place + 4 : place + 8]
        chunks[kind] = chunks.get(kind, b"") + image[place + 8 : place + 8 + size]
        place += 12 + size
    width, height, depth, colours = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert (depth, colours) == (1, 3)
    palette = chunks[b"PLTE"]
    grey = [sum(palette[0:3]) // 3, sum(palette[3:6]) // 3]
    data = zlib.decompress(chunks[b"IDAT"])
    line = (width + 7) // 8 + 1
    pixels = bytes(
        grey[data[y * line + 1 + x // 8] >> (7 - x % 8) & 1]
        for y in range(height)
        for x in range(width)
    )
    return read_code(pixels, width), width, height


async def test_a_qr_code_says_the_short_url(place):
    link = await place.make()
    svg = await place.get(link, "/qr")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert read_svg(svg.content) == link["short_url"]
    png = await place.get(link, "/qr?format=png&size=100")
    assert png.headers["content-type"] == "image/png"
    assert read_png(png.content) == (link["short_url"], 100, 100)


@on_sqlite
async def test_qr_codes_of_every_style_can_be_read(desk):
    link = await desk.make()
    for query in (
        "size=64",
        "size=200&error=L",
        "error=Q&margin=1&size=128",
        "error=H&margin=16&size=256",
        "dark=%23112233&light=%23ffeedd&size=128",
        "light=transparent&size=128",
    ):
        png = await desk.get(link, f"/qr?format=png&{query}")
        assert read_png(png.content)[0] == link["short_url"], query
        svg = await desk.get(link, f"/qr?format=svg&{query}")
        dark = "#112233" if "dark" in query else "#000000"
        if "margin=1&" not in query:
            assert read_svg(svg.content, dark) == link["short_url"], query


@on_sqlite
async def test_other_qr_styles_are_refused(desk):
    link = await desk.make()
    for query in (
        "format=gif",
        "size=63",
        "size=2049",
        "size=x",
        "margin=-1",
        "margin=17",
        "error=X",
        "dark=red",
        "dark=%23000",
        "dark=%23000000%22/%3E",
        "light=none",
        "url=https://evil.example",
        "dark=%23ffffff",
    ):
        assert (await desk.get(link, f"/qr?{query}")).status_code == 422, query


async def test_a_tag_that_is_no_text_is_refused_and_found_nowhere(client, people):
    person = await people.add()
    for method, path in (
        ("PATCH", "/api/v1/tags/a%00b"),
        ("DELETE", "/api/v1/tags/a%00b"),
        ("GET", "/api/v1/links?tag=a%00b"),
    ):
        body = {"tag": "fine"} if method == "PATCH" else None
        answer = await client.request(method, path, json=body, headers=person.headers)
        assert (method, answer.status_code) == (method, 422)
