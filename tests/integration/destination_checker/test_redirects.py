"""Redirects that the checker follows."""

import asyncio

import pytest

from kurz.safety.checks import Finding, Reason
from servers.web import Heard, by_method, redirects, says
from support.calls import watch_connects
from support.checking import OUTSIDE, make_checker
from support.findings import BROKEN, NOT_PUBLIC, OK, UNKNOWN, answered


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
