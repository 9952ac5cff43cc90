"""What counts towards a quota, and what does not."""

from collections import Counter
from typing import Any

import sqlalchemy as sa

from kurz.storage.schema.links import links
from support.desk import code_of
from support.quotas import EXCEEDED, LINKS, URL, Quota, set_quota


async def test_strangers_have_no_quota(kurz, connect):
    client = await connect(links_per_month=1)
    for _ in range(3):
        assert (await client.post(LINKS, json={"original_url": URL})).status_code == 201


async def test_a_create_that_fails_spends_nothing(quota):
    place = await quota(3)
    assert (await place.make(custom_code="taken")).status_code == 201
    failures: list[dict[str, Any]] = [
        {"custom_code": "taken", "url": f"{URL}/other"},
        {"custom_code": "no"},
        {"url": "ftp://example.com"},
        {"url": "http://kurz.test/loop"},
        {"expires_in": -1},
        {"nothing": "known"},
        {"tags": [""]},
    ]
    for body in failures:
        assert (await place.make(**body)).status_code in (409, 422)
    assert await place.spent() == 1
    assert [(await place.make()).status_code for _ in range(3)] == [201, 201, 429]
    assert code_of(await place.make(f"{URL}/other", custom_code="taken")) in (
        (409, "custom-code-taken"),
        EXCEEDED,
    )


async def test_a_link_stays_spent_whatever_becomes_of_it(quota):
    """Else a quota would be one of links at a time, not of links made."""
    place = await quota(2)
    made = (await place.make()).json()
    path = f"{place.path}/{made['id']}"
    headers = place.person.headers
    assert (await place.client.delete(path, headers=headers)).status_code == 204
    assert (await place.client.post(f"{path}/restore", headers=headers)).status_code == 200
    assert (await place.client.patch(path, json={"title": "x"}, headers=headers)).status_code == 200
    assert await place.spent() == 1
    await place.client.delete(path, headers=headers)
    assert [(await place.make()).status_code for _ in range(2)] == [201, 429]


async def test_a_deterministic_link_is_spent_once(kurz, client, people):
    person = await people.add()
    workspace = await people.workspace(person)
    await set_quota(kurz, workspace, 1)
    place = Quota(kurz, client, person, f"/api/v1/workspaces/{workspace.id}/links")
    made = await place.make(strategy=None)
    assert made.status_code == 201
    for _ in range(3):  # the quota is used up, and the link is still found
        assert (await place.make(strategy=None)).status_code == 200
    assert code_of(await place.make(f"{URL}/2", strategy=None)) == EXCEEDED
    path = f"{place.path}/{made.json()['id']}"
    await client.delete(path, headers=person.headers)
    revived = await place.make(strategy=None)  # as a restore: it was made, and counted, before
    assert (revived.status_code, revived.json()["id"]) == (201, made.json()["id"])
    assert await place.spent() == 1


async def test_a_retry_with_its_key_spends_nothing(quota):
    place = await quota(2)
    headers = place.person.headers | {"idempotency-key": "once"}
    body = {"original_url": URL, "strategy": "random"}
    answers = [await place.client.post(place.path, json=body, headers=headers) for _ in range(4)]
    assert {answer.status_code for answer in answers} == {201}
    assert await place.spent() == 1
    assert [(await place.make()).status_code for _ in range(2)] == [201, 429]
    again = await place.client.post(place.path, json=body, headers=headers)
    assert again.status_code == 201  # also when nothing is left


async def test_many_links_in_one_request_pass_up_to_the_quota(quota):
    place = await quota(10)
    good = [{"action": "create", "link": {"original_url": f"{URL}/{n}"}} for n in range(30)]
    bad = [{"action": "create", "link": {"original_url": "ftp://example.com"}} for _ in range(5)]
    answer = await place.post(f"{place.path}/bulk", {"items": bad + good})
    results = answer.json()["results"]
    assert Counter(item["status"] for item in results) == {201: 10, 429: 20, 422: 5}
    refused = next(item for item in results if item["status"] == 429)
    assert refused["problem"]["type"] == "/api/problems/quota-exceeded"
    assert await place.stored() == await place.spent() == 10


async def test_claims_are_counted_once_however_they_are_repeated(own):
    place = await own(3)
    tokens = [(await place.client.post(LINKS, json={"original_url": URL})).json() for _ in range(2)]
    items = [
        {"short_code": link["short_code"], "claim_token": link["claim_token"]} for link in tokens
    ]
    items.append({"original_url": f"{URL}/by-url"})
    for _ in range(3):
        answer = await place.post("/api/v1/claims", {"items": items})
        found = [item["result"] for item in answer.json()["results"]]
        assert found == ["claimed", "claimed", "created"]
    assert await place.spent() == 3
    assert code_of(await place.make()) == EXCEEDED


async def test_a_claim_beyond_the_quota_leaves_the_link_as_it_was(own):
    place = await own(1)
    await place.make()
    link = (await place.client.post(LINKS, json={"original_url": URL})).json()
    proof = {"short_code": link["short_code"], "claim_token": link["claim_token"]}
    for item in (proof, {"original_url": URL}, proof | {"original_url": URL}):
        answer = await place.post("/api/v1/claims", {"items": [item]})
        [result] = answer.json()["results"]
        assert result["result"] == "not_claimed"
        assert result["problem"]["type"] == "/api/problems/quota-exceeded"
        assert result["problem"]["status"] == 429
    query = sa.select(links).where(links.c.short_code == link["short_code"])
    row = await place.kurz.database.read(lambda it: it.execute(query).mappings().one())
    assert row["owner_id"] is None
    assert (row["version"], row["link_type"]) == (1, "TEMPORARY")
    assert await place.spent() == 1


async def test_every_way_to_make_a_link_is_counted(own):
    place = await own(4)
    headers = place.person.headers
    ways = [
        place.post(LINKS, {"original_url": URL}),
        place.post("/api/urls", {"originalUrl": URL}),
        place.client.post("/", content=URL, headers=headers),
        place.post("/api/urls/sync", {"urls": [URL]}),
    ]
    for number, way in enumerate(ways):
        assert (await way).status_code in (200, 201)
        assert await place.spent() == number + 1
    assert code_of(await place.post("/api/urls", {"originalUrl": URL})) == EXCEEDED
    assert code_of(await place.client.post("/", content=URL, headers=headers)) == EXCEEDED
    synced = await place.post("/api/urls/sync", {"urls": [f"{URL}/2"]})
    assert synced.json() == []
