"""Claiming a link takes its token: a code or a URL proves nothing."""

import random
import secrets
import string
from datetime import timedelta
from typing import Any

import pytest

from kurz.links.model import Status
from kurz.safety.audit import OPERATOR
from kurz.storage.ending.reaping import SqlReaperStore
from support.claims import LINKS, NOTHING, URL, proof

# With the token


async def test_with_its_token_the_link_itself_becomes_permanent_and_owned(browser, ada, clock):
    link = await browser.make()
    clock.advance(hours=1)
    [result] = await browser.claim(ada, proof(link))
    assert result["result"] == "claimed"
    assert result["problem"] is None
    changed = {
        "link_type": "PERMANENT",
        "expires_at": None,
        "owner_id": ada.id,
        "version": 2,
        "updated_at": "2026-03-01T13:00:00Z",
    }
    del link["claim_token"]
    assert result["link"] == link | changed
    shown = await browser.client.get(f"{LINKS}/{link['id']}", headers=ada.headers)
    assert shown.json() == result["link"]
    assert len(await browser.rows()) == 1


async def test_only_the_token_tells_that_a_link_leads_where_none_may(browser, ada, eve):
    link = await browser.make()
    await browser.kurz.bans.ban_host("example.com", None, OPERATOR)
    before = await browser.row(link)
    wrong = proof(link, claim_token=secrets.token_urlsafe(32))
    unknown = proof(link, short_code="nothing")
    assert await browser.claim(eve, wrong) == await browser.claim(eve, unknown) == [NOTHING]
    [refused] = await browser.claim(ada, proof(link))
    assert refused["result"] == "not_claimed"
    assert refused["problem"]["type"] == "/api/problems/destination-refused"
    assert await browser.row(link) == before


async def test_a_claimed_link_answers_beyond_8_hours_and_others_do_not(browser, ada, clock):
    mine, other = await browser.make(), await browser.make()
    await browser.claim(ada, proof(mine))
    assert [await browser.status_of(link) for link in (mine, other)] == [302, 302]
    clock.advance(hours=8)
    assert [await browser.status_of(link) for link in (mine, other)] == [302, 410]
    clock.advance(days=3650)
    assert [await browser.status_of(link) for link in (mine, other)] == [302, 410]


async def test_a_link_that_was_called_expired_while_a_clock_was_ahead_can_be_claimed(
    kurz, browser, ada, clock
):
    link, late = await browser.make(), await browser.make()
    reaper = SqlReaperStore(kurz.database, clock, timedelta(days=365))
    assert await reaper.mark_expired(clock.now() + timedelta(hours=9), 10) == 2
    [result] = await browser.claim(ada, proof(link))
    assert (result["result"], result["link"]["status"]) == ("claimed", "ACTIVE")
    assert {row["short_code"]: row["status"] for row in await browser.rows()} == {
        link["short_code"]: "ACTIVE",
        late["short_code"]: "EXPIRED",
    }
    clock.advance(hours=8)
    assert await browser.claim(ada, proof(late)) == [NOTHING]
    assert await browser.status_of(link) == 302


async def test_the_claim_is_in_the_links_history(browser, ada):
    link = await browser.make()
    await browser.claim(ada, proof(link))
    answer = await browser.client.get(f"{LINKS}/{link['id']}/history", headers=ada.headers)
    [entry] = answer.json()["history"]
    assert (entry["action"], entry["account_id"], entry["version"]) == ("claim", ada.id, 2)
    assert link["claim_token"] not in answer.text


async def test_a_claimed_link_is_in_the_list_of_its_owner_only(browser, ada, eve):
    link = await browser.make()
    await browser.claim(ada, proof(link))
    hers = await browser.client.get(LINKS, headers=ada.headers)
    assert [item["id"] for item in hers.json()["links"]] == [link["id"]]
    others = await browser.client.get(LINKS, headers=eve.headers)
    assert others.json()["links"] == []
    hidden = await browser.client.get(f"{LINKS}/{link['id']}", headers=eve.headers)
    assert hidden.status_code == 404


async def test_until_a_link_expires_it_can_be_claimed(browser, ada, clock):
    link = await browser.make(expires_in=10)
    clock.advance(seconds=9, milliseconds=999)
    assert (await browser.claim(ada, proof(link)))[0]["result"] == "claimed"
    link = await browser.make(expires_in=10)
    clock.advance(seconds=10)
    assert await browser.claim(ada, proof(link)) == [NOTHING]


# Without a proof


@pytest.mark.parametrize(
    "change",
    [
        {"claim_token": "x"},
        {"claim_token": ""},
        {"claim_token": None},
        {"claim_token": "\u00e9\ufffd"},
        {"short_code": "unknown"},
        {"short_code": ""},
        {"short_code": "../admin"},
        {"short_code": "a" * 5000},
        {"short_code": None},
        {"claim_token": "x" * 5000},
    ],
    ids=repr,
)
@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_wrong_proof_claims_nothing(browser, ada, change):
    link = await browser.make()
    assert await browser.claim(ada, proof(link) | change) == [NOTHING]
    row = await browser.row(link)
    assert (row["owner_id"], row["version"], row["link_type"]) == (None, 1, "TEMPORARY")
    assert len(await browser.rows()) == 1


