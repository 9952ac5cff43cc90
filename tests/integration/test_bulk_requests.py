"""Many acts on links in one request."""

from collections import Counter
from typing import Any

import pytest

from support.desk import URL, code_of
from support.engines import sqlite_first, usually_on

engine = sqlite_first  # the contracts of links and of their store are tried on every engine

on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
REFUSED = (422, "request-refused")


async def test_a_list_of_acts_has_a_result_for_each(place):
    kept, edited, deleted, trashed = [await place.make(f"{URL}/{n}") for n in range(4)]
    await place.delete(trashed)
    results = await place.bulk(
        {"action": "create", "link": {"original_url": f"{URL}/new", "tags": ["x"]}},
        {"action": "edit", "id": edited["id"], "changes": {"title": "t", "notes": None}},
        {"action": "delete", "id": deleted["id"], "version": 1},
        {"action": "restore", "id": trashed["id"]},
        {"action": "edit", "id": kept["id"], "changes": {"title": "x"}, "version": 9},
        {"action": "create", "link": {"original_url": "ftp://example.com"}},
        {"action": "create", "link": {"original_url": URL, "custom_code": "api"}},
        {"action": "delete", "id": trashed["id"] + 1 if trashed["id"] + 1 < 2**53 else 0},
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
        {"action": "fly"},
        {"action": "create"},
        {"action": "create", "link": {}},
        {"action": "create", "link": {"original_url": URL, "owner_id": 1}},
        {"action": "create", "link": URL},
        {"action": "edit", "id": link["id"]},
        {"action": "edit", "id": link["id"], "changes": {}},
        {"action": "edit", "id": link["id"], "changes": {"forward_query": None}},
        {"action": "edit", "changes": {"title": "x"}},
        {"action": "delete"},
        {"action": "delete", "id": str(link["id"])},
        {"action": "delete", "id": link["id"], "version": 0},
        {"action": "delete", "id": -1},
        {"action": "delete", "id": 2**53},
        {"action": "restore", "id": None},
        {"action": "delete", "id": link["id"], "reason": "x"},
    ]
    good = {"action": "create", "link": {"original_url": URL}}
    results = await desk.bulk(*items, good)
    assert [item["status"] for item in results] == [422] * len(items) + [201]
    assert (await desk.get(link)).json() == link


@on_sqlite
async def test_fields_that_an_act_does_not_take_are_refused(desk):
    """Or somebody believes that they did something."""
    link = await desk.make()
    made = {"original_url": URL}
    results = await desk.bulk(
        {"action": "create", "link": made, "id": link["id"]},
        {"action": "create", "link": made, "version": 1},
        {"action": "create", "link": made, "changes": {"title": "x"}},
        {"action": "delete", "id": link["id"], "changes": {"title": "x"}},
        {"action": "restore", "id": link["id"], "link": made},
        {"action": "edit", "id": link["id"], "changes": {"title": "x"}, "link": made},
    )
    assert [item["status"] for item in results] == [422] * 6
    assert (await desk.get(link)).json() == link
    assert (await desk.ask("GET", desk.links)).json()["total"] == 1


@usually_on("postgres")
async def test_a_thousand_items_are_done_and_one_more_is_refused(desk):
    made = await desk.bulk(
        *({"action": "create", "link": {"original_url": f"{URL}/{n}"}} for n in range(400))
    )
    ids = [item["link"]["id"] for item in made]
    acts: list[dict[str, Any]] = [
        {"action": "create", "link": {"original_url": f"{URL}/{n}", "tags": [f"{n % 3}"]}}
        for n in range(400)
    ]
    acts += [{"action": "edit", "id": link_id, "changes": {"title": "t"}} for link_id in ids[:200]]
    acts += [{"action": "delete", "id": link_id} for link_id in ids[200:]]
    acts += [{"action": "create", "link": {"original_url": "no URL"}} for _ in range(200)]
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
    edit = {"action": "edit", "id": link["id"], "changes": {"notes": "n"}}
    results = await desk.bulk(*[edit] * 1000)
    assert {item["status"] for item in results} == {200}
    assert (await desk.get(link)).json()["version"] == 1001


async def test_one_code_twice_in_a_request_is_given_once(place):
    def wanted(url: str) -> dict[str, Any]:
        return {"action": "create", "link": {"original_url": url, "custom_code": "wanted"}}

    results = await place.bulk(*[wanted(f"{URL}/{number}") for number in range(3)])
    assert Counter(item["status"] for item in results) == {201: 1, 409: 2}


async def test_one_code_and_url_twice_in_a_request_are_one_link(place):
    item = {"action": "create", "link": {"original_url": URL, "custom_code": "wanted"}}
    results = await place.bulk(item, item, item)
    assert Counter(item["status"] for item in results) == {201: 1, 200: 2}
    assert len({item["link"]["id"] for item in results}) == 1


async def test_one_url_twice_in_a_workspaces_request_is_one_link(team):
    item = {"action": "create", "link": {"original_url": URL}}
    results = await team.bulk(*[item] * 10)
    assert Counter(item["status"] for item in results) == {201: 1, 200: 9}
    assert len({item["link"]["id"] for item in results}) == 1


@on_sqlite
async def test_a_body_has_at_most_a_mebibyte(desk):
    start = b'{"items":[{"action":"create","link":{"original_url":"https://example.com"}}]}'
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


@on_sqlite
async def test_new_links_of_a_request_share_transactions(desk, kurz):
    before = kurz.database.counts()["database_writes"]
    items = [{"action": "create", "link": {"original_url": f"{URL}/{n}"}} for n in range(1000)]
    results = await desk.bulk(*items)
    assert {item["status"] for item in results} == {201}
    assert len({item["link"]["short_code"] for item in results}) == 1000
    assert kurz.database.counts()["database_writes"] - before < 20


async def test_new_links_among_others_get_the_answers_of_single_creates(place):
    """Around the edge of a batch, too."""
    taken = await place.make(f"{URL}/taken", custom_code="taken")
    acts: dict[int, tuple[dict[str, Any], int]] = {
        0: ({"custom_code": "taken"}, 409),
        1: ({"original_url": f"{URL}/taken", "custom_code": "taken"}, 200),
        248: ({"original_url": "javascript:alert(1)"}, 422),
        249: ({"tags": ["x"], "title": "t", "expires_in": 60}, 201),
        250: ({"owner": 1}, 422),
        251: ({"strategy": "counter"}, 201),
        299: ({"custom_code": "wanted"}, 201),
    }
    results = await place.bulk(
        *(
            {"action": "create", "link": {"original_url": f"{URL}/{n}"} | acts.get(n, ({}, 0))[0]}
            for n in range(300)
        )
    )
    for number, item in enumerate(results):
        assert item["status"] == acts.get(number, ({}, 201))[1]
        if item["status"] == 201:
            assert (await place.get(item["link"])).json() == item["link"]
            assert item["link"]["original_url"] == f"{URL}/{number}"
    assert results[1]["link"]["id"] == taken["id"]
    assert results[299]["link"]["short_code"] == "wanted"
