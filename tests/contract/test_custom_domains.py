"""Custom domains, proved over real DNS, on both engines."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.bootstrap import Kurz
from kurz.clock import to_micros
from kurz.errors import SettingRefused
from kurz.outbound.dns import TOTAL_SECONDS, DnsTxtLookup, NameServers
from kurz.people.custom_domains import CustomDomains, Domain, TxtLookup, normalise_host
from kurz.people.domains import Domains
from kurz.people.errors import (
    DomainLookupFailed,
    DomainNotFound,
    DomainRefused,
    DomainTaken,
    DomainUnproven,
)
from kurz.people.receipts import AlreadyAnswered, Receipt
from kurz.storage import schema
from kurz.storage.domains import SqlDomainStore
from kurz.storage.receipts import SqlReceiptStore
from servers.dns import DnsServer, Trouble
from servers.process import free_port
from support.engines import usually_on
from support.slack import slack

KEY = b"k" * 32
HOST = "go.example.com"
BASE_URL = "https://kurz.example:8443"
BARELY_LESS = timedelta(days=30) - timedelta(microseconds=1)


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
def lookup(dns: DnsServer) -> DnsTxtLookup:
    return DnsTxtLookup((dns.address,))


@pytest.fixture
def service(kurz: Kurz, lookup: DnsTxtLookup) -> CustomDomains:
    return make_service(kurz, lookup)


def make_service(kurz: Kurz, lookup: TxtLookup, key: bytes = KEY) -> CustomDomains:
    store = SqlDomainStore(kurz.database)
    domains = Domains(kurz.workspaces)
    return CustomDomains(store, lookup, domains, kurz.clock, key=key, base_url=BASE_URL)


@pytest.fixture
async def one(kurz: Kurz) -> int:
    """A workspace."""
    return await add_workspace(kurz, "one")


@pytest.fixture
async def other(kurz: Kurz) -> int:
    """Another workspace."""
    return await add_workspace(kurz, "other")


async def add_workspace(kurz: Kurz, slug: str) -> int:
    row = {"name": slug, "slug": slug, "created_at": to_micros(kurz.clock.now())}
    statement = sa.insert(schema.workspaces).values(row).returning(schema.workspaces.c.id)

    def insert(connection: sa.Connection) -> int:
        workspace_id: int = connection.execute(statement).scalar_one()
        return workspace_id

    return await kurz.database.write(insert)


async def delete_workspace(kurz: Kurz, workspace_id: int) -> None:
    values = {"deleted_at": to_micros(kurz.clock.now())}
    statement = sa.update(schema.workspaces).where(schema.workspaces.c.id == workspace_id)
    await kurz.database.write(lambda connection: connection.execute(statement.values(values)))


async def served(kurz: Kurz) -> dict[str, int]:
    """The workspace of every domain that serves links."""
    sites = await kurz.workspaces.verified_sites()
    return {host: site.workspace_id for host, site in sites.items()}


@pytest.fixture
def prove(dns: DnsServer, service: CustomDomains) -> Callable[..., Awaitable[Domain]]:
    """Adds a domain, puts the record that its instructions ask for, and verifies."""

    async def prove(workspace_id: int, host: str = HOST) -> Domain:
        name, value = service.instructions(await service.add(workspace_id, host))
        dns.put(name, value)
        return await service.verify(workspace_id, host)

    return prove


class HeldLookup:
    """Answers as another one does, but only when it is let go."""

    def __init__(self, lookup: TxtLookup) -> None:
        self._lookup = lookup
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def lookup(self, name: str) -> list[str]:
        values = await self._lookup.lookup(name)
        self.is_asked.set()
        await self.may_answer.wait()
        return values


async def test_a_new_domain_waits_for_its_proof(kurz, service, one, clock):
    added = await service.add(one, HOST)
    assert added == Domain(host=HOST, workspace_id=one, created_at=clock.now())
    assert not added.is_active
    assert await service.list(one) == [added]
    assert await served(kurz) == {}


async def test_the_record_is_the_documented_hmac(service, one):
    name, value = service.instructions(await service.add(one, HOST))
    digest = hmac.new(KEY, f"{one}|{HOST}".encode(), hashlib.sha256).digest()
    assert name == "_kurz.go.example.com"
    assert value == "kurz-verification=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")
    assert len(value) == len("kurz-verification=") + 43


async def test_records_differ_by_workspace_host_and_key(kurz, service, lookup, one, other):
    first = await service.add(one, HOST)
    domains = [first, await service.add(other, HOST), await service.add(one, "a.example.com")]
    values = {service.instructions(domain).value for domain in domains}
    another = make_service(kurz, lookup, key=b"another key").instructions(first).value
    assert len(values | {another}) == 4


async def test_a_proved_domain_serves(kurz, dns, service, one, clock):
    domain = await service.add(one, HOST)
    name, value = service.instructions(domain)
    dns.put(name, "v=spf1 -all", value, "something else")
    clock.advance(minutes=5)
    verified = await service.verify(one, HOST)
    assert verified == replace(domain, checked_at=clock.now(), verified_at=clock.now())
    assert verified.is_active
    assert await service.list(one) == [verified]
    assert await service.get(one, HOST) == verified
    assert await served(kurz) == {HOST: one}


async def test_only_the_exact_value_proves(dns, service, one, other):
    name, value = service.instructions(await service.add(one, HOST))
    foreign = service.instructions(await service.add(other, HOST)).value
    bare = value.removeprefix("kurz-verification=")
    for wrong in (foreign, bare, value[:-1], value + "A", value.upper(), "", "ünicode"):
        dns.put(name, wrong)
        with pytest.raises(DomainUnproven):
            await service.verify(one, HOST)
    dns.put(name, (b"\xff\xfe",))
    with pytest.raises(DomainUnproven):
        await service.verify(one, HOST)
    dns.put(name, f" {value} ")  # as some panels of name servers store what was pasted
    assert (await service.verify(one, HOST)).is_active


@pytest.mark.parametrize("has_name", [True, False], ids=["no record", "no name"])
async def test_a_missing_record_is_named(kurz, dns, service, one, clock, has_name):
    domain = await service.add(one, HOST)
    name, value = service.instructions(domain)
    if has_name:
        dns.put(name)
    with pytest.raises(DomainUnproven) as caught:
        await service.verify(one, HOST)
    assert name in caught.value.detail
    assert value in caught.value.detail
    assert caught.value.fields == {"record_name": name, "record_value": value}
    assert "no longer" not in caught.value.detail
    assert await service.list(one) == [replace(domain, checked_at=clock.now())]
    assert await served(kurz) == {}


async def test_a_value_in_pieces_is_joined(dns, service, one):
    name, value = service.instructions(await service.add(one, HOST))
    dns.put(name, (value[:20].encode(), value[20:].encode()))
    assert (await service.verify(one, HOST)).is_active


async def test_a_truncated_answer_is_asked_for_again_over_tcp(dns, service, one):
    name, value = service.instructions(await service.add(one, HOST))
    dns.put(name, *(f"{number} {'x' * 200}" for number in range(20)), value)
    assert (await service.verify(one, HOST)).is_active
    assert dns.questions == [("udp", name), ("tcp", name)]


async def test_checking_again_keeps_the_first_proof(service, prove, one, clock):
    first = await prove(one)
    clock.advance(days=1)
    again = await service.verify(one, HOST)
    assert again == replace(first, checked_at=clock.now())


async def test_a_lost_record_makes_it_inactive_and_says_so(kurz, dns, service, prove, one, clock):
    verified = await prove(one)
    dns.forget(f"_kurz.{HOST}")
    clock.advance(days=1)
    with pytest.raises(DomainUnproven, match="no longer serves your links"):
        await service.verify(one, HOST)
    now = clock.now()
    lost = replace(verified, checked_at=now, verified_at=None, missing_since=now)
    assert await service.list(one) == [lost]
    assert await served(kurz) == {}
    assert (await prove(one)).verified_at == clock.now()
    assert await served(kurz) == {HOST: one}


@pytest.mark.parametrize("trouble", Trouble)
@usually_on("sqlite")
async def test_without_an_answer_nothing_changes(kurz, dns, service, prove, one, clock, trouble):
    verified = await prove(one)
    waiting = await service.add(one, "new.example.com")
    clock.advance(days=1)
    for host in (HOST, "new.example.com"):
        dns.trouble(f"_kurz.{host}", trouble)
    started_at = time.monotonic()
    outcomes = await asyncio.gather(
        *(service.verify(one, host) for host in (HOST, "new.example.com")), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [DomainLookupFailed] * 2
    assert time.monotonic() - started_at < TOTAL_SECONDS + slack(2)
    assert await service.list(one) == [verified, waiting]
    assert await served(kurz) == {HOST: one}


async def test_adding_ones_own_again_gives_the_existing(service, prove, one, clock):
    waiting = await service.add(one, "new.example.com")
    verified = await prove(one)
    clock.advance(hours=1)
    assert await service.add(one, "NEW.example.com.") == waiting
    assert await service.add(one, HOST) == verified
    assert await service.list(one) == [verified, waiting]


async def test_several_may_wait_for_the_same_host_and_one_gets_it(kurz, service, prove, one, other):
    await service.add(other, HOST)
    await prove(one)
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    with pytest.raises(DomainTaken):
        await prove(other)
    assert [domain.is_active for domain in await service.list(other)] == [False]
    assert await served(kurz) == {HOST: one}


async def test_a_taken_domain_cannot_be_added_nor_verified(kurz, dns, service, prove, one, other):
    waiting = await service.add(other, HOST)
    await prove(one)
    dns.put(*service.instructions(waiting))  # the record is right, but it comes second
    with pytest.raises(DomainTaken):
        await service.verify(other, HOST)
    assert await service.list(other) == [waiting]
    assert await served(kurz) == {HOST: one}


async def test_who_loses_the_record_loses_the_domain(kurz, dns, service, prove, one, other):
    waiting = await service.add(other, HOST)
    await prove(one)
    dns.put(*service.instructions(waiting))
    with pytest.raises(DomainUnproven):
        await service.verify(one, HOST)
    assert (await service.verify(other, HOST)).is_active
    assert await served(kurz) == {HOST: other}


async def test_of_verifications_at_once_one_wins(kurz, dns, service):
    workspaces = [await add_workspace(kurz, f"team-{number}") for number in range(4)]
    hosts = [f"h{number}.example.com" for number in range(10)]
    for host in hosts:
        domains = [await service.add(workspace_id, host) for workspace_id in workspaces]
        records = [service.instructions(domain) for domain in domains]
        dns.put(records[0].name, *(record.value for record in records))
    outcomes = await asyncio.gather(
        *(service.verify(workspace_id, host) for host in hosts for workspace_id in workspaces),
        return_exceptions=True,
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, Domain)]
    losers = [outcome for outcome in outcomes if not isinstance(outcome, Domain)]
    assert sorted(winner.host for winner in winners) == hosts
    assert {type(loser) for loser in losers} == {DomainTaken}
    assert await served(kurz) == {winner.host: winner.workspace_id for winner in winners}


async def test_adding_at_once_makes_one(service, one):
    added = await asyncio.gather(*(service.add(one, HOST) for _ in range(10)))
    assert await service.list(one) == [added[0]]
    assert set(added) == {added[0]}


async def test_a_waiting_domain_is_removed_without_a_trace(service, one, other):
    await service.add(one, HOST)
    await service.remove(one, HOST)
    assert await service.list(one) == []
    with pytest.raises(DomainNotFound):
        await service.get(one, HOST)
    assert await service.add(other, HOST)


async def test_a_removed_domain_stops_serving_at_once(kurz, service, prove, one):
    await prove(one)
    await service.remove(one, "GO.example.com")
    assert await served(kurz) == {}
    assert await service.list(one) == []
    assert (await service.get(one, HOST)).is_given_up
    with pytest.raises(DomainNotFound):
        await service.remove(one, HOST)


async def test_a_removed_domain_is_kept_from_others_for_30_days(
    kurz, dns, service, prove, one, other, clock
):
    waiting = await service.add(other, HOST)
    await prove(one)
    await service.remove(one, HOST)
    dns.put(*service.instructions(waiting))
    clock.advance(seconds=BARELY_LESS.total_seconds())
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    with pytest.raises(DomainTaken):
        await service.verify(other, HOST)
    assert await served(kurz) == {}
    clock.advance(microseconds=1)
    assert await service.add(other, HOST) == waiting
    assert (await service.verify(other, HOST)).is_active
    assert await served(kurz) == {HOST: other}


async def test_who_gave_it_up_comes_too_late_when_another_has_it(
    kurz, dns, service, prove, one, other, clock
):
    first = await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=30)
    await prove(other)
    dns.put(*service.instructions(first))
    with pytest.raises(DomainTaken):
        await service.add(one, HOST)
    with pytest.raises(DomainTaken):
        await service.verify(one, HOST)
    assert await served(kurz) == {HOST: other}


async def test_the_same_workspace_takes_it_back_by_proving_it_again(
    kurz, service, prove, one, clock
):
    first = await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=1)
    back = await service.verify(one, HOST)
    assert back == replace(first, checked_at=clock.now(), verified_at=clock.now())
    assert await service.list(one) == [back]
    assert await served(kurz) == {HOST: one}


async def test_adding_it_again_without_a_proof_neither_serves_nor_ends_the_quarantine(
    kurz, dns, service, prove, one, other, clock
):
    await prove(one)
    await service.remove(one, HOST)
    clock.advance(days=10)
    wanted = await service.add(one, HOST)
    assert not wanted.is_active
    assert await service.list(one) == [wanted]
    assert await served(kurz) == {}
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    await service.remove(one, HOST)
    assert await service.list(one) == []
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    clock.advance(days=20)
    assert await service.add(other, HOST)
    assert await service.add(one, HOST) == wanted
    assert (await prove(one)).removed_at is None


async def test_a_failed_proof_does_not_end_the_quarantine(dns, service, prove, one, other):
    await prove(one)
    await service.remove(one, HOST)
    dns.forget(f"_kurz.{HOST}")
    with pytest.raises(DomainUnproven):
        await service.verify(one, HOST)
    assert (await service.get(one, HOST)).is_given_up
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)


@pytest.mark.parametrize("is_proved", [True, False], ids=["record there", "record gone"])
async def test_what_is_removed_during_a_lookup_stays_removed(
    kurz, dns, service, prove, lookup, one, is_proved
):
    await prove(one)
    if not is_proved:
        dns.forget(f"_kurz.{HOST}")
    held = HeldLookup(lookup)
    verifying = asyncio.create_task(make_service(kurz, held).verify(one, HOST))
    await held.is_asked.wait()
    await service.remove(one, HOST)
    removed = await service.get(one, HOST)
    held.may_answer.set()
    with pytest.raises(DomainNotFound if is_proved else DomainUnproven):
        await verifying
    assert await service.get(one, HOST) == removed
    assert await served(kurz) == {}


async def test_a_deleted_workspace_serves_nothing_and_keeps_its_domain_for_30_days(
    kurz, service, prove, one, other, clock
):
    await prove(one)
    await delete_workspace(kurz, one)
    assert await served(kurz) == {}
    clock.advance(seconds=BARELY_LESS.total_seconds())
    with pytest.raises(DomainTaken):
        await service.add(other, HOST)
    clock.advance(microseconds=1)
    await prove(other)
    assert await served(kurz) == {HOST: other}


async def test_a_workspace_does_not_see_the_domains_of_another(service, prove, one, other):
    await prove(one)
    assert await service.list(other) == []
    for act in (service.get, service.verify, service.remove):
        with pytest.raises(DomainNotFound):
            await act(other, HOST)
    assert [domain.is_active for domain in await service.list(one)] == [True]


async def test_a_proxy_is_told_of_active_domains_only(kurz, service, prove, lookup, one, other):
    await prove(one)
    await prove(one, "removed.example.com")
    await prove(other, "deleted.example.com")
    await service.add(one, "waiting.example.com")
    await service.remove(one, "removed.example.com")
    await delete_workspace(kurz, other)
    fresh = make_service(kurz, lookup)
    for host in (HOST, "GO.Example.com."):
        assert await fresh.is_allowed(host)
    for host in ("removed", "deleted", "waiting", "unknown"):
        assert not await fresh.is_allowed(f"{host}.example.com")
    for host in ("", "kurz.example", "example.com", f"{HOST}:443", "\ud800", HOST + "\x00"):
        assert not await fresh.is_allowed(host)


async def test_asking_for_many_hosts_costs_one_query(kurz, service, one):
    class Counted:
        def __init__(self) -> None:
            self.count = 0

        async def verified_sites(self):
            self.count += 1
            return await kurz.workspaces.verified_sites()

    counted = Counted()
    domains = Domains(counted)
    asked = CustomDomains(None, None, domains, kurz.clock, key=KEY, base_url=None)  # type: ignore[arg-type]
    for number in range(100):
        assert not await asked.is_allowed(f"h{number}.example.com")
    assert counted.count <= 2


async def test_international_names_are_kept_in_ascii(kurz, dns, service, prove, one):
    verified = await prove(one, "Bücher.EXAMPLE")
    assert verified.host == "xn--bcher-kva.example"
    assert dns.questions == [("udp", "_kurz.xn--bcher-kva.example")]
    assert await service.add(one, "xn--BCHER-kva.example") == verified
    assert await service.get(one, "bücher。example") == verified
    assert await served(kurz) == {"xn--bcher-kva.example": one}


@pytest.mark.parametrize("host", ["kurz.example", "KURZ.example.", "kurz。example"])
async def test_the_own_address_is_nobodys(service, one, host):
    with pytest.raises(DomainRefused):
        await service.add(one, host)
    assert await service.list(one) == []


async def test_what_is_no_host_is_found_nowhere(service, one):
    for act in (service.get, service.verify, service.remove):
        for host in ("", "a b", "\ud800", "'; DROP TABLE domains; --", "x" * 300):
            with pytest.raises(DomainNotFound):
                await act(one, host)


async def test_a_receipt_is_kept_with_the_domain(kurz, service, one, clock):
    def receipt(key: bytes) -> Receipt:
        return Receipt("account:1", key, b"print", clock.now(), lambda made: made.host.encode())

    async def find(key: bytes) -> bytes | None:
        found = await SqlReceiptStore(kurz.database).find("account:1", key, clock.now())
        return None if found is None else found.answer

    await service.add(one, HOST, receipt(b"first"))
    await service.add(one, HOST, receipt(b"second"))
    assert [await find(key) for key in (b"first", b"second")] == [HOST.encode()] * 2
    with pytest.raises(AlreadyAnswered):
        await service.add(one, "a.example.com", receipt(b"first"))
    assert [domain.host for domain in await service.list(one)] == [HOST]


async def test_a_taken_domain_leaves_no_receipt(kurz, service, prove, one, other, clock):
    await prove(one)
    receipt = Receipt("account:1", b"key", b"print", clock.now(), lambda _: b"made")
    with pytest.raises(DomainTaken):
        await service.add(other, HOST, receipt)
    assert await SqlReceiptStore(kurz.database).find("account:1", b"key", clock.now()) is None


LABEL = "a" * 63
LONGEST = f"{LABEL}.{LABEL}.{LABEL}.{'b' * 51}.com"
GOOD_HOSTS = {
    "go.example.com": "go.example.com",
    " Go.Example.COM. ": "go.example.com",
    "example.test": "example.test",
    "printer.local": "printer.local",
    "r3---sn.example": "r3---sn.example",
    "1.example": "1.example",
    "faß.de": "xn--fa-hia.de",
    "☃.net": "xn--n3h.net",
    "ＧＯ．example": "go.example",
    "نامه\u200cای.com": "xn--mgba3gch31f060k.com",
    LONGEST: LONGEST,
}
BAD_HOSTS = [
    *("", " ", ".", "..", "example", "example.", "localhost", "LOCALHOST.", "a.localhost"),
    *("127.0.0.1", "127.1", "0x7f.1", "2130706433", "１２７.0.0.1", "1.2.3.4.", "1.2.3.4.5"),
    *("[::1]", "::1", "[::ffff:1.2.3.4]", "example.123", "example.0x1"),
    *("example.com:443", "example.com:", "https://example.com", "//example.com", "example.com/"),
    *("example.com?x", "example.com#x", "a@example.com", "a:b@example.com", "example.com\\x"),
    *("*.example.com", "_kurz.example.com", "a_b.example.com", "a._kurz.example.com"),
    *("-a.example.com", "a-.example.com", "a..example.com", ".example.com", "example.com.."),
    *(f"{LABEL}a.example.com", f"{LONGEST}m", "ü" * 60 + ".example.com", "x" * 100_000),
    *("exa mple.com", "exa\tmple.com", "example.com\x00", "a\r\nb.example.com", "\x7f.example.com"),
    *("%65xample.com", "ex％41mple.com", "ex／ample.com", "a：80.example.com", "a＠b.example.com"),
    *("\ud800.example.com", "exa\u00admple.com", "exa\u200bmple.com", "\u202eexample.com"),
    *("example.com,other.com", "example.com;x", "<b>.example.com", "'.example.com", "a|b.example"),
]


@pytest.mark.parametrize("host", GOOD_HOSTS, ids=ascii)
def test_a_host_has_one_spelling(host):
    assert normalise_host(host) == GOOD_HOSTS[host]
    assert normalise_host(GOOD_HOSTS[host]) == GOOD_HOSTS[host]


@pytest.mark.parametrize("host", BAD_HOSTS, ids=lambda host: ascii(host)[:40])
def test_a_hostile_host_is_refused(host):
    with pytest.raises(DomainRefused):
        normalise_host(host)


@pytest.mark.parametrize("host", ["co.uk", "CO.UK.", "github.io", "公司.cn"])
async def test_a_public_suffix_is_nobodys_domain(service, one, host):
    with pytest.raises(DomainRefused, match="public suffix"):
        await service.add(one, host)
    assert await service.list(one) == []
    await service.add(one, f"go.{host}")


async def test_the_longest_host_can_be_looked_up(dns, lookup):
    dns.put(f"_kurz.{LONGEST}", "here")
    assert await lookup.lookup(f"_kurz.{LONGEST}") == ["here"]


async def test_a_second_server_answers_for_a_silent_one(dns, dns_server):
    dns.put("name.example", "here")
    with DnsServer() as silent:
        silent.trouble("name.example", Trouble.SILENCE)
        lookup = DnsTxtLookup((silent.address, dns.address))
        assert await lookup.lookup("name.example") == ["here"]


async def test_nobody_at_the_server_is_a_failed_lookup():
    with pytest.raises(DomainLookupFailed):
        await DnsTxtLookup((f"127.0.0.1@{free_port()}",)).lookup("name.example")


@pytest.mark.parametrize("name", ["", ".", "a..b", "x" * 64 + ".example", "\ud800", "x." * 200])
async def test_a_name_that_dns_cannot_carry_is_a_failed_lookup_or_nothing(lookup, name):
    with contextlib.suppress(DomainLookupFailed):
        assert await lookup.lookup(name) == []


@pytest.mark.parametrize(
    "server", ["", "name.example", "127.0.0.1@", "127.0.0.1@0", "127.0.0.1@65536", "1@2@3", "::1@x"]
)
def test_a_server_that_is_no_address_is_refused(server):
    with pytest.raises(SettingRefused, match="KURZ_DNS_SERVERS"):
        DnsTxtLookup((server,))


def test_servers_have_a_port_if_they_want():
    servers = NameServers(("9.9.9.9", "127.0.0.1@5353", "::1", "::1@5353"))
    assert [(server.address, server.port) for server in servers._servers] == [
        ("9.9.9.9", 53),
        ("127.0.0.1", 5353),
        ("::1", 53),
        ("::1", 5353),
    ]
