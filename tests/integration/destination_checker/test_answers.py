"""The client that calls destinations, over real sockets and real DNS: what it finds, and what it
cannot be led to."""

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest
import uvloop

from kurz import __version__
from kurz.links.model import DestinationStatus
from kurz.outbound import checker as checker_module
from kurz.outbound import connections
from kurz.outbound.checker import DestinationChecker, open_checker, result_of
from kurz.outbound.sites import SiteGate
from kurz.safety.checks import Finding, NoTurn, Reason
from servers.dns import DnsServer, Trouble
from servers.process import free_port
from servers.web import (
    Endless,
    Heard,
    WebServer,
    by_method,
    hangs_up,
    redirects,
    resets,
    says,
    says_nothing,
)
from support.calls import watch_connects
from support.certificates import client_context, server_context
from support.checking import INSIDE, OUTSIDE, make_checker

OK, BROKEN = DestinationStatus.OK, DestinationStatus.BROKEN
UNKNOWN, NOT_CHECKED = DestinationStatus.UNKNOWN, DestinationStatus.NOT_CHECKED
NOT_PUBLIC = Finding(NOT_CHECKED, Reason.NOT_PUBLIC)
NO_ANSWER = Finding(BROKEN, Reason.NO_ANSWER)


def answered(result: DestinationStatus, status: int) -> Finding:
    return Finding(result, Reason.ANSWERED, status)


@pytest.fixture(scope="module")
def dns_server() -> Iterator[DnsServer]:
    with DnsServer() as server:
        yield server


@pytest.fixture
def dns(dns_server: DnsServer) -> DnsServer:
    """The server, knowing one name outside and one inside."""
    dns_server.clear()
    dns_server.put_addresses("site.example", OUTSIDE)
    dns_server.put_addresses("inside.example", INSIDE)
    return dns_server


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    """A server outside."""
    async with WebServer(OUTSIDE) as server:
        yield server


@pytest.fixture
async def inner(web: WebServer) -> AsyncIterator[WebServer]:
    """A server inside, on the same port. Nobody is to come."""
    async with WebServer(INSIDE, web.port, fallback=says(200)) as server:
        yield server


@pytest.fixture
def checker(dns: DnsServer, web: WebServer) -> DestinationChecker:
    return make_checker(dns, {web.port})


@pytest.fixture
def base(web: WebServer) -> str:
    return f"http://site.example:{web.port}"


# What it asks, and how it takes the answer


async def test_what_it_asks_is_short_and_says_who_asks(checker, web, base):
    web.manners["/a?b=c"] = by_method(says(405), says(206))
    assert await checker.check(f"{base}/a?b=c#part", was_ok=False) == answered(OK, 206)
    head, get = (it.head.split("\r\n") for it in web.heard)
    common = [
        f"Host: site.example:{web.port}",
        f"User-Agent: kurz/{__version__} (+link check)",
        "Accept: */*",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    assert head == ["HEAD /a?b=c HTTP/1.1", *common, "", ""]
    assert get == ["GET /a?b=c HTTP/1.1", *common, "Range: bytes=0-0", "", ""]


@pytest.mark.parametrize(
    ("result", "statuses"),
    [
        (OK, [200, 201, 204, 206, 299, 304]),
        (BROKEN, [404, 410, 500, 501, 502, 504, 520, 599]),
        (UNKNOWN, [300, 302, 400, 401, 403, 405, 406, 418, 429, 451, 499, 503]),
    ],
)
async def test_an_answer_says_what_it_says(checker, web, base, result, statuses):
    for status in statuses:
        web.manners["/"] = says(status)
        assert await checker.check(f"{base}/", was_ok=False) == answered(result, status)
        assert result_of(status) is result


@pytest.mark.parametrize("head", [says(404), says(405), says(500), says(501), hangs_up, resets])
async def test_who_does_not_answer_a_head_may_answer_a_get(checker, web, base, head):
    web.manners["/"] = by_method(head, says(200, body=b"x" * 1000))
    assert await checker.check(f"{base}/", was_ok=False) == answered(OK, 200)
    assert web.lines == ["HEAD /", "GET /"]


async def test_an_answer_to_a_head_is_enough(checker, web, base):
    web.manners["/"] = says(200)
    await checker.check(f"{base}/", was_ok=False)
    assert web.lines == ["HEAD /"]


async def garbage(_: Heard, writer: asyncio.StreamWriter) -> None:
    writer.write(b"\x00\xff\x15\x03 this is no HTTP\r\n\r\n")


async def switches(_: Heard, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("manner", [resets, hangs_up, garbage, switches])
async def test_all_that_is_no_answer_is_the_same(checker, web, base, manner):
    web.manners["/"] = manner
    assert await checker.check(f"{base}/", was_ok=True) == NO_ANSWER


async def test_a_port_where_nobody_listens_is_no_answer_and_tried_twice_as_all_others(dns):
    port = free_port()
    with watch_connects() as calls:
        finding = await make_checker(dns, {port}).check(f"http://site.example:{port}/", was_ok=True)
    assert finding == NO_ANSWER
    assert calls == 2 * [(OUTSIDE, port)]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EPERM, errno.ENETUNREACH])
