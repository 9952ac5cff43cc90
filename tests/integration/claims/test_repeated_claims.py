"""Claims that are repeated, or made by several people."""

import asyncio

import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import history
from support.claims import LINKS, NOTHING, URL, proof


async def test_who_claims_first_keeps_the_link(browser, ada, eve):
    link = await browser.make()
    await browser.claim(ada, proof(link))
    assert await browser.claim(eve, proof(link)) == [NOTHING]
    [result] = await browser.claim(eve, proof(link, original_url=URL))
    assert result["result"] == "created"
    assert result["link"]["owner_id"] == eve.id
    assert (await browser.row(link))["owner_id"] == ada.id


async def test_a_claimed_link_stays_its_owners_when_it_expires_again(browser, ada, eve, clock):
    """The token was used up, also for a link that has an end once more, or comes back from it."""
    link = await browser.make()
    await browser.claim(ada, proof(link))
    path = f"{LINKS}/{link['id']}"
    await browser.client.patch(path, json={"expires_in": 3600}, headers=ada.headers)
    assert await browser.claim(eve, proof(link)) == [NOTHING]
    clock.advance(hours=2)
    assert await browser.claim(eve, proof(link)) == [NOTHING]
    await browser.client.post(f"{path}/restore", headers=ada.headers)
    assert await browser.claim(eve, proof(link)) == [NOTHING]
    assert (await browser.row(link))["owner_id"] == ada.id


async def test_a_repeated_claim_gives_the_same_links(browser, ada):
    link = await browser.make()
    items = [
        proof(link, original_url=URL),
        {"original_url": f"{URL}2"},
        {"original_url": "ftp://example.com"},
        {"short_code": "nothing", "claim_token": "x"},
    ]
    first = await browser.claim(ada, *items)
    assert await browser.claim(ada, *items) == first
    assert await browser.claim(ada, *items, *items) == first + first
    assert len(await browser.rows()) == 2


async def test_each_person_gets_a_link_of_their_own_for_a_url(browser, ada, eve):
    [hers] = await browser.claim(ada, {"original_url": URL})
    [others] = await browser.claim(eve, {"original_url": URL})
    assert hers["link"]["id"] != others["link"]["id"]
    assert (await browser.claim(ada, {"original_url": URL})) == [hers]


async def test_links_made_otherwise_are_not_what_a_claim_gives(browser, ada):
    made = await browser.client.post(LINKS, json={"original_url": URL}, headers=ada.headers)
    [result] = await browser.claim(ada, {"original_url": URL})
    assert result["link"]["id"] != made.json()["id"]


async def test_a_claim_after_an_edit_gives_the_link_as_it_is(browser, ada):
    link = await browser.make()
    await browser.claim(ada, proof(link))
    path = f"{LINKS}/{link['id']}"
    edited = await browser.client.patch(path, json={"title": "Mine"}, headers=ada.headers)
    [result] = await browser.claim(ada, proof(link))
    assert result == {"result": "claimed", "link": edited.json(), "problem": None}


@pytest.mark.parametrize("kind", ["token", "url", "both"])
async def test_twenty_claims_at_once_give_one_link(browser, ada, kind):
    link = await browser.make()
    items = {
        "token": [proof(link)],
        "url": [{"original_url": URL}],
        "both": [proof(link), {"original_url": URL}],
    }
    answers = await asyncio.gather(*(browser.send(ada, *items[kind]) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    results = answers[0].json()["results"]
    assert all(item["link"]["owner_id"] == ada.id for item in results)
    assert len(await browser.rows()) == (1 if kind == "token" else 2)
    query = sa.select(sa.func.count()).where(history.c.action == "claim")
    claims = await browser.kurz.database.read(lambda it: it.execute(query).scalar_one())
    assert claims == (0 if kind == "url" else 1)


async def test_of_many_people_at_once_one_gets_the_link(browser, people):
    link = await browser.make()
    persons = [await people.add() for _ in range(8)]
    answers = await asyncio.gather(*(browser.send(person, proof(link)) for person in persons))
    results = [answer.json()["results"][0]["result"] for answer in answers]
    assert sorted(results) == ["claimed"] + ["not_claimed"] * 7
    winner = persons[results.index("claimed")]
    row = await browser.row(link)
    assert (row["owner_id"], row["version"]) == (winner.id, 2)
