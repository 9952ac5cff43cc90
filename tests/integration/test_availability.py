"""Whether a code is free: the answer is what a create with it would be told."""

from typing import Any

import pytest

from kurz.people.limits import LIMITS, LimitClass
from support.desk import Desk, code_of
from support.engines import without_redis

engine = without_redis  # which has no part in it

FREE = "free"


async def look(desk: Desk, code: str) -> dict[str, Any]:
    answer = await desk.ask("GET", f"{desk.links}/availability", params={"code": code})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found["code"] == code
    assert found["is_free"] == (found["problem"] is None) == (found["short_url"] is not None)
    return found


async def agrees(desk: Desk, code: str) -> str:
    """What both say, the question and the create after it: the code of a problem, or `FREE`."""
    found = await look(desk, code)
    answer = await desk.ask(
        "POST", desk.links, json={"original_url": "https://example.com/", "custom_code": code}
    )
    if found["is_free"]:
        assert (answer.status_code, answer.json()["short_url"]) == (201, found["short_url"])
        return FREE
    assert found["problem"] == answer.json()
    name: str = answer.json()["type"].removeprefix("/api/problems/")
    return name


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("summer", FREE),
        ("abc", FREE),
        ("a" * 64, FREE),
        ("ab", "custom-code-refused"),
        ("a" * 65, "custom-code-refused"),
        ("", "custom-code-refused"),
        ("with space", "custom-code-refused"),
        ("grün", "custom-code-refused"),
        ("nul\0", "custom-code-refused"),
        ("Admin", "custom-code-refused"),
        ("api", "custom-code-refused"),
    ],
)
async def test_it_says_what_a_create_would(place, code, said):
    assert await agrees(place, code) == said


async def test_what_is_taken_is_told_and_only_ones_own_is_named(desk, team, people, client):
    stranger = Desk(desk.kurz, client, await people.add(), None)
    mine, shared = await desk.make(custom_code="mine"), await team.make(custom_code="shared")
    assert (await look(desk, "mine"))["link_id"] == mine["id"]
    assert (await look(stranger, "mine"))["link_id"] is None
    assert (await look(team, "shared"))["link_id"] == shared["id"]
    for who in (desk, stranger):
        assert await agrees(who, "mine") == "custom-code-taken"
    assert await agrees(team, "shared") == "custom-code-taken"
    assert [await agrees(team, "mine"), await agrees(desk, "shared")] == [FREE, FREE]
    assert await agrees(desk, "MINE") == FREE


async def test_a_link_in_the_trash_keeps_its_code(place):
    made = await place.make(custom_code="summer")
    await place.delete(made)
    assert (await look(place, "summer"))["link_id"] == made["id"]
    assert await agrees(place, "summer") == "custom-code-taken"


async def test_the_code_of_a_purged_link_is_free_for_who_had_it(desk, people, client):
    stranger = Desk(desk.kurz, client, await people.add(), None)
    made = await desk.make(custom_code="summer")
    await desk.delete(made)
    await desk.purge(made)
    assert await agrees(stranger, "summer") == "custom-code-taken"
    assert await agrees(desk, "summer") == FREE


async def test_nobody_walks_through_codes_this_way(connect, desk, team):
    limited = await connect(rate_limits="on")
    (policy,) = LIMITS[LimitClass.AVAILABILITY]
    (by_visits,) = LIMITS[LimitClass.MISS]
    assert policy.rate == by_visits.rate
    headers = desk.person.headers
    for number in range(policy.rate.count):
        path = f"{desk.links}/availability?code=code-{number}"
        assert (await limited.get(path, headers=headers)).status_code == 200
    refused = await limited.get(f"{desk.links}/availability?code=more", headers=headers)
    assert code_of(refused) == (429, "too-many-requests")
    assert int(refused.headers["retry-after"]) > 0
    assert code_of(await limited.get(f"{desk.links}/availability?code=more"))[0] == 401