async def test_what_this_machine_cannot_do_says_nothing_of_a_site(dns, monkeypatch, number):
    async def fail(*_: object) -> None:
        raise OSError(number, "not now")

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", fail)
    checker = make_checker(dns, {80})
    found = await checker.check("http://site.example/", was_ok=True)
    assert found == Finding(UNKNOWN, Reason.NO_ANSWER)


@pytest.mark.parametrize(
    ("addresses", "finding"),
    [(["::1"], Finding(UNKNOWN, Reason.NO_ANSWER)), ([OUTSIDE, "::1"], NO_ANSWER)],
)
async def test_a_machine_without_ipv6_does_not_say_that_it_is_the_site(
    dns, monkeypatch, addresses, finding
):
    loop, port = asyncio.get_running_loop(), free_port()
    connect = loop.sock_connect

    async def only_ipv4(opened: socket.socket, address: tuple[str, int]) -> None:
        if opened.family == socket.AF_INET6:
            raise OSError(errno.ENETUNREACH, "Network is unreachable")
        await connect(opened, address)

    monkeypatch.setattr(loop, "sock_connect", only_ipv4)
    dns.put_addresses("site.example", *addresses)
    checker = make_checker(dns, {port}, networks=[OUTSIDE, "::1"])
    assert await checker.check(f"http://site.example:{port}/", was_ok=True) == finding


async def test_a_server_that_says_nothing_is_left(dns, web, base):
    web.manners["/"] = says_nothing
    checker = make_checker(dns, {web.port}, total_seconds=0.3)
    assert await checker.check(f"{base}/", was_ok=True) == NO_ANSWER
    assert web.lines == ["HEAD /"]


async def test_who_says_nothing_to_a_head_may_answer_a_get(checker, web, base, monkeypatch):
    monkeypatch.setattr(checker_module, "HEAD_SECONDS", 0.2)
    web.manners["/"] = by_method(says_nothing, says(200))
    assert await checker.check(f"{base}/", was_ok=True) == answered(OK, 200)
    assert web.lines == ["HEAD /", "GET /"]


async def test_a_redirect_to_a_site_without_a_turn_is_given_up_at_once(dns, web, base):
    dns.put_addresses("other.test", OUTSIDE)
    web.manners["/"] = redirects(f"http://other.test:{web.port}/there")
    gate = SiteGate(seconds_between=1000)
    gate.called("other.test")
    checker = make_checker(dns, {web.port}, gate=gate)
    with pytest.raises(NoTurn):
        await checker.check(f"{base}/", was_ok=True)
    assert web.lines == ["HEAD /"]


async def test_all_requests_of_a_check_share_its_seconds(dns, web, base):
    async def slowly_on(heard: Heard, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.4)
        await redirects(f"{heard.target}x")(heard, writer)

    web._fallback = slowly_on
    checker = make_checker(dns, {web.port}, total_seconds=1)
    assert await checker.check(f"{base}/", was_ok=True) == NO_ANSWER
    assert len(web.heard) <= 3


async def test_waiting_for_a_turn_does_not_count(dns, web, base):
    web.manners = {"/": redirects("/b"), "/b": by_method(says(405), says(200))}
    gate = SiteGate(seconds_between=1.5)
    checker = make_checker(dns, {web.port}, gate=gate, total_seconds=2.9)
    assert await checker.check(f"{base}/", was_ok=False) == answered(OK, 200)
    assert web.lines == ["HEAD /", "HEAD /b", "GET /b"]
    assert gate.seconds_until("site.example") > 0


async def test_who_asks_waits_for_the_turn_of_a_site_once(dns, web, base):
    web.manners = {"/": redirects("/b"), "/b": says(404)}
    gate = SiteGate(seconds_between=1000)
    checker = make_checker(dns, {web.port}, gate=gate)
    finding = await checker.check(f"{base}/", was_ok=False, is_asked=True)
    assert finding == answered(BROKEN, 404)
    assert web.lines == ["HEAD /", "HEAD /b", "GET /b"]
    assert gate.seconds_until("site.example") > 900  # the next one is a whole turn later
    with pytest.raises(NoTurn):
        await checker.check(f"{base}/", was_ok=False, is_asked=True)


