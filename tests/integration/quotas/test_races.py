"""Many requests at once for the last link of a quota: one gets it."""

import asyncio
from collections import Counter

import httpx2
import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import links, receipts
from support.clock import FrozenClock
from support.engines import usually_on
from support.people import People
from support.quotas import LINKS, URL, Quota


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
    many = {"items": [{"action": "create", "link": {"original_url": URL}} for _ in range(10)]}
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
