"""Bans of links, hosts and people, over the API."""

import asyncio

import pytest

from kurz.errors import StoreUnavailable
from kurz.jobs.runner import Runner
from kurz.links.model import Status
from kurz.people.passwords import Passwords
from kurz.safety.audit import OPERATOR
from kurz.safety.banning import JOB, SETTLED
from kurz.safety.bans import BanCause, BanKind
from kurz.scheduling import RunCause
from kurz.wiring.core import open_kurz
from kurz.wiring.reaper import make_periodic_tasks
from kurz.wiring.worker import open_serving
from support.engines import without_redis

engine = without_redis  # which has no part in it
API = "/api/v1/admin"


@pytest.fixture
async def admin(people):
    return await people.add(is_admin=True)


async def put(client, admin, path: str, **body: object):
    return await client.put(f"{API}/{path}/ban", json=body, headers=admin.headers)


async def lift(client, admin, path: str):
    return await client.delete(f"{API}/{path}/ban", headers=admin.headers)


def job_of(kurz) -> Runner:
    [job] = [it for it in make_periodic_tasks(kurz) if it._schedule.job == JOB]
    return job


async def carry_out(kurz) -> None:
    assert await job_of(kurz).run(RunCause.NOW) is not None


async def test_a_banned_link_is_gone_for_everybody_and_comes_back(kurz, client, admin, desk):
    link = await desk.make(custom_code="bad")
    path = f"links/{link['id']}"
    banned = await put(client, admin, path, reason="phishing")
    assert (banned.status_code, banned.json()["cause"]) == (200, "admin")
    assert banned.json()["banned_by"] == admin.id
    assert (await client.get("/bad")).status_code == 410
    edited = await client.patch(
        f"/api/v1/links/{link['id']}", json={"title": "x"}, headers=desk.person.headers
    )
    assert edited.status_code == 410
    listed = (await client.get(f"{API}/bans", headers=admin.headers)).json()
    assert [(it["link_id"], it["reason"]) for it in listed["links"]] == [(link["id"], "phishing")]
    assert (listed["links"][0]["short_code"], listed["links"][0]["workspace_id"]) == ("bad", 0)
    assert (await lift(client, admin, path)).status_code == 204
    assert (await client.get("/bad")).status_code == 302
    assert (await lift(client, admin, path)).status_code == 204  # nothing to take back


async def test_no_link_leads_to_a_banned_host_or_below(kurz, client, admin, desk):
    before = await desk.make("https://example.com/")
    banned = await put(client, admin, "hosts/EXAMPLE.com.", reason="spam")
    assert banned.json()["subject"] == "example.com"
    for host, is_refused in (
        ("example.com", True),
        ("example.com.", True),
        ("EXAMPLE.com:8443", True),
        ("a.b.example.com", True),
        ("notexample.com", False),
        ("example.com.evil.test", False),
        ("example.org", False),
    ):
        body = {"original_url": f"https://{host}/"}
        answer = await client.post("/api/v1/links", json=body, headers=desk.person.headers)
        assert (answer.status_code == 422) == is_refused, host
        if is_refused:
            assert answer.json()["type"] == "/api/problems/destination-refused"
    edit = {"original_url": "https://example.com/new"}
    path = f"/api/v1/links/{before['id']}"
    edited = await client.patch(path, json=edit, headers=desk.person.headers)
    assert edited.json()["type"] == "/api/problems/destination-refused"
    assert (await lift(client, admin, "hosts/example.com")).status_code == 204
    assert (await client.patch(path, json=edit, headers=desk.person.headers)).status_code == 200


@pytest.mark.parametrize("banned", ["198.51.100.7", "[::ffff:198.51.100.7]"])
async def test_a_banned_address_is_so_in_every_spelling(kurz, client, admin, desk, banned):
    answer = await put(client, admin, f"hosts/{banned}")
    assert answer.json()["subject"] == "198.51.100.7"
    places = ("198.51.100.7", "[::ffff:198.51.100.7]:81", "[::FFFF:C633:6407]")
    for host, status in (*((it, 422) for it in places), ("[::ffff:198.51.100.8]", 201)):
        body = {"original_url": f"http://{host}/x"}
        answer = await client.post("/api/v1/links", json=body, headers=desk.person.headers)
        assert answer.status_code == status, host
    assert (await lift(client, admin, "hosts/[::ffff:c633:6407]")).status_code == 204
    for host in places:
        await desk.make(f"http://{host}/x")


