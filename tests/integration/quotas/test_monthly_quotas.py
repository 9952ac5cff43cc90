"""Quotas of links a month, of a person (`KURZ_LINKS_PER_MONTH`) and of a workspace."""

from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import usage
from support.desk import code_of
from support.quotas import EXCEEDED, LINKS, Quota, set_quota


async def test_the_last_link_of_the_month_is_made_and_the_next_is_not(quota):
    place = await quota(3)
    for _ in range(3):
        assert (await place.make()).status_code == 201
    for _ in range(2):
        assert code_of(await place.make()) == EXCEEDED
    assert await place.stored() == await place.spent() == 3


async def test_how_much_is_used_is_told(quota):
    place = await quota(3)
    path = f"{place.path.removesuffix('/links')}/quota"
    path = path if "workspaces" in path else "/api/v1/me/quota"

    async def told() -> dict[str, Any]:
        answer = await place.client.get(path, headers=place.person.headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    resets_at = "2026-04-01T00:00:00Z"
    whole = {"links_per_month": 3, "links_this_month": 0, "resets_at": resets_at}
    assert await told() == whole
    for _ in range(4):
        await place.make()
    assert await told() == whole | {"links_this_month": 3}


async def test_without_a_quota_nobody_counts(client, people):
    person = await people.add()
    workspace = await people.workspace(person)
    nothing = dict.fromkeys(("links_per_month", "links_this_month", "resets_at"))
    for path in ("me", f"workspaces/{workspace.id}"):
        answer = await client.get(f"/api/v1/{path}/quota", headers=person.headers)
        assert answer.json() == nothing


async def test_a_refusal_says_what_is_used_up_and_when_to_come_back(quota, clock):
    place = await quota(1)
    await place.make()
    refused = await place.make()
    assert code_of(refused) == EXCEEDED
    assert refused.json() == {
        "type": "/api/problems/quota-exceeded",
        "title": "Monthly link quota reached",
        "status": 429,
        "detail": refused.json()["detail"],
    }
    assert "1 links per month" in refused.json()["detail"]
    whose = "This workspace's" if "workspaces" in place.path else "Your"
    assert whose in refused.json()["detail"]
    seconds = int((datetime(2026, 4, 1, tzinfo=UTC) - clock.now()).total_seconds())
    assert refused.headers["retry-after"] == str(seconds)


async def test_coming_back_when_told_is_never_too_early(own, people, clock):
    place = await own(1)
    await place.make()
    clock.advance(days=30, hours=11, minutes=59, seconds=57, milliseconds=500)
    place.person = people.sign_in(place.person.account)
    refused = await place.make()
    assert clock.now().month == 3
    assert refused.headers["retry-after"] == "3"
    clock.advance(seconds=3)
    assert (await place.make()).status_code == 201


@pytest.mark.parametrize(
    ("last", "first"),
    [
        (datetime(2026, 3, 31, 23, 59, 59, 999_999, UTC), datetime(2026, 4, 1, tzinfo=UTC)),
        (datetime(2026, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2028, 2, 29, 23, 59, 59, 999_999, UTC), datetime(2028, 3, 1, tzinfo=UTC)),
    ],
    ids=["March", "December", "a leap year's February"],
)
async def test_a_month_ends_at_midnight_utc(own, people, clock, last, first):
    place = await own(2)

    async def make_at(instant: datetime) -> httpx2.Response:
        clock.advance(seconds=(instant - clock.now()).total_seconds())
        assert clock.now() == instant
        place.person = people.sign_in(place.person.account)
        answer: httpx2.Response = await place.make()
        return answer

    assert (await make_at(last)).status_code == 201
    assert (await make_at(last)).status_code == 201
    refused = await make_at(last)
    assert code_of(refused) == EXCEEDED
    assert refused.headers["retry-after"] == "1"
    assert (await make_at(first)).status_code == 201
    assert (await make_at(first)).status_code == 201
    assert code_of(await make_at(first)) == EXCEEDED
    months = sa.select(usage.c.month, usage.c.links).order_by(usage.c.month)
    spent = await place.kurz.database.read(lambda it: [*it.execute(months)])
    assert [tuple(row) for row in spent] == [
        (last.year * 100 + last.month, 2),
        (first.year * 100 + first.month, 2),
    ]


async def test_without_a_quota_nothing_is_counted(kurz, client, people):
    place = Quota(kurz, client, await people.add(), LINKS)
    for _ in range(5):
        assert (await place.make()).status_code == 201
    assert await place.spent() == 0


async def test_a_workspace_may_have_a_quota_of_none(kurz, client, people):
    person = await people.add()
    workspace = await people.workspace(person)
    await set_quota(kurz, workspace, 0)
    place = Quota(kurz, client, person, f"/api/v1/workspaces/{workspace.id}/links")
    assert code_of(await place.make()) == EXCEEDED
    assert await place.stored() == 0
    place.path = LINKS
    assert (await place.make()).status_code == 201


async def test_an_administrator_sets_and_lifts_a_workspaces_quota(kurz, client, people):
    admin = await people.add(is_admin=True)
    person = await people.add()
    workspace = await people.workspace(person)
    place = Quota(kurz, client, person, f"/api/v1/workspaces/{workspace.id}/links")
    path = f"/api/v1/admin/workspaces/{workspace.id}/quota"
    statuses = []
    for limit in (1, 2, None, 0):
        body = {"links_per_month": limit}
        changed = await client.put(path, json=body, headers=admin.headers)
        assert changed.json()["links_per_month"] == limit
        statuses.append([(await place.make()).status_code for _ in range(2)])
    assert statuses == [[201, 429], [201, 429], [201, 201], [429, 429]]
    refused = await client.put(path, json={"links_per_month": 9}, headers=person.headers)
    assert refused.status_code == 403


async def test_each_person_and_each_workspace_is_counted_for_itself(kurz, connect, people):
    client = await connect(links_per_month=3)
    ada, bob = await people.add(), await people.add()
    workspace = await people.workspace(ada)
    other = await people.workspace(ada, "other")
    await set_quota(kurz, workspace, 1)
    team = Quota(kurz, client, ada, f"/api/v1/workspaces/{workspace.id}/links")
    assert (await team.make()).status_code == 201
    assert code_of(await team.make()) == EXCEEDED  # the workspace's
    team.path = f"/api/v1/workspaces/{other.id}/links"
    assert (await team.make()).status_code == 201
    team.path = LINKS
    assert (await team.make()).status_code == 201
    refused = await team.make()
    assert code_of(refused) == EXCEEDED  # her own: links in workspaces are hers too
    assert "Your" in refused.json()["detail"]
    assert (await Quota(kurz, client, bob, LINKS).make()).status_code == 201


async def test_what_the_second_quota_refuses_is_not_spent_of_the_first(kurz, connect, people):
    client = await connect(links_per_month=5)
    person = await people.add()
    workspace = await people.workspace(person)
    await set_quota(kurz, workspace, 1)
    place = Quota(kurz, client, person, f"/api/v1/workspaces/{workspace.id}/links")
    assert [(await place.make()).status_code for _ in range(4)] == [201, 429, 429, 429]
    place.path = LINKS
    assert [(await place.make()).status_code for _ in range(5)] == [201] * 4 + [429]
