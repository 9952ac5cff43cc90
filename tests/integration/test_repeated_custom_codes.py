"""The same custom code for the same URL again is the same link, so that a script can run twice."""

import asyncio
from typing import Any

import httpx2
import pytest

from kurz.links.model import Status
from support.desk import URL, Desk, code_of
from support.engines import without_redis

engine = without_redis  # which has no part in it

SAME = "HTTPS://example.com:443/page/#part"  # the same canonical URL
OTHER = "https://example.com/other"
TAKEN = (409, "custom-code-taken")


async def ask(desk: Desk, url: str = URL, **body: Any) -> httpx2.Response:
    return await desk.ask(
        "POST", desk.links, json={"original_url": url, "custom_code": "deploy"} | body
    )


async def test_the_existing_link_is_returned_unchanged(place):
    made = await place.make(custom_code="deploy", title="first", tags=["a"])
    for url in (URL, SAME):
        again = await ask(place, url, title="second", expires_in=60, max_clicks=1)
        assert (again.status_code, again.json() | {"claim_token": None}) == (
            200,
            made | {"claim_token": None},
        )
        assert again.headers["etag"] == f'"{made["version"]}"'
    [bulk] = await place.bulk(
        {"action": "create", "link": {"original_url": URL, "custom_code": "deploy"}}
    )
    assert (bulk["status"], bulk["link"]["id"]) == (200, made["id"])


async def test_another_url_finds_the_code_taken(place):
    await place.make(custom_code="deploy")
    assert code_of(await ask(place, OTHER)) == TAKEN


async def test_an_edited_link_is_known_by_the_url_it_leads_to_now(place):
    made = await place.make(OTHER, custom_code="deploy")
    assert (await place.edit(made, original_url=URL)).status_code == 200
    assert (await ask(place)).json()["id"] == made["id"]
    assert code_of(await ask(place, OTHER)) == TAKEN


@pytest.mark.parametrize("end", ["deleted", "expired"])
async def test_a_link_that_ended_comes_back_with_the_fields_of_the_request(place, end, clock):
    made = await place.make(custom_code="deploy", title="first", expires_in=3600)
    if end == "deleted":
        assert (await place.delete(made)).status_code == 204
    else:
        clock.advance(hours=2)
    again = await ask(place, title="second")
    assert again.status_code == 201
    link = again.json()
    assert (link["id"], link["status"], link["title"]) == (made["id"], "ACTIVE", "second")
    assert (link["expires_at"], link["deleted_at"]) == (None, None)
    assert (await place.follow(link)).status_code == 302


async def test_a_banned_link_keeps_its_code_taken(place, kurz):
    made = await place.make(custom_code="deploy")
    link = await kurz.links.get_by_code(place.workspace_id or 0, made["short_code"])
    await kurz.store.update(link, {"status": Status.BANNED}, kurz.clock.now())
    assert code_of(await ask(place)) == TAKEN


async def test_at_the_root_nobody_is_given_the_link_of_another(desk, people, client):
    stranger = Desk(desk.kurz, client, await people.add(), None)
    made = await desk.make(custom_code="deploy")
    assert code_of(await ask(stranger)) == TAKEN
    await desk.delete(made)
    assert code_of(await ask(stranger)) == TAKEN


async def test_workspaces_have_their_own_codes(desk, team):
    mine, shared = await desk.make(custom_code="deploy"), await team.make(custom_code="deploy")
    assert [(await ask(it)).json()["id"] for it in (desk, team)] == [mine["id"], shared["id"]]


async def test_repeating_it_spends_no_quota(connect, desk):
    desk.client = await connect(links_per_month=1)
    assert [(await ask(desk)).status_code for _ in range(3)] == [201, 200, 200]
    assert code_of(await ask(desk, OTHER, custom_code="next")) == (429, "quota-exceeded")


async def test_of_many_at_once_one_creates_it(place):
    answers = await asyncio.gather(*(ask(place, title=str(number)) for number in range(20)))
    assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len({answer.json()["title"] for answer in answers}) == 1


async def test_an_idempotency_key_changes_nothing_about_it(place):
    await place.make(custom_code="deploy")
    for _ in range(2):
        answer = await place.ask(
            "POST",
            place.links,
            json={"original_url": URL, "custom_code": "deploy"},
            headers={"idempotency-key": "once"},
        )
        assert answer.status_code == 200