async def test_another_process_hears_of_a_banned_host(kurz, clock):
    async with (
        open_kurz(kurz.settings, clock, Passwords(cost=4)) as other,
        open_serving(other) as serving,
    ):
        assert other.banned_hosts.get() == frozenset()
        for ban, expected in ((True, {"example.com"}), (False, frozenset())):
            if ban:
                await kurz.bans.ban_host("example.com", None, OPERATOR)
            else:
                await kurz.bans.unban_host("example.com", OPERATOR)
            async with asyncio.timeout(30):
                while other.banned_hosts.get() != expected:
                    await serving.tick()  # as a server does every second
                    await asyncio.sleep(0.05)


@pytest.mark.parametrize("host", ["com", "localhost", "exa mple.com", "@", "[::1", "%00"])
async def test_what_is_no_host_is_refused(kurz, client, admin, host):
    refused = await put(client, admin, f"hosts/{host}")
    assert (refused.status_code, refused.json()["type"]) == (422, "/api/problems/host-refused")
    assert await kurz.audit.list(limit=1) == []


async def test_a_banned_person_is_out_with_all_their_links(
    kurz, client, admin, people, add_link, clock
):
    person = await people.add()
    team = await people.workspace(person, "team")
    await add_link(custom_code="personal", owner_id=person.id)
    await add_link(custom_code="shared", owner_id=person.id, workspace_id=team.id)
    await add_link(custom_code="paused", owner_id=person.id, status=Status.PAUSED)
    await add_link(custom_code="other", owner_id=admin.id)
    banned = await put(client, admin, f"accounts/{person.id}", reason="spammer")
    assert (banned.status_code, banned.json()["is_pending"]) == (200, True)
    assert (await client.get("/api/v1/me", headers=person.headers)).status_code == 401
    clock.advance(seconds=SETTLED.total_seconds())
    await carry_out(kurz)
    for path, status in (("/personal", 410), ("/@team/shared", 410), ("/other", 302)):
        assert (await client.get(path)).status_code == status
    ban = await kurz.bans._store.find(BanKind.ACCOUNT, str(person.id))
    assert not ban.is_pending
    assert (await lift(client, admin, f"accounts/{person.id}")).status_code == 204
    await carry_out(kurz)
    for path, status in (("/personal", 302), ("/@team/shared", 302), ("/paused", 404)):
        assert (await client.get(path)).status_code == status
    again = people.sign_in(await kurz.accounts.get(person.id))
    assert (await client.get("/api/v1/me", headers=again.headers)).status_code == 200
    assert await kurz.bans._store.find(BanKind.ACCOUNT, str(person.id)) is None


async def test_links_that_are_banned_by_themselves_or_by_their_host_stay_so(
    kurz, client, admin, people, add_link, clock
):
    person = await people.add()
    by_itself = await add_link(custom_code="own", owner_id=person.id)
    await add_link("https://evil.example/", custom_code="host", owner_id=person.id)
    await put(client, admin, f"links/{kurz.links.public_id(by_itself)}")
    await put(client, admin, f"accounts/{person.id}")
    clock.advance(seconds=SETTLED.total_seconds())
    await carry_out(kurz)
    await put(client, admin, "hosts/evil.example")
    await lift(client, admin, f"accounts/{person.id}")
    await carry_out(kurz)
    assert (await client.get("/own")).status_code == 410
    assert (await client.get("/host")).status_code == 410
    link = await kurz.store.find_by_code(0, "host")
    assert (
        await kurz.bans._of_links.find(link.id)
    ).cause is BanCause.LIST  # screening's from now on
    refused = await lift(client, admin, f"links/{kurz.links.public_id(link)}")
    assert refused.json()["type"] == "/api/problems/destination-refused"


