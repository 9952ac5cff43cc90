"""A request that is sent again gets the first answer, also when many are sent at once."""

import asyncio
import json
import re
from collections import Counter
from dataclasses import replace

import pytest

from kurz.storage.schema.links import links, receipts
from support.desk import code_of
from support.engines import usually_on
from support.idempotency import (
    IN_FLIGHT,
    REUSED,
    URL,
    WAYS,
    Connect,
    count,
    every_way,
    json_body,
    rows,
    whole,
)
from support.long_run import in_the_long_run

# Every create


@every_way
async def test_a_key_stands_for_one_request_and_its_answer(world, way, clock):
    answers = await asyncio.gather(*(world.send(way) for _ in range(6)))
    good = [answer for answer in answers if answer.status_code < 300]
    # The request that was sent first need not be the one that came first.
    good.sort(key=lambda answer: "idempotency-replayed" in answer.headers)
    first, *others = good
    assert first.status_code == (200 if "bulk" in way.path else 201)
    assert "idempotency-replayed" not in first.headers
    assert {whole(answer)[1] for answer in others} <= {first.content}
    assert {code_of(answer) for answer in answers if answer.status_code >= 300} <= {IN_FLIGHT}
    for hours in (0, 1, 22):
        clock.advance(hours=hours)
        retry = await world.send(way)
        assert whole(retry) == whole(first)
        assert way.makes == 2 or retry.headers["idempotency-replayed"] == "true"
    assert code_of(await world.send(replace(way, sent=way.other))) == REUSED
    if way.another is not None:
        assert code_of(await world.send(replace(way, path=way.another))) == REUSED
    assert await world.made(way.table) == way.makes


async def test_stored_answers_hold_no_secret_in_clear(world):
    told = set()
    for number, way in enumerate(WAYS.values()):
        key = f"my-own-key-{number}"
        sent = json.loads(json.dumps(way.sent).replace("chosen", key))
        answer = await world.send(replace(way, sent=sent), {"idempotency-key": key})
        assert answer.status_code < 300, answer.text
        told |= set(re.findall(r'"(?:claim_token|claimToken|key|token)":"([^"]+)"', answer.text))
        told |= {key, URL}
    assert len(told) > 2 * 3 + len(WAYS)
    stored = repr(await rows(world.kurz, receipts)).encode()
    raw = b"".join(
        bytes(row[name])
        for row in await rows(world.kurz, receipts)
        for name in ("key_hash", "fingerprint", "answer")
    )
    for secret in told:
        assert secret.encode() not in stored
        assert secret.encode() not in raw


# Many at once


@pytest.mark.parametrize(
    "name", ["a link", *in_the_long_run("a stranger's link", "a workspace's link", "a text")]
)
async def test_fifty_at_once_make_one_link(world, name):
    answers = await asyncio.gather(*(world.send(WAYS[name]) for _ in range(50)))
    good = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.content for answer in good}) == 1
    assert {code_of(answer) for answer in answers if answer not in good} <= {IN_FLIGHT}
    assert await world.made(links) == 1
    assert await count(world.kurz, receipts) == 1


async def test_of_fifty_different_requests_with_one_key_one_is_done(world):
    ways = [replace(WAYS["a link"], sent=json_body(original_url=f"{URL}/{n}")) for n in range(50)]
    answers = await asyncio.gather(*(world.send(way) for way in ways))
    assert Counter(answer.status_code for answer in answers)[201] == 1
    allowed = {REUSED, IN_FLIGHT}
    assert {code_of(answer) for answer in answers if answer.status_code != 201} <= allowed
    assert await world.made(links) == 1


@usually_on("postgres")
@pytest.mark.parametrize("name", ["a stranger's link", "a workspace's link", "many links"])
async def test_two_instances_with_one_key_make_one_link(world, connect: Connect, name):
    way = WAYS[name]
    clients = [await connect(log_level="info"), await connect(log_level="info")]
    for number in range(4):
        key = {"idempotency-key": f"round-{number}"}
        sent = json.loads(json.dumps(way.sent).replace(URL, f"{URL}/{number}"))
        sent = json.loads(json.dumps(sent).replace("chosen", f"chosen-{number}"))
        asked = replace(way, sent=sent)
        answers = await asyncio.gather(
            *(world.send(asked, key, client=clients[n % 2]) for n in range(10))
        )
        good = [answer for answer in answers if answer.status_code < 300]
        assert {code_of(answer) for answer in answers if answer not in good} <= {IN_FLIGHT}
        assert len({answer.content for answer in good}) == 1
        assert await world.made(links) == way.makes * (number + 1)


@usually_on("postgres")
async def test_of_two_instances_with_different_bodies_one_is_refused(world, connect: Connect):
    clients = [await connect(log_level="info"), await connect(log_level="info")]
    for number in range(6):
        key = {"idempotency-key": f"round-{number}"}
        ways = [
            replace(WAYS["a link"], sent=json_body(original_url=f"{URL}/{n}")) for n in range(2)
        ]
        answers = await asyncio.gather(
            *(world.send(ways[n], key, client=clients[n]) for n in range(2))
        )
        assert sorted(answer.status_code for answer in answers) == [201, 422]
        assert await world.made(links) == number + 1
