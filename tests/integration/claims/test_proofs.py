"""Claims: making links one's own that were made without an account. A token proves, a URL does
not."""

import asyncio
import random
import secrets
import string
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.links.model import Scope, Status
from kurz.people.access import Permission
from kurz.safety.audit import OPERATOR
from kurz.storage.reaping import SqlReaperStore
from kurz.storage.schema import history, links
from support.engines import redis_in_the_long_run
from support.people import PASSWORD, Person

engine = redis_in_the_long_run

URL = "https://Example.com/a/page?x=1#part"
LINKS = "/api/v1/links"
CLAIMS = "/api/v1/claims"
NOT_FOUND = {
    "type": "/api/problems/link-not-found",
    "title": "Link not found",
    "status": 404,
    "detail": "Links cannot be claimed here.",
}
NOTHING = {"result": "not_claimed", "link": None, "problem": NOT_FOUND}


class Browser:
    """Makes anonymous links and claims them."""

    def __init__(self, kurz: Kurz, client: httpx2.AsyncClient) -> None:
        self.kurz = kurz
        self.client = client

    async def make(self, url: str = URL, **body: Any) -> dict[str, Any]:
        answer = await self.client.post(LINKS, json={"original_url": url} | body)
        assert answer.status_code == 201
        link: dict[str, Any] = answer.json()
        return link

    async def send(self, person: Person, *items: dict[str, Any]) -> httpx2.Response:
        return await self.client.post(CLAIMS, json={"items": [*items]}, headers=person.headers)

    async def claim(self, person: Person, *items: dict[str, Any]) -> list[dict[str, Any]]:
        answer = await self.send(person, *items)
        assert answer.status_code == 200, answer.text
        results: list[dict[str, Any]] = answer.json()["results"]
        assert len(results) == len(items)
        return results

    async def rows(self) -> list[dict[str, Any]]:
        query = sa.select(links).order_by(links.c.id)
        return await self.kurz.database.read(
            lambda it: [dict(row) for row in it.execute(query).mappings()]
        )

    async def row(self, link: dict[str, Any]) -> dict[str, Any]:
        [found] = [row for row in await self.rows() if row["short_code"] == link["short_code"]]
        return found

    async def status_of(self, link: dict[str, Any]) -> int:
        return (await self.client.get(f"/{link['short_code']}")).status_code

    async def set_status(self, link: dict[str, Any], status: Status) -> None:
        stored = await self.kurz.links.get(link["id"], Scope())
        changed = await self.kurz.store.update(stored, {"status": status}, self.kurz.clock.now())
        assert changed is not None


@pytest.fixture
def browser(kurz: Kurz, client: httpx2.AsyncClient) -> Browser:
    return Browser(kurz, client)


@pytest.fixture
async def ada(people) -> Person:
    person: Person = await people.add("ada@example.com")
    return person


@pytest.fixture
async def eve(people) -> Person:
    person: Person = await people.add("eve@example.com")
    return person


def proof(link: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"short_code": link["short_code"], "claim_token": link["claim_token"]} | more


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
    assert await reaper.mark(clock.now() + timedelta(hours=9), 10) == 2
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
    assert (entry["act"], entry["account_id"], entry["version"]) == ("claim", ada.id, 2)
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


# Again, and by others


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
    query = sa.select(sa.func.count()).where(history.c.act == "claim")
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


# The request


async def test_a_request_has_1_to_100_items(browser, ada):
    item = {"original_url": URL}
    assert len(await browser.claim(ada, *[item] * 100)) == 100
    for items in ([], [item] * 101):
        refused = await browser.send(ada, *items)
        assert refused.status_code == 422
        assert refused.json()["type"] == "/api/problems/request-refused"
    assert len(await browser.rows()) == 1


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_unknown_fields_and_other_shapes_are_refused(browser, ada):
    bodies: list[Any] = [
        {"items": [{"url": URL}]},
        {"items": [{"original_url": URL, "code": "x"}]},
        {"items": [URL]},
        {"items": {"original_url": URL}},
        {"items": [{"original_url": 5}]},
        {"items": [{"original_url": URL}], "owner_id": 5},
        {},
        [],
    ]
    for body in bodies:
        answer = await browser.client.post(CLAIMS, json=body, headers=ada.headers)
        assert answer.status_code == 422, body
    assert await browser.rows() == []


