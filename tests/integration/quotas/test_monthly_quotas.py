"""Quotas: links a month, of a person (`KURZ_LINKS_PER_MONTH`) and of a workspace."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.people.workspaces import Workspace
from kurz.storage.schema import links, receipts, usage
from support.clock import FrozenClock
from support.engines import redis_in_the_long_run, usually_on
from support.people import People, Person

# Nobody follows a link here; quotas are counted in the database.
engine = redis_in_the_long_run

URL = "https://example.com/page"
LINKS = "/api/v1/links"
Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


class Quota:
    """A person who may make `limit` links a month, at the root or in a workspace with a quota."""

    def __init__(self, kurz: Kurz, client: httpx2.AsyncClient, person: Person, path: str) -> None:
        self.kurz = kurz
        self.client = client
        self.person = person
        self.path = path

    async def make(self, url: str = URL, **body: Any) -> httpx2.Response:
        sent = {"original_url": url, "strategy": "random"} | body
        if body.get("custom_code"):
            del sent["strategy"]
        return await self.client.post(self.path, json=sent, headers=self.person.headers)

    async def post(self, path: str, body: dict[str, Any]) -> httpx2.Response:
        return await self.client.post(path, json=body, headers=self.person.headers)

    async def spent(self) -> int:
        """Of the latest month."""
        query = sa.select(usage.c.links).order_by(usage.c.month.desc())
        number: int = await self.kurz.database.read(lambda it: it.execute(query).scalar() or 0)
        return number

    async def stored(self) -> int:
        query = sa.select(sa.func.count()).select_from(links)
        number: int = await self.kurz.database.read(lambda it: it.execute(query).scalar_one())
        return number


async def set_quota(kurz: Kurz, workspace: Workspace, limit: int | None) -> None:
    await kurz.teams.edit(workspace.id, {"links_per_month": limit})


@pytest.fixture(params=["person", "workspace"])
async def quota(
    request: pytest.FixtureRequest, kurz: Kurz, connect: Connect, people: People
) -> Callable[[int], Awaitable[Quota]]:
    """Both kinds of quota."""

    async def make(limit: int) -> Quota:
        person = await people.add()
        if request.param == "person":
            return Quota(kurz, await connect(links_per_month=limit), person, LINKS)
        workspace = await people.workspace(person)
        await set_quota(kurz, workspace, limit)
        path = f"/api/v1/workspaces/{workspace.id}/links"
        return Quota(kurz, await connect(), person, path)

    return make


@pytest.fixture
async def own(kurz: Kurz, connect: Connect, people: People) -> Callable[[int], Awaitable[Quota]]:
    """A person's quota only."""

    async def make(limit: int) -> Quota:
        return Quota(kurz, await connect(links_per_month=limit), await people.add(), LINKS)

    return make


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")


EXCEEDED = (429, "quota-exceeded")


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
    good = [{"act": "create", "link": {"original_url": f"{URL}/{n}"}} for n in range(30)]
    bad = [{"act": "create", "link": {"original_url": "ftp://example.com"}} for _ in range(5)]
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


# At once


async def _race(place: Quota, limit: int, clients: list[httpx2.AsyncClient]) -> None:
    """64 at once for the last link; whatever an overloaded machine answers with 503, not two."""
    for _ in range(limit - 1):
        assert (await place.make()).status_code == 201
    headers = place.person.headers
    body = {"original_url": URL, "strategy": "random"}
    answers = await asyncio.gather(
        *(
            clients[number % len(clients)].post(place.path, json=body, headers=headers)
            for number in range(64)
        )
    )
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses.keys() <= {201, 429, 503}
    assert statuses[201] == 1 or (statuses[201] == 0 and statuses[503])
    while (await place.make()).status_code != 429:
        assert statuses[503]
    assert await place.spent() == limit


@usually_on("postgres")
async def test_of_64_at_once_for_the_last_link_one_gets_it(quota, people, clock, kurz):
    place = await quota(3)
    for number in range(1, 4):
        await _race(place, 3, [place.client])
        assert await place.stored() == 3 * number
        clock.advance(days=31)
        place.person = people.sign_in(place.person.account)


async def test_of_64_at_two_instances_for_the_last_link_one_gets_it(own, connect):
    place = await own(3)
    await _race(place, 3, [place.client, await connect(links_per_month=3)])
    assert await place.stored() == 3


@usually_on("sqlite")
async def test_of_64_at_once_for_the_first_link_one_gets_it(quota):
    """There is no count yet that they could wait for."""
    place = await quota(1)
    await _race(place, 1, [place.client])
    assert await place.stored() == 1


async def test_lists_and_claims_and_single_links_share_a_quota_at_once(own):
    place = await own(20)
    made = [(await place.client.post(LINKS, json={"original_url": URL})).json() for _ in range(10)]
    proofs = [
        {"short_code": link["short_code"], "claim_token": link["claim_token"]} for link in made
    ]
    many = {"items": [{"act": "create", "link": {"original_url": URL}} for _ in range(10)]}
    answers = await asyncio.gather(
        *(place.post(f"{LINKS}/bulk", many) for _ in range(2)),
        *(place.post("/api/v1/claims", {"items": [proof]}) for proof in proofs),
        *(place.make() for _ in range(10)),
    )
    results = [item for answer in answers[:12] for item in answer.json()["results"]]
    good = [item for item in results if item.get("link") is not None]
    made_alone = [answer for answer in answers[12:] if answer.status_code == 201]
    assert len(good) + len(made_alone) == 20
    assert await place.spent() == 20
    owned = sa.select(sa.func.count()).where(links.c.owner_id == place.person.id)
    assert await place.kurz.database.read(lambda it: it.execute(owned).scalar_one()) == 20


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_a_hundred_races_for_the_last_link_have_one_winner_each(
    quota, people: People, clock: FrozenClock
):
    place = await quota(2)
    for number in range(1, 101):
        await _race(place, 2, [place.client])
        assert await place.stored() == 2 * number
        clock.advance(days=31)
        place.person = people.sign_in(place.person.account)
    kept = sa.select(sa.func.count()).select_from(receipts)
    assert await place.kurz.database.read(lambda it: it.execute(kept).scalar_one()) == 0
