"""Names and their addresses: what DNS says, and what the checker makes of it."""

import asyncio
from contextlib import suppress

import pytest

from kurz.outbound.dns import NameServers
from kurz.safety.checks import Finding, Reason
from servers.dns import DnsServer, Trouble
from servers.process import free_port
from servers.web import redirects, says
from support.calls import watch_connects
from support.checking import INSIDE, OUTSIDE, make_checker
from support.findings import BROKEN, NO_ANSWER, NOT_PUBLIC, OK, UNKNOWN, answered
from support.sockets import open_sockets


async def test_a_name_has_several_addresses_and_one_that_answers_is_enough(dns, web, checker):
    dns.put_addresses("many.example", "127.0.0.3", "127.0.0.4", OUTSIDE)
    web.manners["/"] = says(200)
    url = f"http://many.example:{web.port}/"
    assert await checker.check(url, was_ok=False) == NOT_PUBLIC
    wider = make_checker(dns, {web.port}, networks=["127.0.0.2", "127.0.0.3", "127.0.0.4"])
    assert await wider.check(url, was_ok=False) == answered(OK, 200)


async def test_five_addresses_of_a_family_are_tried(dns):
    port = free_port()
    dns.put_addresses("many.example", *(f"127.0.1.{number}" for number in range(1, 9)), "::1")
    checker = make_checker(dns, {port}, networks=["127.0.1.0/24", "::1"])
    with watch_connects() as calls:
        finding = await checker.check(f"http://many.example:{port}/", was_ok=False)
    assert finding == NO_ANSWER
    assert len(calls) == 12
    for each_try in calls[:6], calls[6:]:
        assert len({address for address, _ in each_try}) == 6
    assert calls[-1] == ("::1", port)


async def test_all_addresses_are_judged_though_only_five_are_called(dns, web, checker):
    checker = make_checker(dns, {web.port}, networks=["127.0.1.0/24"])
    dns.put_addresses("many.example", *(f"127.0.1.{n}" for n in range(1, 60)), INSIDE)
    with watch_connects() as calls:
        finding = await checker.check(f"http://many.example:{web.port}/", was_ok=False)
    assert finding == NOT_PUBLIC
    assert {port for _, port in calls} <= {dns.port}  # the answer is too long for UDP


@pytest.mark.parametrize(
    "trouble", [Trouble.SERVFAIL, Trouble.REFUSED, Trouble.SILENCE, Trouble.GARBAGE]
)
async def test_name_servers_that_do_not_answer_say_nothing_about_the_site(
    dns, checker, base, trouble
):
    dns.trouble("site.example", trouble)
    finding = await checker.check(f"{base}/", was_ok=True)
    assert finding == Finding(UNKNOWN, Reason.NAME_SERVERS)


async def test_so_do_name_servers_that_are_not_there(web):
    with DnsServer() as dead:
        pass
    checker = make_checker(dead, {web.port})
    found = await checker.check(f"http://site.example:{web.port}/", was_ok=True)
    assert found == Finding(UNKNOWN, Reason.NAME_SERVERS)


async def test_a_name_that_is_gone_is_broken_if_it_was_there(dns, checker, base):
    dns.forget("site.example")
    assert await checker.check(f"{base}/", was_ok=True) == Finding(BROKEN, Reason.NO_NAME)
    assert await checker.check(f"{base}/", was_ok=False) == NOT_PUBLIC


async def test_an_alias_for_nothing_does_not_tell_what_there_is(dns, checker, base):
    dns.put_alias("site.example", "nothing.corp.example")
    assert await checker.check(f"{base}/", was_ok=True) == NOT_PUBLIC


async def test_a_name_without_addresses_is_not_public(dns, checker, base):
    dns.put("site.example", "a text")
    assert await checker.check(f"{base}/", was_ok=True) == NOT_PUBLIC


async def test_an_alias_is_followed_to_the_outside(dns, web, checker):
    dns.put_alias("www.example", "cdn.example")
    dns.put_alias("cdn.example", "site.example")
    web.manners["/"] = says(200)
    found = await checker.check(f"http://www.example:{web.port}/", was_ok=False)
    assert found == answered(OK, 200)
    assert f"Host: www.example:{web.port}" in web.heard[0].head


async def test_what_is_inside_and_what_does_not_exist_are_one_answer(dns, web, inner, base):
    """Or whoever makes links could ask us which names there are in our networks."""
    checker = make_checker(dns, {web.port})
    dns.put_alias("to-inside.example", "inside.example")
    dns.put_alias("to-nothing.example", "nothing.example")
    hosts = ["inside.example", "nothing.example", "to-inside.example", "to-nothing.example"]
    findings = []
    for host in [*hosts, INSIDE, "[::1]", "10.0.0.1"]:
        onward = f"http://{host}:{web.port}/"
        web.manners["/onward"] = redirects(onward)
        findings += [
            await checker.check(onward, was_ok=False),
            await checker.check(f"{base}/onward", was_ok=False),
            await checker.check(f"{base}/onward", was_ok=True),
        ]
    assert set(findings) == {NOT_PUBLIC}
    assert inner.visits == 0


@pytest.mark.parametrize("turns", range(8))
async def test_a_lookup_that_is_cancelled_at_any_moment_leaves_no_socket_behind(dns, turns):
    """Else a loop that ran it could never be closed."""
    before = open_sockets()
    asking = asyncio.ensure_future(NameServers((dns.address,)).ask("site.example", "A", 2))
    for _ in range(turns):
        await asyncio.sleep(0)
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    for _ in range(4):
        await asyncio.sleep(0)
    assert open_sockets() == before
