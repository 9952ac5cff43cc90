"""Lookups at name servers that are slow, missing or wrong."""

import contextlib

import pytest

from kurz.errors import SettingRefused
from kurz.outbound.dns import DnsTxtLookup, NameServers
from kurz.people.errors import DomainLookupFailed
from servers.dns import DnsServer, Trouble
from servers.process import free_port

LABEL = "a" * 63
LONGEST = f"{LABEL}.{LABEL}.{LABEL}.{'b' * 51}.com"


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