async def test_a_claim_needs_somebody_who_may_change_links(browser, ada, people):
    link = await browser.make()
    body = {"items": [proof(link)]}
    assert (await browser.client.post(CLAIMS, json=body)).status_code == 401
    for permission in (Permission.LINKS_READ, Permission.LINKS_CREATE, Permission.STATS_READ):
        headers = {"x-api-key": await people.key(ada, permission)}
        refused = await browser.client.post(CLAIMS, json=body, headers=headers)
        assert refused.status_code == 403
    assert (await browser.row(link))["owner_id"] is None
    headers = {"x-api-key": await people.key(ada, Permission.LINKS_WRITE)}
    claimed = await browser.client.post(CLAIMS, json=body, headers=headers)
    assert claimed.json()["results"][0]["result"] == "claimed"


async def test_a_workspaces_key_claims_nothing(browser, ada, people):
    link = await browser.make()
    workspace = await people.workspace(ada)
    key = await people.key(ada, Permission.LINKS_WRITE, workspace_id=workspace.id)
    body = {"items": [proof(link, original_url=URL)]}
    refused = await browser.client.post(CLAIMS, json=body, headers={"x-api-key": key})
    assert refused.status_code == 403
    assert len(await browser.rows()) == 1


async def test_no_claim_is_answered_from_a_cache(browser, ada):
    link = await browser.make()
    answer = await browser.send(ada, proof(link))
    assert answer.headers["cache-control"] == "no-store"
    assert link["claim_token"] not in answer.text


# Signing in


async def test_signing_in_alone_moves_nothing(browser, ada):
    """In the same browser, from the same address, with its cookie."""
    link = await browser.make()
    before = await browser.rows()
    for path, body in (
        ("/api/v1/auth/register", {"email": "new@example.com", "password": PASSWORD}),
        ("/api/v1/auth/sign-in", {"email": "ada@example.com", "password": PASSWORD}),
        (
            "/api/v1/auth/sign-in",
            {"email": "ada@example.com", "password": PASSWORD, "as_cookie": True},
        ),
        ("/api/auth/login", {"email": "ada@example.com", "password": PASSWORD}),
    ):
        answer = await browser.client.post(path, json=body)
        assert answer.status_code in (200, 201), answer.text
        if token := answer.json().get("token"):
            headers = {"authorization": f"Bearer {token}"}
            browser.client.cookies.clear()
            for seen in (LINKS, "/api/urls", "/api/v1/me"):
                assert (await browser.client.get(seen, headers=headers)).status_code == 200
    assert await browser.rows() == before
    assert await browser.status_of(link) == 302


async def test_another_sites_page_cannot_claim_by_the_browsers_cookie(browser, ada):
    """A visitor signed in to an attacker's account must not hand over links unknowingly."""
    link = await browser.make()
    body = {"email": "ada@example.com", "password": PASSWORD, "as_cookie": True}
    signed_in = await browser.client.post("/api/v1/auth/sign-in", json=body)
    assert signed_in.status_code == 200
    for headers in (
        {"origin": "https://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://other.kurz.test"},
        {},
    ):
        sent = await browser.client.post(CLAIMS, json={"items": [proof(link)]}, headers=headers)
        assert sent.status_code == 403
        assert sent.json()["type"] == "/api/problems/request-forged"
    assert (await browser.row(link))["owner_id"] is None
    own = {"origin": "http://kurz.test", "sec-fetch-site": "same-origin"}
    sent = await browser.client.post(CLAIMS, json={"items": [proof(link)]}, headers=own)
    assert sent.json()["results"][0]["result"] == "claimed"


# The seed's path


async def _sync(browser: Browser, person: Person, *urls: Any) -> list[dict[str, Any]]:
    answer = await browser.client.post(
        "/api/urls/sync", json={"urls": [*urls]}, headers=person.headers
    )
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