async def test_every_refusal_looks_the_same(browser, ada, eve, clock, add_link):
    """Whether a code exists, whose it is or what state it is in stays hidden."""
    lost = await browser.make(expires_in=1)
    clock.advance(seconds=1)
    taken, live, paused, deleted, banned = [await browser.make() for _ in range(5)]
    await browser.claim(ada, proof(taken))
    for link, status in (
        (paused, Status.PAUSED),
        (deleted, Status.DELETED),
        (banned, Status.BANNED),
    ):
        await browser.set_status(link, status)
    hers = await add_link(owner_id=ada.id)
    items = [
        proof(lost),
        proof(taken),
        proof(paused),
        proof(deleted),
        proof(banned),
        proof(live, claim_token=secrets.token_urlsafe(32)),
        proof(live, claim_token=taken["claim_token"]),
        proof(taken, claim_token=live["claim_token"]),
        {"short_code": live["short_code"]},
        {"claim_token": live["claim_token"]},
        {"short_code": hers.short_code, "claim_token": live["claim_token"]},
        {"short_code": "unknown", "claim_token": live["claim_token"]},
        {},
    ]
    before = await browser.rows()
    assert await browser.claim(eve, *items) == [NOTHING] * len(items)
    assert await browser.rows() == before


async def test_code_and_url_without_the_token_make_another_link(browser, eve, clock):
    link = await browser.make()
    before = await browser.row(link)
    results = await browser.claim(
        eve,
        {"short_code": link["short_code"], "original_url": URL},
        proof(link, claim_token=secrets.token_urlsafe(32), original_url=f"{URL}2"),
    )
    assert [item["result"] for item in results] == ["created", "created"]
    assert all(item["link"]["short_code"] != link["short_code"] for item in results)
    assert await browser.row(link) == before
    clock.advance(hours=8)
    assert await browser.status_of(link) == 410
    assert await browser.status_of(results[0]["link"]) == 302


async def test_a_url_alone_makes_a_permanent_link_to_it(browser, ada):
    [result] = await browser.claim(ada, {"original_url": URL})
    made = result["link"]
    assert result["result"] == "created"
    assert (made["link_type"], made["expires_at"]) == ("PERMANENT", None)
    assert (made["owner_id"], made["original_url"]) == (ada.id, URL)
    assert "claim_token" not in made
    redirect = await browser.client.get(f"/{made['short_code']}")
    assert redirect.headers["location"].endswith("/a/page?x=1#part")


async def test_a_url_that_cannot_be_shortened_is_a_result_of_its_own(browser, ada):
    results = await browser.claim(
        ada,
        {"original_url": "ftp://example.com"},
        {"original_url": "http://kurz.test/loop"},
        {"original_url": URL},
    )
    assert [item["result"] for item in results] == ["not_claimed", "not_claimed", "created"]
    assert results[0]["problem"]["type"] == "/api/problems/url-refused"
    assert results[0]["problem"]["status"] == 422


async def test_the_proof_counts_not_the_url_beside_it(browser, ada):
    """What the browser remembers as URL may be spelled otherwise, or be wrong."""
    link = await browser.make()
    [result] = await browser.claim(ada, proof(link, original_url="https://elsewhere.example/"))
    assert result["result"] == "claimed"
    assert result["link"]["original_url"] == URL
    assert len(await browser.rows()) == 1


async def test_a_thousand_guesses_claim_nothing(browser, eve, engine):
    """Tokens near the right one, tokens of other links, and noise."""
    mine = [await browser.make() for _ in range(3)]
    dice = random.Random(10)
    letters = string.ascii_letters + string.digits + "-_"

    def guess() -> dict[str, Any]:
        link, other = dice.choice(mine), dice.choice(mine)
        token = link["claim_token"]
        place = dice.randrange(len(token))
        return dice.choice(
            [
                proof(link, claim_token=token[:place] + token[place + 1 :]),
                proof(link, claim_token=token[:place] + "!" + token[place + 1 :]),
                proof(link, claim_token=token.swapcase()),
                proof(link, claim_token=f" {token}"),
                proof(link, claim_token=f"{token}="),
                proof(link, claim_token=f"{token}\0"),
                proof(link, claim_token="".join(dice.choices(letters, k=43))),
                proof(link, short_code=link["short_code"].swapcase()),
                proof(link, short_code=link["short_code"] + "+"),
                proof(link, short_code="%")
                if other is link
                else proof(link, claim_token=other["claim_token"]),
            ]
        )

    before = await browser.rows()
    for _ in range(11 if engine == "sqlite" else 3):
        items = [guess() for _ in range(100)]
        assert await browser.claim(eve, *items) == [NOTHING] * 100
    assert await browser.rows() == before
    for link in mine:
        assert (await browser.claim(eve, proof(link)))[0]["result"] == "claimed"
