"""How long a check may take, and whose turn it is at a site."""

import asyncio

import pytest

from kurz.outbound import checker as checker_module
from kurz.outbound.sites import SiteGate
from kurz.safety.checks import NoTurn
from servers.web import Heard, by_method, redirects, says, says_nothing
from support.checking import OUTSIDE, make_checker
from support.findings import BROKEN, NO_ANSWER, NOT_PUBLIC, OK, answered


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
    finding = await checker.check(f"{base}/", was_ok=False, is_requested=True)
    assert finding == answered(BROKEN, 404)
    assert web.lines == ["HEAD /", "HEAD /b", "GET /b"]
    assert gate.seconds_until("site.example") > 900  # the next one is a whole turn later
    with pytest.raises(NoTurn):
        await checker.check(f"{base}/", was_ok=False, is_requested=True)


async def test_who_asks_does_not_wait_for_checks_that_nobody_asked_for(dns, web, base):
    web.manners = {"/": redirects("/b"), "/b": says(404)}
    gate = SiteGate(seconds_between=1000)
    gate.called("site.example")
    checker = make_checker(dns, {web.port}, gate=gate)
    finding = await checker.check(f"{base}/", was_ok=False, is_requested=True)
    assert finding == answered(BROKEN, 404)


async def test_an_address_that_is_not_called_takes_no_turn(dns, web):
    gate = SiteGate()
    checker = make_checker(dns, {web.port}, gate=gate)
    assert await checker.check(f"http://10.0.0.1:{web.port}/", was_ok=False) == NOT_PUBLIC
    assert gate.seconds_until("10.0.0.1") == 0
