"""Editing links over HTTP: what changes, what is refused, and edits of the same version."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from kurz.links.model import Scope, Status
from support.desk import URL, code_of
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
REFUSED = (422, "request-refused")
OUTDATED = (412, "version-outdated")


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