async def test_what_is_made_while_a_person_is_being_banned_is_found_later(
    kurz, client, admin, people, add_link, clock
):
    person = await people.add()
    await put(client, admin, f"accounts/{person.id}")
    ban = await kurz.bans._store.find(BanKind.ACCOUNT, str(person.id))
    await add_link(custom_code="first", owner_id=person.id)
    answers = iter([False] * 3)  # it has a look or two, and is to stop then
    assert await kurz.bans.run(lambda: next(answers, True)) == {"banned": 1, "unbanned": 0}
    assert await kurz.bans._store.pending() == [ban]
    await add_link(custom_code="second", owner_id=person.id)  # by a token of a moment ago
    clock.advance(seconds=SETTLED.total_seconds())
    await carry_out(kurz)
    assert (await client.get("/second")).status_code == 410


async def test_a_ban_is_carried_out_although_nobody_could_ask_for_it(
    kurz, client, admin, people, add_link, clock, monkeypatch
):
    """Whoever asks for a job that is ending just then is not heard."""
    person = await people.add()
    await add_link(custom_code="bad", owner_id=person.id)
    job = job_of(kurz)
    assert await job.run(RunCause.NOW) is not None  # the next one is due in an hour
    assert not await job.tick()

    async def is_running(_: str) -> None:
        return None

    with monkeypatch.context() as patched:
        patched.setattr(kurz.bans._leases, "ask", is_running)
        await put(client, admin, f"accounts/{person.id}")
    clock.advance(seconds=SETTLED.total_seconds())
    await job.tick()  # which asks
    await job.tick()
    assert (await client.get("/bad")).status_code == 410
    assert not await job.tick()


def test_somebody_waits_for_bans(kurz):
    assert job_of(kurz)._wake_seconds <= 5


async def test_the_last_administrator_cannot_be_banned(kurz, client, admin):
    refused = await put(client, admin, f"accounts/{admin.id}")
    assert refused.json()["type"] == "/api/problems/administrator-missing"
    assert await kurz.bans._store.pending() == []


async def test_an_administrator_reads_the_audit_log_backwards(kurz, client, admin):
    for number in range(3):
        await put(client, admin, f"hosts/host{number}.example", reason="spam")
    first = (await client.get(f"{API}/audit?limit=2", headers=admin.headers)).json()
    assert [it["subject"] for it in first["entries"]] == [
        "host host2.example",
        "host host1.example",
    ]
    entry = first["entries"][0]
    assert (entry["action"], entry["via"], entry["account_id"]) == ("ban-host", "api", admin.id)
    assert entry["details"] == {"reason": "spam"}
    path = f"{API}/audit?limit=2&before={first['next_before']}"
    rest = (await client.get(path, headers=admin.headers)).json()
    assert [it["subject"] for it in rest["entries"]] == ["host host0.example"]
    assert rest["next_before"] is None
    for query, count in (
        ("action=ban-host", 3),
        ("action=ban-link", 0),
        (f"account_id={admin.id}&via=api", 3),
        (f"account_id={admin.id + 1}", 0),
        ("via=cli", 0),
    ):
        found = await client.get(f"{API}/audit?{query}", headers=admin.headers)
        assert len(found.json()["entries"]) == count, query
    for query in ("via=nobody", "action=a%00b", "action=Ban", "action=ban-host%0A"):
        wrong = await client.get(f"{API}/audit?{query}", headers=admin.headers)
        assert wrong.status_code == 422, query


async def test_what_the_audit_log_cannot_tell_is_not_done(kurz, client, admin, monkeypatch):
    """It is written first."""

    async def fail(*_: object) -> None:
        raise StoreUnavailable("No.")

    monkeypatch.setattr(kurz.audit, "record", fail)
    assert (await put(client, admin, "hosts/example.com")).status_code == 503
    assert await kurz.bans._store.hosts() == frozenset()
