"""Custom domains over HTTP, proved over real DNS."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime

import httpx2
import pytest

from kurz.people.access import Role
from kurz.settings.model import Settings
from kurz.wiring.core import Kurz
from servers.dns import DnsServer, Trouble
from support.clock import FrozenClock
from support.domain_desk import HOST, URL, DomainDesk
from support.engines import sqlite_first
from support.people import People
from support.slack import slack

engine = sqlite_first  # the contracts of custom domains are tried on every engine
BASE_URL = "https://kurz.example"
ALLOWED = "/api/v1/domains/allowed"

Connect = Callable[..., Awaitable[httpx2.AsyncClient]]


@pytest.fixture(scope="module")
def dns_server() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def dns(dns_server: DnsServer) -> DnsServer:
    """The server, knowing nothing."""
    dns_server._records.clear()
    dns_server.questions.clear()
    return dns_server


@pytest.fixture
def settings(settings: Settings, dns: DnsServer) -> Settings:
    return replace(settings, dns_servers=(dns.address,))


@pytest.fixture
async def open_desk(
    kurz: Kurz, dns: DnsServer, people: People
) -> Callable[..., Awaitable[DomainDesk]]:
    async def open_desk(client: httpx2.AsyncClient, slug: str = "team") -> DomainDesk:
        person = await people.add()
        return DomainDesk(client, kurz, dns, person, await people.workspace(person, slug))

    return open_desk


@pytest.fixture
async def desk(
    client: httpx2.AsyncClient, open_desk: Callable[..., Awaitable[DomainDesk]]
) -> DomainDesk:
    return await open_desk(client)


@pytest.fixture
async def rival(
    client: httpx2.AsyncClient, open_desk: Callable[..., Awaitable[DomainDesk]]
) -> DomainDesk:
    return await open_desk(client, "rival")


async def test_a_new_domain_waits_for_the_record_that_the_answer_names(
    desk: DomainDesk, dns: DnsServer, clock: FrozenClock
) -> None:
    added = await desk.add("Go.Example.COM.")
    assert added.status_code == 201
    shown = added.json()
    assert shown["host"] == HOST
    assert shown["record_name"] == f"_kurz.{HOST}"
    assert shown["record_value"].startswith("kurz-verification=")
    assert (shown["is_verified"], shown["verified_at"], shown["checked_at"]) == (False, None, None)
    assert datetime.fromisoformat(shown["created_at"]) == clock.now()
    assert await desk.list() == [shown]
    assert dns.questions == []  # nobody is asked before somebody wants it


async def test_verifying_finds_the_record_and_nothing_else_will_do(
    desk: DomainDesk, dns: DnsServer, clock: FrozenClock
) -> None:
    record = (await desk.add()).json()
    name, value = record["record_name"], record["record_value"]
    for values in ((), ("other",), (value[:-1],), (f"{value}x",), (value.upper(),)):
        dns.put(name, *values)
        refused = await desk.verify()
        assert refused.status_code == 409
        problem = refused.json()
        assert problem["type"] == "/api/problems/domain-not-verified"
        assert (problem["record_name"], problem["record_value"]) == (name, value)
    (waiting,) = await desk.list()
    assert (waiting["is_verified"], waiting["verified_at"]) == (False, None)
    assert datetime.fromisoformat(waiting["checked_at"]) == clock.now()
    clock.advance(minutes=1)
    dns.put(name, "another record", value)
    proved = await desk.verify("GO.example.com")
    assert proved.status_code == 200
    assert proved.json()["is_verified"] is True
    assert datetime.fromisoformat(proved.json()["verified_at"]) == clock.now()
    assert await desk.list() == [proved.json()]
    assert ("udp", name) in dns.questions


async def test_links_answer_on_a_domain_once_it_is_proved(desk: DomainDesk) -> None:
    assert await desk.make_link() == "http://kurz.test/@team/mine"
    await desk.add()
    assert (await desk.visit()).status_code == 404
    await desk.prove()
    answer = await desk.visit()
    assert (answer.status_code, answer.headers["location"]) == (302, URL)
    assert (await desk.visit(host=f"{HOST.upper()}.:8080")).status_code == 302
    for path in ("/api/v1/me", "/healthz/x", "/@team/mine", "/other", "/", "/app"):
        assert (await desk.visit(path)).status_code == 404, path
    assert (await desk.visit("/robots.txt")).status_code == 200
    for method in ("POST", "PUT", "DELETE"):
        refused = await desk.client.request(method, "/", headers={"host": HOST})
        assert refused.status_code == 405


async def test_with_a_base_url_an_unproved_domain_is_not_ours(
    connect: Connect, open_desk: Callable[..., Awaitable[DomainDesk]]
) -> None:
    client = await connect(BASE_URL, base_url=BASE_URL)
    desk = await open_desk(client)
    await desk.make_link()
    await desk.add()
    refused = await desk.visit()
    assert refused.status_code == 421
    assert refused.json()["type"] == "/api/problems/host-unknown"
    await desk.prove()
    await asyncio.sleep(1.05)  # this is another instance, which asks once a second
    assert (await desk.visit()).status_code == 302
    shown = await client.get(desk.path.replace("domains", "links"), headers=desk.headers)
    assert shown.json()["links"][0]["short_url"] == f"https://{HOST}/mine"
    await desk.remove()
    await asyncio.sleep(1.05)
    assert (await desk.visit()).status_code == 421


async def test_a_domain_whose_record_is_gone_serves_nothing(
    desk: DomainDesk, dns: DnsServer
) -> None:
    await desk.make_link()
    shown = await desk.prove()
    dns.put(shown["record_name"])
    refused = await desk.verify()
    assert refused.status_code == 409
    assert "no longer serves your links" in refused.json()["detail"]
    assert (await desk.visit()).status_code == 404
    assert [item["is_verified"] for item in await desk.list()] == [False]
    await desk.prove()
    assert (await desk.visit()).status_code == 302


@pytest.mark.parametrize("trouble", [Trouble.SERVFAIL, Trouble.GARBAGE])
async def test_without_an_answer_everything_stays_as_it_is(
    desk: DomainDesk, dns: DnsServer, trouble: Trouble
) -> None:
    await desk.make_link()
    shown = await desk.prove()
    dns.trouble(shown["record_name"], trouble)
    failed = await desk.verify()
    assert failed.status_code == 503
    assert failed.json()["type"] == "/api/problems/domain-lookup-failed"
    assert int(failed.headers["retry-after"]) >= 1
    assert await desk.list() == [shown]
    assert (await desk.visit()).status_code == 302


async def test_a_name_server_that_says_nothing_is_not_waited_for_longer_than_it_takes(
    desk: DomainDesk, dns: DnsServer
) -> None:
    shown = (await desk.add()).json()
    dns.trouble(shown["record_name"], Trouble.SILENCE)
    started = time.monotonic()
    waiting = asyncio.create_task(desk.verify())
    await asyncio.sleep(0.05)
    meanwhile = await desk.client.get("/healthz")
    assert meanwhile.status_code == 200
    assert not waiting.done()
    failed = await waiting
    assert (failed.status_code, "retry-after" in failed.headers) == (503, True)
    assert time.monotonic() - started < slack(10)


async def test_a_proxy_may_get_a_certificate_for_proved_domains_only(
    desk: DomainDesk, client: httpx2.AsyncClient
) -> None:
    async def allowed(domain: str) -> int:
        return (await client.get(ALLOWED, params={"domain": domain})).status_code

    await desk.add()
    assert await allowed(HOST) == 404
    await desk.prove()
    answer = await client.get(ALLOWED, params={"domain": HOST})
    assert (answer.status_code, answer.json()) == (200, {"host": HOST, "is_allowed": True})
    assert await allowed(f"{HOST.upper()}.") == 200
    for domain in (f"x.{HOST}", "example.com", "kurz.test", "", "*", "a\0b", f"{HOST}:443"):
        assert await allowed(domain) == 404, domain
    assert (await client.get(ALLOWED)).status_code == 422
    assert await allowed("x" * 254) == 422
    await desk.remove()
    assert await allowed(HOST) == 404


async def test_a_deleted_workspaces_domain_gets_no_certificate(
    desk: DomainDesk, client: httpx2.AsyncClient, kurz: Kurz
) -> None:
    await desk.prove()
    workspace = desk.path.removesuffix("/domains")
    assert (await client.delete(workspace, headers=desk.headers)).status_code == 200
    kurz.domains._sites = None
    assert (await client.get(ALLOWED, params={"domain": HOST})).status_code == 404
    await client.post(f"{workspace}/restore", headers=desk.headers)
    kurz.domains._sites = None
    assert (await client.get(ALLOWED, params={"domain": HOST})).status_code == 200


async def test_a_removed_domain_serves_nothing_and_can_be_had_back(desk: DomainDesk) -> None:
    await desk.make_link()
    await desk.prove()
    assert (await desk.remove()).status_code == 204
    assert await desk.list() == []
    assert (await desk.visit()).status_code == 404
    gone = await desk.remove()
    assert (gone.status_code, gone.json()["type"]) == (404, "/api/problems/domain-not-found")
    assert (await desk.add()).json()["is_verified"] is False
    assert (await desk.visit()).status_code == 404
    assert (await desk.verify()).status_code == 200
    assert (await desk.visit()).status_code == 302


async def test_what_was_never_added_is_not_found(desk: DomainDesk, dns: DnsServer) -> None:
    for host in (HOST, "x", "*", "127.0.0.1", "a%20b", "%00", "x" * 253):
        assert (await desk.verify(host)).status_code == 404, host
        assert (await desk.remove(host)).status_code == 404, host
    assert (await desk.verify("x" * 254)).status_code == 422
    assert dns.questions == []


async def test_who_proves_a_domain_first_has_it(
    desk: DomainDesk, rival: DomainDesk, dns: DnsServer
) -> None:
    theirs = (await rival.add()).json()
    mine = await desk.prove()
    assert theirs["record_value"] != mine["record_value"]
    dns.put(mine["record_name"], mine["record_value"], theirs["record_value"])
    for answer in (await rival.verify(), await rival.add()):
        assert answer.status_code == 409
        assert answer.json()["type"] == "/api/problems/domain-taken"
    await desk.make_link()
    assert (await desk.visit()).status_code == 302


async def test_my_record_proves_nothing_for_somebody_else(
    desk: DomainDesk, rival: DomainDesk, dns: DnsServer
) -> None:
    mine = (await desk.add()).json()
    await rival.add()
    dns.put(mine["record_name"], mine["record_value"])
    refused = await rival.verify()
    assert refused.json()["type"] == "/api/problems/domain-not-verified"
    assert mine["record_value"] not in refused.text


async def test_a_removed_domain_is_kept_from_others_for_thirty_days(
    desk: DomainDesk, rival: DomainDesk, people: People, clock: FrozenClock
) -> None:
    await desk.prove()
    await desk.remove()
    assert (await rival.add()).status_code == 409
    clock.advance(days=30)
    rival.person = people.sign_in(rival.person.account)
    await rival.prove()
    assert [item["is_verified"] for item in await rival.list()] == [True]


async def test_of_two_that_prove_one_domain_at_once_one_has_it(
    desk: DomainDesk, rival: DomainDesk, dns: DnsServer
) -> None:
    for number in range(6):
        host = f"both-{number}.example.com"
        records = [(await each.add(host)).json() for each in (desk, rival)]
        dns.put(records[0]["record_name"], *(record["record_value"] for record in records))
        answers = await asyncio.gather(desk.verify(host), rival.verify(host))
        assert sorted(answer.status_code for answer in answers) == [200, 409]


async def test_names_that_cannot_be_a_domain_are_refused(desk: DomainDesk) -> None:
    for host in (
        "",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "https://go.example.com",
        "go.example.com/x",
        "go.example.com:443",
        "*.example.com",
        "go..example.com",
        "-go.example.com",
        "go_.example.com",
        "go.example.com\0",
        "a@b.example",
        f"{'x' * 64}.example.com",
    ):
        answer = await desk.add(host)
        assert answer.status_code == 422, host
        assert answer.json()["type"] == "/api/problems/domain-refused"
    assert await desk.list() == []


async def test_the_base_urls_host_is_nobodys(
    connect: Connect, open_desk: Callable[..., Awaitable[DomainDesk]]
) -> None:
    desk = await open_desk(await connect(BASE_URL, base_url=BASE_URL))
    for host in ("kurz.example", "KURZ.example."):
        assert (await desk.add(host)).status_code == 422


async def test_links_to_a_proved_domain_are_a_circle(desk: DomainDesk, rival: DomainDesk) -> None:
    await desk.prove()
    links = rival.path.replace("domains", "links")
    body = {"original_url": f"https://{HOST}/mine"}
    answer = await rival.client.post(links, json=body, headers=rival.headers)
    assert answer.json()["type"] == "/api/problems/url-refused"


async def test_adding_it_twice_is_adding_it_once(desk: DomainDesk) -> None:
    shown = await desk.prove()
    again = await desk.add()
    assert again.status_code == 201
    assert again.json() == shown
    assert await desk.list() == [shown]


async def test_members_see_domains_and_only_owners_change_them(
    desk: DomainDesk, people: People
) -> None:
    shown = await desk.prove()
    for role in (Role.VIEWER, Role.EDITOR):
        person = await people.add()
        await people.join(desk.team, person, role)
        owner, desk.person = desk.person, person
        assert await desk.list() == [shown]
        answers = [await desk.add("x.example.com"), await desk.verify(), await desk.remove()]
        assert [answer.status_code for answer in answers] == [403, 403, 403]
        desk.person = owner
    assert await desk.list() == [shown]
