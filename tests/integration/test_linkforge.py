"""The promises of Linkforge, which kurz takes over: its three test cases and its codes."""

import asyncio
import json
import re

import httpx2
import pytest

from kurz.links.model import Draft
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of links and of their store are tried on every engine


@pytest.fixture
async def linkforge(client, people):
    """Makes a link in workspace 1 or 2 and gives its answer; sent as `curl -d` does."""
    owner = await people.add()
    for slug in ("one", "two"):
        await people.workspace(owner, slug)

    async def post(workspace_id: int, original_url: str) -> httpx2.Response:
        path = f"/api/v1/workspaces/{workspace_id}/links"
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer: httpx2.Response = await client.post(
            path, content=json.dumps({"original_url": original_url}), headers=owner.headers | form
        )
        return answer

    return post


async def test_linkforge_case_1_creating_the_same_link_twice_gives_one_code(linkforge):
    first = await linkforge(1, "https://example.com")
    second = await linkforge(1, "https://example.com")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["short_code"] == second.json()["short_code"]
    assert second.json() == first.json()


async def test_linkforge_case_2_workspaces_have_different_codes_for_one_url(linkforge):
    first = await linkforge(1, "https://example.com")
    second = await linkforge(2, "https://example.com")
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["short_code"] != second.json()["short_code"]


async def test_linkforge_case_3_spellings_of_one_url_have_one_code(linkforge):
    spellings = [
        "HTTP://EXAMPLE.COM/page",
        "http://example.com/page",
        "http://example.com:80/page",
        "http://example.com/page/",
    ]
    answers = [await linkforge(1, url) for url in spellings]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 200]
    assert len({answer.json()["short_code"] for answer in answers}) == 1
    assert {answer.json()["canonical_url"] for answer in answers} == {"http://example.com/page"}


async def test_linkforges_codes_have_10_characters_that_nobody_mistakes(linkforge):
    answers = await asyncio.gather(*(linkforge(1, f"https://example.com/{n}") for n in range(40)))
    codes = {answer.json()["short_code"] for answer in answers}
    assert len(codes) == 40
    assert all(re.fullmatch(r"[1-9A-HJ-NP-Za-km-z]{10}", code) for code in codes)


async def test_linkforges_example_has_the_code_of_our_vectors(kurz, people, client):
    """Its walk-through is about workspace 42; the code printed there is an illustration."""
    owner = await people.add()
    await people.workspace(owner)
    made = await client.post(
        "/api/v1/workspaces/1/links",
        json={"original_url": "HTTP://Example.com:80/api/users?name=john&id=123"},
        headers=owner.headers,
    )
    assert made.json()["canonical_url"] == "http://example.com/api/users?id=123&name=john"
    created = await kurz.links.create(
        Draft(original_url="HTTP://Example.com:80/api/users?name=john&id=123", workspace_id=42)
    )
    assert created.link.short_code == "K5YWpCtbjZ"
