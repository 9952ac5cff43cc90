"""Exports over the API: all links, those that match, or those that were selected."""

import csv
import io

import pytest

from kurz.links.transfers import MAX_SELECTED
from support.engines import sqlite_first
from support.people import People, Person

engine = sqlite_first  # the contracts of transfers are tried on every engine
LINKS = "/api/v1/links"


@pytest.fixture
async def person(people: People) -> Person:
    return await people.add()


async def make(client, person: Person, code: str, *tags: str) -> int:
    body = {"original_url": "https://example.com/", "custom_code": code, "tags": tags}
    answer = await client.post(LINKS, json=body, headers=person.headers)
    link_id: int = answer.json()["id"]
    return link_id


def codes(answer) -> list[str]:
    assert answer.status_code == 200, answer.text
    assert "kurz-links.csv" in answer.headers["content-disposition"]
    return [row["short_code"] for row in csv.DictReader(io.StringIO(answer.text, newline=""))]


async def test_an_export_takes_the_filters_of_the_list(client, person):
    await make(client, person, "first", "print")
    await make(client, person, "second")
    await make(client, person, "third", "print")

    async def export(query: str):
        return await client.get(f"{LINKS}/export{query}", headers=person.headers)

    assert codes(await export("")) == ["first", "second", "third"]
    assert codes(await export("?tag=print")) == ["first", "third"]
    assert codes(await export("?search=secon")) == ["second"]
    refused = await export("?search=s")
    assert (refused.status_code, refused.json()["field"]) == (422, "search")


async def test_chosen_links_are_exported(client, people, person):
    other = await people.add()
    foreign = await make(client, other, "foreign")
    ids = [await make(client, person, code) for code in ("first", "second", "third")]

    async def export(chosen: object, query: str = ""):
        body = {"ids": chosen}
        return await client.post(f"{LINKS}/export{query}", json=body, headers=person.headers)

    assert codes(await export([ids[2], foreign, ids[0], 2**53 - 1])) == ["first", "third"]
    await client.delete(f"{LINKS}/{ids[0]}", headers=person.headers)
    assert codes(await export(ids)) == ["second", "third"]
    assert codes(await export(ids, "?with_trash=true")) == ["first", "second", "third"]
    lines = await export(ids[1:], "?format=jsonl")
    assert len(lines.text.splitlines()) == 2
    for chosen in ([], [1] * (MAX_SELECTED + 1), ["1"], [-1], [2**53], None):
        assert (await export(chosen)).status_code == 422
    body = {"ids": ids}
    assert (await client.post(f"{LINKS}/export", json=body)).status_code == 401
