"""Checks over HTTP: asked for, told, and links found by them."""

from datetime import timedelta

import pytest

from kurz.links.model import Status
from kurz.people.limits import LIMITS, LimitClass
from kurz.safety.checks import JOB
from kurz.storage.jobs.leases import SqlLeaseStore
from support.checks import FAILING, GONE, OK, REFUSED, conclude_at, follow, store_of
from support.desk import code_of
from support.engines import sqlite_first

# The store has its contract on every engine.
engine = sqlite_first

URL = "https://example.com/a/page"


async def test_a_check_is_asked_for_and_its_result_told(place, kurz, clock):
    link = await place.make(URL)
    path = f"{place.links}/{link['id']}/checks"
    asked = await place.ask("POST", path)
    assert asked.status_code == 202
    assert asked.json() == {
        "requested_at": "2026-03-01T12:00:00Z",
        "destination_status": None,
        "destination_http_status": None,
        "last_checked_at": None,
    }
    assert await store_of(kurz).has_requested(kurz.clock.now())
    lease, _ = await SqlLeaseStore(kurz.database, clock).look(JOB)
    assert lease is not None
    assert lease.requested_at is not None
    for finding in (OK, GONE):
        clock.advance(minutes=1)
        await conclude_at(kurz, URL, finding)
    told = (await place.ask("GET", path)).json()
    assert told == {
        "destination_status": "ok",
        "destination_http_status": 200,
        "last_checked_at": "2026-03-01T12:02:00Z",
        "checks": [
            {
                "checked_at": "2026-03-01T12:02:00Z",
                "result": "broken",
                "reason": "answered",
                "http_status": 404,
            },
            {
                "checked_at": "2026-03-01T12:01:00Z",
                "result": "ok",
                "reason": "answered",
                "http_status": 200,
            },
        ],
    }
    shown = (await place.ask("GET", f"{place.links}/{link['id']}")).json()
    assert shown["destination_status"] == "ok"
    assert shown["last_checked_at"] == "2026-03-01T12:02:00Z"


async def test_who_asks_is_told_that_a_destination_is_broken(place, kurz, clock):
    link = await place.make(URL)
    path = f"{place.links}/{link['id']}"
    await place.ask("POST", f"{path}/checks")
    clock.advance(seconds=5)
    await conclude_at(kurz, URL, GONE)
    shown = (await place.ask("GET", path)).json()
    assert (shown["destination_status"], shown["destination_http_status"]) == ("broken", 404)
    clock.advance(minutes=10)
    await conclude_at(kurz, URL, FAILING)  # which nobody asked for: it stays so
    assert (await place.ask("GET", path)).json()["destination_status"] == "broken"


async def test_others_learn_nothing_from_checks_of_the_same_url(desk, team, kurz, clock):
    await desk.make(URL)
    await follow(kurz)
    await conclude_at(kurz, URL, OK)
    clock.advance(hours=1)
    theirs = await team.make(URL)
    told = await team.ask("POST", f"{team.links}/{theirs['id']}/checks")
    assert told.json()["last_checked_at"] is None
    found = (await team.ask("GET", f"{team.links}/{theirs['id']}/checks")).json()
    assert found["checks"] == []
    assert found["destination_status"] is None


@pytest.mark.parametrize("status", [Status.PAUSED, Status.BANNED, Status.DELETED])
async def test_a_link_that_is_not_active_is_not_checked(desk, kurz, status, add_link):
    link = await add_link(URL, owner_id=desk.person.id, status=status)
    await add_link(URL, owner_id=desk.person.id)  # leads there too
    await follow(kurz)
    path = f"{desk.links}/{kurz.links.public_id(link)}/checks"
    refused = await desk.ask("POST", path)
    assert code_of(refused) == (409, "link-not-checked")
    assert not await store_of(kurz).has_requested(kurz.clock.now())


async def test_an_expired_link_is_not_checked(desk, kurz, clock):
    link = await desk.make(URL, expires_at=(clock.now() + timedelta(hours=1)).isoformat())
    clock.advance(hours=2)
    assert (await desk.ask("POST", f"{desk.links}/{link['id']}/checks")).status_code == 409


async def test_where_checks_are_off_nobody_can_ask(connect, desk, kurz):
    link = await desk.make(URL)
    off = await connect(destination_checks="off")
    path = f"{desk.links}/{link['id']}/checks"
    refused = await off.post(path, headers=desk.person.headers)
    assert code_of(refused) == (409, "checks-off")
    assert (await off.get(path, headers=desk.person.headers)).json()["checks"] == []
    assert not await store_of(kurz).has_requested(kurz.clock.now())


async def test_one_may_ask_ten_times_a_minute(connect, desk):
    limited = await connect(rate_limits="on")
    link = await desk.make(URL)
    path, headers = f"{desk.links}/{link['id']}/checks", desk.person.headers
    (policy,) = LIMITS[LimitClass.CHECK]
    answers = [
        (await limited.post(path, headers=headers)).status_code
        for _ in range(policy.rate.count + 1)
    ]
    assert answers == [*policy.rate.count * [202], 429]


async def test_links_are_listed_by_what_checks_say(place, kurz, clock):
    findings = {"ok": OK, "unknown": REFUSED, "broken": FAILING}
    made = {}
    for name, finding in findings.items():
        url = f"https://{name}.example/"
        made[name] = [(await place.make(url, custom_code=f"{name}-{n}"))["id"] for n in range(3)]
        await follow(kurz)
        for _ in range(3):
            clock.advance(hours=1)
            await conclude_at(kurz, url, finding)
    await place.make("https://new.example/")
    for name, ids in made.items():
        for sort in ("created_at", "-updated_at", "redirect_count", "expires_at"):
            page = await place.ask(
                "GET", place.links, params={"destination_status": name, "sort": sort}
            )
            assert sorted(item["id"] for item in page.json()["links"]) == sorted(ids)
            assert page.json()["total"] == 3
    none = await place.ask("GET", place.links, params={"destination_status": "not_checked"})
    assert none.json()["links"] == []
    assert (
        await place.ask("GET", place.links, params={"destination_status": "x"})
    ).status_code == 422
    both = {"destination_status": "broken", "status": "ACTIVE", "search": "broken", "limit": "2"}
    page = (await place.ask("GET", place.links, params=both)).json()
    assert (len(page["links"]), page["total"]) == (2, 3)
