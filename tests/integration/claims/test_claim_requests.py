"""Who may send claims, and what a request looks like."""

from typing import Any

import pytest

from kurz.people.access import Permission
from support.claims import CLAIMS, LINKS, URL, proof
from support.people import PASSWORD

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
