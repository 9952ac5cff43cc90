"""What the checker asks, and how it takes the answer."""

import asyncio
import errno
import socket

import pytest
import uvloop

from kurz import __version__
from kurz.outbound import connections
from kurz.outbound.checker import result_of
from kurz.safety.checks import Finding, Reason
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
from support.findings import BROKEN, NO_ANSWER, NOT_PUBLIC, OK, UNKNOWN, answered


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
