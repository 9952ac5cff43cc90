"""An `Idempotency-Key` on links that exist already, and on many links in one request."""

from dataclasses import replace
from typing import Any

from kurz.links.model import Status
from kurz.storage.schema.links import links, receipts
from support.desk import code_of
from support.idempotency import LINKS, REUSED, URL, WAYS, Way, count, json_body, rows, whole

# Deterministic links


async def test_a_key_on_an_existing_link_is_kept_too(world):
    """Nothing was made, and still the key stands for this request."""
    way = WAYS["a workspace's link"]
    made = await world.send(way, {})
    found = await world.send(way)
    assert (made.status_code, found.status_code) == (201, 200)
    retry = await world.send(way)
    assert whole(retry) == whole(found)
    assert retry.headers["idempotency-replayed"] == "true"
    other = replace(way, sent=json_body(original_url=f"{URL}/2"))
    assert code_of(await world.send(other)) == REUSED
    assert await world.made(links) == 1


async def test_a_retry_of_a_revival_does_not_revive_again(world):
    way = WAYS["a workspace's link"]
    made = (await world.send(way, {})).json()
    path = f"/api/v1/workspaces/{made['workspace_id']}/links/{made['id']}"
    owner = world.owner.headers
    await world.client.delete(path, headers=owner)
    revived = await world.send(way)
    assert revived.status_code == 201
    await world.client.delete(path, headers=owner)
    assert whole(await world.send(way)) == whole(revived)
    [row] = await rows(world.kurz, links)
    assert row["status"] == Status.DELETED


# Many links in one request


async def test_items_that_failed_are_done_when_the_request_is_sent_again(world):
    way = WAYS["many links"]
    taken = await world.send(
        Way(LINKS, json_body(original_url=URL, custom_code="chosen"), {}, links), {}
    )
    first = (await world.send(way)).json()["results"]
    assert [item["status"] for item in first] == [201, 422, 409]
    path = f"{LINKS}/{taken.json()['id']}"
    moved = await world.client.patch(
        path, json={"custom_code": "moved"}, headers=world.owner.headers
    )
    assert moved.status_code == 200
    second = (await world.send(way)).json()["results"]
    assert [item["status"] for item in second] == [201, 422, 201]
    assert second[0] == first[0]
    assert (await world.send(way)).json()["results"] == second
    assert await world.made(links) == 3


def _bulk(*items: dict[str, Any]) -> Way:
    return Way(f"{LINKS}/bulk", {"json": {"items": [*items]}}, {}, links)


async def test_a_changed_list_does_nothing_at_all(world):
    """Neither items that the first list did not have, nor ones that failed then, nor edits."""
    made = (await world.send(WAYS["a link"], {})).json()
    good = {"action": "create", "link": {"original_url": URL}}
    bad = {"action": "create", "link": {"original_url": "nonsense"}}
    assert (await world.send(_bulk(good, bad))).status_code == 200
    assert await world.made(links) == 2
    for items in (
        [good, good],
        [good, bad, good],
        [bad, good],
        [{"action": "delete", "id": made["id"]}],
        [good, bad, {"action": "edit", "id": made["id"], "changes": {"title": "x"}}],
        [good],
    ):
        assert code_of(await world.send(_bulk(*items))) == REUSED
    assert await world.made(links) == 2
    shown = await world.client.get(f"{LINKS}/{made['id']}", headers=world.owner.headers)
    assert shown.json()["version"] == 1


async def test_a_list_that_made_nothing_keeps_its_key_too(world):
    bad = {"action": "create", "link": {"original_url": "nonsense"}}
    good = {"action": "create", "link": {"original_url": URL}}
    assert (await world.send(_bulk(bad))).status_code == 200
    assert (await world.send(_bulk(bad))).status_code == 200
    assert code_of(await world.send(_bulk(good))) == REUSED
    assert await world.made(links) == 0


async def test_a_key_of_one_link_is_none_for_a_list(world):
    await world.send(WAYS["a link"])
    assert code_of(await world.send(WAYS["many links"])) == REUSED
    assert await world.made(links) == 1


async def test_a_list_without_a_key_is_done_as_often_as_it_is_sent(world):
    for _ in range(2):
        assert (
            await world.send(_bulk({"action": "create", "link": {"original_url": URL}}), {})
        ).text
    assert await world.made(links) == 2
    assert await count(world.kurz, receipts) == 0