async def test_who_asks_does_not_wait_for_checks_that_nobody_asked_for(dns, web, base):
    web.manners = {"/": redirects("/b"), "/b": says(404)}
    gate = SiteGate(seconds_between=1000)
    gate.called("site.example")
    checker = make_checker(dns, {web.port}, gate=gate)
    finding = await checker.check(f"{base}/", was_ok=False, is_asked=True)
    assert finding == answered(BROKEN, 404)


async def test_an_address_that_is_not_called_takes_no_turn(dns, web):
    gate = SiteGate()
    checker = make_checker(dns, {web.port}, gate=gate)
    assert await checker.check(f"http://10.0.0.1:{web.port}/", was_ok=False) == NOT_PUBLIC
    assert gate.seconds_until("10.0.0.1") == 0


LINE = b"X-Field: " + b"y" * 1000 + b"\r\n"


@pytest.mark.parametrize(
    ("start", "piece", "finding"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10_000, answered(OK, 200)),
        (b"HTTP/1.1 200 OK\r\n", LINE, NO_ANSWER),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y" * 10_000, NO_ANSWER),
        (b"", b"y" * 10_000, NO_ANSWER),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, NO_ANSWER),
    ],
    ids=["a body", "fields", "one field", "a first line", "answers before the answer"],
)
async def test_what_never_ends_is_not_read_to_the_end(checker, web, base, start, piece, finding):
    web.manners["/"] = manner = Endless(start, piece)
    assert await checker.check(f"{base}/", was_ok=False) == finding
    assert manner.sent < 1024 * 1024  # buffers on both sides take some of it


async def test_proxies_of_the_environment_are_not_asked(checker, web, base, monkeypatch):
    async with WebServer(INSIDE, fallback=says(200)) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            for variable in (name, name.upper()):
                monkeypatch.setenv(variable, f"http://{INSIDE}:{proxy.port}")
        web.manners["/"] = says(204)
        assert await checker.check(f"{base}/", was_ok=False) == answered(OK, 204)
        assert proxy.heard == []


async def test_a_cookie_is_not_kept(checker, web, base):
    web.manners = {
        "/": says(302, "Location: /b", "Set-Cookie: a=b; Path=/"),
        "/b": says(200, "Set-Cookie: a=b"),
    }
    for _ in range(2):
        assert (await checker.check(f"{base}/", was_ok=False)).result is OK
    assert not any("cookie" in it.head.lower() for it in web.heard)


# Redirects


async def test_redirects_are_followed_five_times(checker, web, base):
    for number in range(6):
        web.manners[f"/{number}"] = redirects(
            f"/{number + 1}", [301, 302, 303, 307, 308, 302][number]
        )
    web.manners["/6"] = says(200)
    assert await checker.check(f"{base}/1", was_ok=False) == answered(OK, 200)
    assert len(web.heard) == 6
    finding = await checker.check(f"{base}/0", was_ok=False)
    assert finding == Finding(BROKEN, Reason.TOO_MANY_REDIRECTS, 302)
    assert len(web.heard) == 12


async def test_a_loop_is_noticed_when_it_closes(checker, web, base):
    web.manners = {"/a": redirects("/b"), "/b": redirects("/a#there")}
    finding = await checker.check(f"{base}/a", was_ok=False)
    assert finding == Finding(BROKEN, Reason.TOO_MANY_REDIRECTS, 302)
    assert web.lines == ["HEAD /a", "HEAD /b"]


async def test_a_get_may_redirect_where_a_head_is_not_known(checker, web, base):
    web.manners = {"/a": by_method(says(405), redirects("/b")), "/b": says(200)}
    assert await checker.check(f"{base}/a", was_ok=False) == answered(OK, 200)


@pytest.mark.parametrize("host", ["kurz.example", "KURZ.example.", "custom.example"])
async def test_a_redirect_to_ourselves_leads_back(dns, web, base, host):
    dns.put_addresses("kurz.example", OUTSIDE)
    dns.put_addresses("custom.example", OUTSIDE)
    web.manners["/"] = redirects(f"http://{host}:{web.port}/x")
    checker = make_checker(dns, {web.port}, own_hosts={"kurz.example", "custom.example"})
    assert await checker.check(f"{base}/", was_ok=False) == Finding(BROKEN, Reason.LEADS_BACK, 302)
    found = await checker.check(f"http://custom.example:{web.port}/", was_ok=False)
    assert found == Finding(BROKEN, Reason.LEADS_BACK)
    assert web.lines == ["HEAD /"]


