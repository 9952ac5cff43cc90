"""Deleting and restoring links over HTTP."""

import pytest

from support.desk import URL, code_of
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
NOT_FOUND = (404, "link-not-found")
REFUSED = (422, "request-refused")
OUTDATED = (412, "version-outdated")


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
    [result] = await place.bulk({"action": "restore", "id": link["id"], "version": 1})
    assert result["status"] == 412
    assert (await place.follow(link)).status_code == 404
    assert (await place.restore(link, headers={"if-match": '"2"'})).status_code == 200
