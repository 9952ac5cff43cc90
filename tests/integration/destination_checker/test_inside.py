"""The checker cannot be steered into an internal network."""

import asyncio
import socket

import pytest

from kurz.outbound.checker import open_checker
from kurz.outbound.sites import SiteGate
from kurz.safety.checks import Finding
from servers.dns import DnsServer
from servers.web import WebServer, redirects, says
from support.calls import watch_connects
from support.checking import INSIDE, OUTSIDE, make_checker
from support.findings import NOT_PUBLIC, OK, answered


@pytest.mark.parametrize("networks", [(), ("127.0.0.0/30",)])
async def test_only_the_setting_opens_a_network(dns, web, base, networks):
    async def own_hosts() -> frozenset[str]:
        return frozenset()

    web.manners["/"] = says(200)
    settings = {"networks": networks, "ports": (web.port,), "name_servers": (dns.address,)}
    checker = open_checker(own_hosts, SiteGate(), **settings)
    expected = answered(OK, 200) if networks else NOT_PUBLIC
    assert await checker.check(f"{base}/", was_ok=False) == expected


async def _flip(dns: DnsServer, web: WebServer, inner: WebServer, rounds: int) -> list[Finding]:
    """Asks for a name that changes with every question, and so between any two of ours."""
    web._fallback = says(200)
    dns.put_turns("flips.example", OUTSIDE, INSIDE)
    checker = make_checker(dns, {web.port})
    url = f"http://flips.example:{web.port}/"
    findings = []
    for number in range(rounds):
        if number % 7 == 0:  # another rhythm: the first question is sometimes the other one's
            dns.answer(_question("flips.example"), "udp")
        findings.append(await checker.check(url, was_ok=True))
    return findings


def _question(name: str) -> bytes:
    import dns.message

    return dns.message.make_query(name, "A").to_wire()


@pytest.mark.parametrize("rounds", [50, pytest.param(1000, marks=pytest.mark.long)])
async def test_a_name_that_flips_between_outside_and_inside_never_leads_inside(
    dns, web, inner, rounds
):
    with watch_connects() as calls:
        findings = await _flip(dns, web, inner, rounds)
    assert set(findings) == {answered(OK, 200), NOT_PUBLIC}
    assert len(findings) == rounds
    assert inner.visits == 0
    assert {address for address, _ in calls} == {OUTSIDE}


async def test_a_name_that_flips_while_redirects_are_followed_neither(dns, web, inner):
    dns.put_turns("flips.example", OUTSIDE, INSIDE)
    base = f"http://flips.example:{web.port}"
    web.manners = {f"/{number}": redirects(f"{base}/{number + 1}") for number in range(9)}
    checker = make_checker(dns, {web.port})
    with watch_connects() as calls:
        findings = [await checker.check(f"{base}/{n % 3}", was_ok=True) for n in range(20)]
    assert set(findings) == {NOT_PUBLIC}
    assert {address for address, _ in calls} == {OUTSIDE}
    assert inner.visits == 0


async def test_a_chain_that_ends_inside_is_not_followed_to_its_end(dns, web, inner, checker, base):
    ends = [f"http://{host}:{web.port}/" for host in (INSIDE, "inside.example", "[::ffff:7f00:1]")]
    ends += [
        f"//{INSIDE}:{web.port}/",
        f"http://0x7f.1:{web.port}/",
        f"http://2130706433:{web.port}/",
    ]
    for hops in range(5):
        for end in ends:
            for number in range(hops):
                web.manners[f"/{number}"] = redirects(f"/{number + 1}")
            web.manners[f"/{hops}"] = redirects(end)
            with watch_connects() as calls:
                assert await checker.check(f"{base}/0", was_ok=True) == NOT_PUBLIC
            assert calls == [(OUTSIDE, web.port)] * (hops + 1)
    assert inner.visits == 0


async def test_a_connection_that_ended_up_elsewhere_is_dropped_before_a_byte_is_sent(
    checker, web, inner, base, monkeypatch
):
    """However that may come about: nothing below us is believed."""
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect

    async def elsewhere(opened: socket.socket, address: tuple[str, int]) -> None:
        if address[1] == web.port:
            await connect(opened, (INSIDE, web.port))
        else:
            await connect(opened, address)

    monkeypatch.setattr(loop, "sock_connect", elsewhere)
    assert await checker.check(f"{base}/", was_ok=True) == NOT_PUBLIC
    assert inner.visits == 0
