"""`/api/urls/sync`: claims by the path of ADMA."""

import asyncio
from typing import Any

import pytest

from support.claims import URL, Browser
from support.people import Person


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
