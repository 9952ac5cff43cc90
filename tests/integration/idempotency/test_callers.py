"""Whose an `Idempotency-Key` is, and how long its answer is kept."""

from dataclasses import replace
from itertools import pairwise

import sqlalchemy as sa

from kurz.storage.schema.links import links, receipts
from support.desk import code_of
from support.idempotency import REUSED, WAYS, Connect, count, whole


async def test_another_person_with_the_same_key_makes_another_link(world, people):
    way = WAYS["a link"]
    other = await people.add()
    first = await world.send(way)
    second = await world.send(way, who=other.headers)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["short_code"] != second.json()["short_code"]
    assert "idempotency-replayed" not in second.headers
    assert await world.made(links) == 2


async def test_a_stranger_elsewhere_with_the_same_key_makes_another_link(world, connect: Connect):
    way = WAYS["a stranger's link"]
    first = await world.send(way)
    elsewhere = await world.send(way, client=await connect(peer="203.0.113.9"))
    assert elsewhere.status_code == 201
    assert elsewhere.json()["claim_token"] != first.json()["claim_token"]
    signed_in = await world.send(replace(WAYS["a link"], sent=way.sent))
    assert signed_in.json()["link_type"] == "PERMANENT"
    assert await world.made(links) == 3


async def test_a_person_is_the_same_by_session_and_by_key(world, people):
    from kurz.people.access import Permission

    way = WAYS["a link"]
    first = await world.send(way)
    text = await people.key(world.owner, Permission.LINKS_CREATE)
    retry = await world.send(way, who={"x-api-key": text})
    assert whole(retry) == whole(first)
    assert await world.made(links) == 1


async def test_a_replay_is_for_those_only_who_may_still_make_links(world, people):
    """A key of the same person that may not create gets no stored answer either."""
    from kurz.people.access import Permission

    await world.send(WAYS["a link"])
    text = await people.key(world.owner, Permission.LINKS_READ)
    refused = await world.send(WAYS["a link"], who={"x-api-key": text})
    assert code_of(refused) == (403, "permission-missing")


async def test_an_answer_is_kept_for_24_hours(world, clock):
    way = WAYS["a stranger's link"]
    first = await world.send(way)
    clock.advance(hours=24)
    assert whole(await world.send(way)) == whole(first)
    clock.advance(microseconds=1)
    again = await world.send(way)
    assert again.status_code == 201
    assert "idempotency-replayed" not in again.headers
    assert again.json()["short_code"] != first.json()["short_code"]
    assert await world.made(links) == 2


async def test_a_forgotten_key_may_be_used_for_something_else(world, clock):
    way = WAYS["a stranger's link"]
    await world.send(way)
    clock.advance(hours=24, microseconds=1)
    changed = await world.send(replace(way, sent=way.other))
    assert changed.status_code == 201
    assert whole(await world.send(replace(way, sent=way.other))) == whole(changed)
    assert code_of(await world.send(way)) == REUSED
    assert await count(world.kurz, receipts) == 1


async def test_forgotten_answers_leave_the_store_a_few_at_a_time(world):
    """However many there are, a create never has to wait until all of them are gone."""
    old = [
        {
            "caller": "account:1",
            "key_hash": number.to_bytes(4),
            "fingerprint": b"",
            "answer": b"",
            "created_at": number,
        }
        for number in range(1000)
    ]
    await world.kurz.database.write(lambda it: it.execute(sa.insert(receipts), old))
    way = WAYS["a stranger's link"]
    left = [1000]
    for number in range(12):
        await world.send(way, {"idempotency-key": f"{number}"})
        left.append(await count(world.kurz, receipts) - number - 1)
    steps = [before - after for before, after in pairwise(left)]
    assert left[-1] == 0
    assert max(steps) <= 100
