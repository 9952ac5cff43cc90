"""Domains are proved over real DNS, on both engines."""

import asyncio
import base64
import hashlib
import hmac
import time
from dataclasses import replace

import pytest

from kurz.outbound.dns import TOTAL_SECONDS
from kurz.people.custom_domains import Domain
from kurz.people.errors import DomainLookupFailed, DomainNotVerified
from servers.dns import Trouble
from support.custom_domains import HOST, KEY, make_service, served
from support.engines import usually_on
from support.slack import slack


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
        with pytest.raises(DomainNotVerified):
            await service.verify(one, HOST)
    dns.put(name, (b"\xff\xfe",))
    with pytest.raises(DomainNotVerified):
        await service.verify(one, HOST)
    dns.put(name, f" {value} ")  # as some panels of name servers store what was pasted
    assert (await service.verify(one, HOST)).is_active


@pytest.mark.parametrize("has_name", [True, False], ids=["no record", "no name"])
async def test_a_missing_record_is_named(kurz, dns, service, one, clock, has_name):
    domain = await service.add(one, HOST)
    name, value = service.instructions(domain)
    if has_name:
        dns.put(name)
    with pytest.raises(DomainNotVerified) as caught:
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
    with pytest.raises(DomainNotVerified, match="no longer serves your links"):
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
