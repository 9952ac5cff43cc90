"""Certificates that the checker accepts."""

import ssl

from kurz.safety.checks import Finding
from servers.web import WebServer, says
from support.certificates import client_context, server_context
from support.checking import OUTSIDE, make_checker
from support.findings import NO_ANSWER, OK, answered


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