async def test_sync_takes_strings_and_objects(browser, ada):
    link = (await browser.client.post("/api/urls/public", json={"originalUrl": URL})).json()
    remembered = {
        "originalUrl": URL,
        "shortCode": link["shortCode"],
        "claimToken": link["claimToken"],
    }
    synced = await _sync(browser, ada, remembered, f"{URL}2", {"originalUrl": f"{URL}3"})
    assert [item["originalUrl"] for item in synced] == [URL, f"{URL}2", f"{URL}3"]
    assert [item["shortCode"] == link["shortCode"] for item in synced] == [True, False, False]
    assert {item["linkType"] for item in synced} == {"PERMANENT"}
    assert {item["expiresAt"] for item in synced} == {None}
    assert {item["status"] for item in synced} == {"ACTIVE"}
    assert await _sync(browser, ada, remembered, f"{URL}2", {"originalUrl": f"{URL}3"}) == synced
    assert len(await browser.rows()) == 3


async def test_sync_and_claims_give_the_same_links(browser, ada):
    [claimed] = await browser.claim(ada, {"original_url": URL})
    [synced] = await _sync(browser, ada, URL)
    assert synced["id"] == claimed["link"]["id"]


async def test_sync_claims_nothing_without_the_token(browser, eve):
    link = await browser.make()
    before = await browser.row(link)
    synced = await _sync(
        browser,
        eve,
        URL,
        {"originalUrl": URL, "shortCode": link["short_code"]},
        {"originalUrl": URL, "shortCode": link["short_code"], "claimToken": "x"},
    )
    assert len({item["id"] for item in synced}) == 1
    assert synced[0]["shortCode"] != link["short_code"]
    assert await browser.row(link) == before


async def test_sync_leaves_out_what_cannot_be_shortened(browser, ada):
    synced = await _sync(browser, ada, "ftp://example.com", URL, "", "nonsense")
    assert [item["originalUrl"] for item in synced] == [URL]


@pytest.mark.parametrize("wrap", [list, lambda urls: {"urls": urls}], ids=["bare", "object"])
async def test_sync_takes_the_entries_that_public_returned(browser, ada, wrap):
    """As a page stored them, whole and without unpacking anything."""
    stored = [
        (await browser.client.post("/api/urls/public", json={"originalUrl": url})).json()
        for url in (URL, f"{URL}2")
    ]
    for _ in range(2):
        answer = await browser.client.post("/api/urls/sync", json=wrap(stored), headers=ada.headers)
        assert answer.status_code == 200, answer.text
        assert [item["shortCode"] for item in answer.json()] == [
            item["shortCode"] for item in stored
        ]
        assert {item["linkType"] for item in answer.json()} == {"PERMANENT"}
    assert len(await browser.rows()) == 2


@pytest.mark.parametrize("nothing", [[], {"urls": []}])
async def test_sync_of_nothing_is_nothing(browser, ada, nothing):
    answer = await browser.client.post("/api/urls/sync", json=nothing, headers=ada.headers)
    assert (answer.status_code, answer.json()) == (200, [])


async def test_the_dialect_ignores_fields_it_does_not_know(browser):
    answer = await browser.client.post("/api/urls/public", json={"originalUrl": URL, "userId": 5})
    assert answer.status_code == 201


async def test_sync_has_at_most_100_items_of_known_shape(browser, ada):
    assert len(await _sync(browser, ada, *[URL] * 100)) == 100
    for body, field in (
        ({"urls": [URL] * 101}, "urls"),
        ([URL] * 101, "urls"),
        ([5], "urls.0"),
        ({"urls": [None]}, "urls.0"),
        ([{"shortCode": "x"}], "urls.0.originalUrl"),
        ({"x": []}, "urls"),
        (5, "body"),
    ):
        answer = await browser.client.post("/api/urls/sync", json=body, headers=ada.headers)
        assert answer.status_code == 422
        assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert (await browser.client.post("/api/urls/sync", json={"urls": [URL]})).status_code == 401
    assert len(await browser.rows()) == 1


async def test_syncing_twenty_times_at_once_gives_one_link(browser, ada):
    answers = await asyncio.gather(*(_sync(browser, ada, URL) for _ in range(20)))
    assert all(answer == answers[0] for answer in answers)
    assert len(await browser.rows()) == 1
