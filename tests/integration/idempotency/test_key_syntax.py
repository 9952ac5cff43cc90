"""What an `Idempotency-Key` may look like, and what opens a stored answer."""

import asyncio

import httpx2
import pytest
import sqlalchemy as sa

from kurz.storage.schema.links import links, receipts
from support.desk import code_of
from support.idempotency import LINKS, REUSED, WAYS, count, rows, whole

GOOD_KEYS = ["a", "x" * 255, 'with spaces, and "signs" ~!@#$%^&*()', '"quoted"', "0"]
BAD_KEYS = {
    "empty": b"",
    "256 characters": b"x" * 256,
    "not ASCII": "schlüssel".encode("latin-1"),
    "UTF-8": "ключ".encode(),
    "a tab": b"a\tb",
    "NUL": b"a\0b",
    "DEL": b"a\x7fb",
    "a line break": b"a\nb",
}


async def test_a_key_has_up_to_255_printable_characters(world):
    for number, key in enumerate(GOOD_KEYS):
        answers = [await world.send(WAYS["a link"], {"idempotency-key": key}) for _ in range(2)]
        assert whole(answers[0]) == whole(answers[1])
        assert answers[0].status_code == 201
        assert await world.made(links) == number + 1


@pytest.mark.parametrize("path", [LINKS, "/", f"{LINKS}/bulk"])
async def test_any_other_key_is_refused_and_nothing_is_made(world, path):
    way = next(item for item in WAYS.values() if item.path == path and not item.is_anonymous)
    for key in BAD_KEYS.values():
        request = world.client.build_request("POST", path, headers=world.owner.headers, **way.sent)
        headers = httpx2.Headers([*request.headers.raw, (b"idempotency-key", key)])
        request = httpx2.Request("POST", request.url, headers=headers, content=request.content)
        answer = await world.client.send(request)
        assert code_of(answer) == (422, "idempotency-key-refused"), key
    assert await world.made(links) == 0
    assert await count(world.kurz, receipts) == 0


async def test_keys_differ_by_case_and_every_character(world):
    for key in ("key", "Key", "key ", "key1", "key\u005c0001"):
        await world.send(WAYS["a link"], {"idempotency-key": key.strip() + "." * key.count(" ")})
    assert await world.made(links) == 5


async def test_a_key_cannot_be_made_to_look_like_an_item_of_a_list(world):
    """Items are told apart by a character that no key has."""
    await world.send(WAYS["many links"])
    for key in ("5c6b9f1e-7d3a0", "5c6b9f1e-7d3a 0", "5c6b9f1e-7d3a\\0000"):
        answer = await world.send(WAYS["a link"], {"idempotency-key": key})
        assert answer.status_code == 201
        assert "idempotency-replayed" not in answer.headers


async def test_a_stored_answer_opens_for_its_own_caller_and_key_only(world, people):
    """Moved to another row, the sealed answer opens nothing."""
    other = await people.add()
    way = WAYS["a link"]
    await world.send(way)
    await world.send(way, who=other.headers)
    stored = {row["caller"]: row for row in await rows(world.kurz, receipts)}
    mine = stored[f"account:{world.owner.id}"]
    theirs = receipts.c.caller == f"account:{other.id}"
    await world.kurz.database.write(
        lambda it: it.execute(sa.update(receipts).where(theirs).values(answer=mine["answer"]))
    )
    assert code_of(await world.send(way, who=other.headers)) == REUSED
    assert await world.made(links) == 2


async def test_a_request_that_is_given_up_can_be_sent_again(world):
    """Whoever leaves in the middle finds one link afterwards, whichever came first."""
    way = WAYS["a link"]
    for number in range(10):
        key = {"idempotency-key": f"left-{number}"}
        task = asyncio.ensure_future(world.send(way, key))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        answer = await world.send(way, key)
        assert answer.status_code == 201
        assert whole(await world.send(way, key)) == whole(answer)
        assert await world.made(links) == number + 1