@pytest.mark.parametrize(
    "onward",
    [
        "ftp://site.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "http://a:b@site.example/",
        "http://",
        "http://[::1",
        "gopher://127.0.0.1/",
        "unix:/run/x",
        "intent://site.example/",
        "/" + 3000 * "x",
    ],
)
async def test_a_redirect_to_what_is_no_destination_ends_there(checker, web, base, onward):
    web.manners["/"] = redirects(onward)
    with watch_connects() as calls:
        assert await checker.check(f"{base}/", was_ok=True) == answered(UNKNOWN, 302)
    assert calls == [(OUTSIDE, web.port)]


async def test_a_redirect_to_a_port_that_is_not_called_ends_there(checker, web, base):
    web.manners["/"] = redirects("http://site.example:22/")
    with watch_connects() as calls:
        assert await checker.check(f"{base}/", was_ok=True) == NOT_PUBLIC
    assert calls == [(OUTSIDE, web.port)]


@pytest.mark.parametrize("letter", ["ü".encode(), "ü".encode("latin-1")])
async def test_a_redirect_may_be_in_the_old_encoding(checker, web, base, letter):
    async def moved(_: Heard, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /" + letter + b"\r\n\r\n")
        await writer.drain()

    web.manners = {"/": moved, "/%C3%BC": says(200)}
    assert await checker.check(f"{base}/", was_ok=True) == answered(OK, 200)


# TLS


async def _check_tls(dns, folder, certified: str, trust: ssl.SSLContext | None) -> Finding:
    async with WebServer(
        OUTSIDE, fallback=says(200), secure=server_context(folder, certified)
    ) as web:
        if trust is None:
            trust = client_context(folder)
        checker = make_checker(dns, {web.port}, trust=trust)
        return await checker.check(f"https://site.example.:{web.port}/", was_ok=False)


async def test_a_certificate_that_is_trusted_and_for_the_name_is_fine(dns, tmp_path):
    assert await _check_tls(dns, tmp_path, "site.example", None) == answered(OK, 200)


async def test_one_that_nobody_trusts_is_no_answer(dns, tmp_path):
    trust = ssl.create_default_context()
    assert await _check_tls(dns, tmp_path, "site.example", trust) == NO_ANSWER


async def test_one_for_another_name_is_no_answer(dns, tmp_path):
    assert await _check_tls(dns, tmp_path, "other.example", None) == NO_ANSWER


async def test_one_for_the_address_alone_is_no_answer(dns, tmp_path):
    assert await _check_tls(dns, tmp_path, OUTSIDE, None) == NO_ANSWER


async def test_a_server_without_tls_is_no_answer(dns, web, base):
    checker = make_checker(dns, {web.port}, total_seconds=0.5)
    assert await checker.check(base.replace("http:", "https:") + "/", was_ok=False) == NO_ANSWER


# Names


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


# It cannot be led inside


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


async def test_no_socket_is_left_open(dns, web, base, monkeypatch):
    opened: list[socket.socket] = []
    open_really = connections._open_socket

    async def remember(*arguments):
        opened.append(await open_really(*arguments))
        return opened[-1]

    monkeypatch.setattr(connections, "_open_socket", remember)
    checker = make_checker(dns, {web.port}, total_seconds=0.5)
    for manner in (says(200), says(404), resets, hangs_up, garbage, says_nothing):
        web.manners["/"] = manner
        await checker.check(f"{base}/", was_ok=False)
    await checker.check(base.replace("http:", "https:") + "/", was_ok=False)
    await asyncio.sleep(0.1)
    assert len(opened) >= 7
    assert [it for it in opened if it.fileno() != -1] == []


def test_it_finds_the_same_on_the_loop_that_serves(dns, tmp_path):
    """That of uvloop has other sockets and another TLS than Python's."""

    async def check_all() -> list[Finding]:
        secure = server_context(tmp_path, "site.example")
        async with WebServer(OUTSIDE) as web, WebServer(OUTSIDE, secure=secure) as safe:
            checker = make_checker(
                dns, {web.port, safe.port}, trust=client_context(tmp_path), total_seconds=1
            )
            dns.put_addresses("other.example", OUTSIDE)
            web.manners = {"/": says(200), "/reset": resets, "/silent": says_nothing}
            web.manners["/inside"] = redirects(f"http://inside.example:{web.port}/")
            safe.manners = {"/": says(200)}
            urls = [
                f"http://site.example:{web.port}/{it}" for it in ("", "reset", "silent", "inside")
            ]
            urls += [f"https://{it}.example:{safe.port}/" for it in ("site", "other")]
            urls += [f"https://site.example:{web.port}/"]
            return [await checker.check(url, was_ok=False) for url in urls]

    fine = answered(OK, 200)
    expected = [fine, NO_ANSWER, NO_ANSWER, NOT_PUBLIC, fine, NO_ANSWER, NO_ANSWER]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(check_all()) == expected
