"""A quota of one person, whatever the server's default is."""

import pytest

from support.desk import Desk, code_of
from support.engines import redis_in_the_long_run

engine = redis_in_the_long_run
URL = "https://example.com/"


async def create(desk: Desk) -> int:
    answer = await desk.ask("POST", desk.links, json={"original_url": URL})
    return answer.status_code


async def test_an_administrator_sets_the_quota_of_a_person(connect, kurz, people):
    client = await connect(links_per_month=2)
    admin, person = await people.add(is_admin=True), await people.add()
    desk = Desk(kurz, client, person, None)
    path = f"/api/v1/admin/accounts/{person.id}/quota"

    async def allow(links: object) -> None:
        body = {"links_per_month": links}
        answer = await client.put(path, json=body, headers=admin.headers)
        assert (answer.status_code, answer.json()["links_per_month"]) == (200, links)

    assert [await create(desk) for _ in range(3)] == [201, 201, 429]
    await allow(3)
    assert [await create(desk) for _ in range(2)] == [201, 429]
    told = (await desk.ask("GET", "/api/v1/me/quota")).json()
    assert (told["links_per_month"], told["links_this_month"]) == (3, 3)
    await allow("unlimited")
    assert [await create(desk) for _ in range(3)] == [201, 201, 201]
    assert (await desk.ask("GET", "/api/v1/me/quota")).json()["links_per_month"] is None
    await allow(0)
    assert await create(desk) == 429
    await allow(None)
    assert (await desk.ask("GET", "/api/v1/me/quota")).json()["links_per_month"] == 2
    other = Desk(kurz, client, await people.add(), None)
    assert [await create(other) for _ in range(3)] == [201, 201, 429]
    listed = await client.get("/api/v1/admin/accounts", headers=admin.headers)
    assert {item["links_per_month"] for item in listed.json()["accounts"]} == {None}


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_nobody_else_sets_it_and_nonsense_is_refused(client, people):
    admin, person = await people.add(is_admin=True), await people.add()
    path = f"/api/v1/admin/accounts/{person.id}/quota"
    own = await client.put(path, json={"links_per_month": 5}, headers=person.headers)
    assert code_of(own) == (403, "permission-missing")
    for value in (-1, 1.5, "many", True, 10**13):
        answer = await client.put(path, json={"links_per_month": value}, headers=admin.headers)
        assert code_of(answer) == (422, "request-refused"), value
    nobody = await client.put(
        "/api/v1/admin/accounts/1/quota", json={"links_per_month": 5}, headers=admin.headers
    )
    assert code_of(nobody) == (404, "account-not-found")
