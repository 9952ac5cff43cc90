"""Payloads in visits have no effect in logs, metrics, statistics and browsers."""

import re
from urllib.parse import quote

import httpx2
import pytest

from data.payloads import SCRIPTS
from support.browser import Browser
from support.clicks import loaded, wait_until
from support.engines import sqlite_first
from support.http import Line
from support.inert import check, check_csv
from support.long_run import in_the_long_run
from support.payloads import EVERYTHING, addresses, cut, in_headers
from support.people import PASSWORD

engine = sqlite_first  # text is the same in every one
EMAIL = "ada@example.com"


@pytest.fixture
def hostile_program(environment, start_program):
    return start_program(
        **environment,
        KURZ_METRICS="public",
        KURZ_LOG_FORMAT="text",
        KURZ_LOG_LEVEL="debug",
        KURZ_ADMIN_EMAIL=EMAIL,
        KURZ_ADMIN_PASSWORD=PASSWORD,
    )


def sign_in(client: httpx2.Client) -> dict[str, str]:
    signed_in = client.post("/api/v1/auth/sign-in", json={"email": EMAIL, "password": PASSWORD})
    return {"authorization": f"Bearer {signed_in.json()['token']}"}


def test_visits_leave_nothing_that_acts(hostile_program):
    """In logs, metrics and stats, through all processes."""
    program = hostile_program
    with program.client() as client:
        own = sign_in(client)
        made = client.post(
            "/api/v1/links",
            headers=own,
            json={"original_url": "https://example.com/", "forward_query": True},
        ).json()
        for text in EVERYTHING:
            encoded = quote(text, safe="")
            client.get(f"/api/v1/{encoded}", headers=own)
            client.get(f"/{encoded}")
        for text in in_headers(EVERYTHING):
            raw = text.encode()
            names = (b"referer", b"user-agent", b"accept-language", b"x-forwarded-for")
            followed = client.get(
                f"/{made['short_code']}?q={quote(text)}", headers=[(name, raw) for name in names]
            )
            check(followed)
            referrer = [(b"referer", b"https://" + raw)]
            client.get(f"/{made['short_code']}", headers=referrer)
        wait_until(lambda: loaded(program) == 2 * len(in_headers(EVERYTHING)))
        metrics = client.get("/metrics")
        check(metrics)
        base = f"/api/v1/links/{made['id']}/stats"
        for path in (base, f"{base}/live?seconds=0", f"{base}/export?what=events"):
            answer = client.get(path, headers=own)
            check(answer)
            assert answer.status_code == 200
            assert "<" not in answer.text
        check_csv(answer.text)
        for bad in ("script", "alert(1)", "\x1b"):
            assert bad not in metrics.text
    log = program.log()
    assert "\\x1b" in log
    assert all(line.isprintable() for line in log.split("\n"))
    assert all(
        re.match(r"\d{4}-\d\d-\d\dT\S+ +\[\w+ *\]", line) for line in log.split("\n") if line
    )


async def test_a_query_that_no_browser_sends_is_not_forwarded(hostile_program):
    """Browsers escape what is in an address; others need not."""
    with hostile_program.client() as client:
        body = {"original_url": "https://example.com/?own=1#part", "forward_query": True}
        code = client.post("/api/v1/links", headers=sign_in(client), json=body).json()["short_code"]
    for text in EVERYTHING:
        piece = re.sub(r"[\s#&]", "", text)
        raw = f"GET /{code}?{piece}&q={piece} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        async with await Line.open(hostile_program) as line:
            answer = await line.ask(raw)
        assert "alert" not in re.sub(r"(?m)^location: .*$", "", answer.head.decode())
        location = answer.header("location")
        if answer.status != 400:
            assert location is not None
            assert re.fullmatch(r"https://example\.com/\?own=1[!-~]*#part", location)
            assert not re.search(r"[<>\"\\]", location)


class TestInABrowser:
    """Nothing runs, and nothing has to be stopped by a policy."""

    @pytest.fixture(params=["with", pytest.param("without", marks=pytest.mark.long)])
    def browser(self, chromium, request):
        """With policies, and without, so that escaping alone protects."""
        with Browser(chromium, bypasses_policy=request.param == "without") as browser:
            yield browser

    def test_it_notices_what_runs(self, browser, tmp_path):
        """Else all of these would say nothing."""
        page = tmp_path / "page.html"
        page.write_text("<img src=x onerror=alert(1)>")
        assert browser.open(page.as_uri()).ran == ["alert"]
        page.write_text(
            '<meta http-equiv="content-security-policy" content="default-src \'none\'">'
            "<script>alert(1)</script>"
        )
        seen = browser.open(page.as_uri())
        assert seen.ran or seen.stopped

    @pytest.mark.timeout(600)
    @pytest.mark.parametrize(
        "texts", [SCRIPTS[::18], *in_the_long_run(SCRIPTS)], ids=["some", "all"]
    )
    def test_pages_with_payloads(self, hostile_program, browser, texts):
        url = hostile_program.url
        with hostile_program.client() as client:
            own = sign_in(client)
            for text in texts:
                for address in addresses(text):
                    body = {"original_url": address, "title": cut(text, 200), "notes": text}
                    made = client.post("/api/v1/links", headers=own, json=body)
                    if made.status_code == 201:
                        self.look(browser, made.json()["short_url"] + "+")
            for text in texts[::4]:
                encoded = quote(text, safe="")
                for path in (encoded, f"api/{encoded}", f"?{encoded}", f"app/reset#{text}"):
                    self.look(browser, f"{url}/{path}")
        self.look(browser, f"{url}/api/docs?configUrl=data:,%7B%7D&url=data:,%7B%7D")
        browser.send_headers(**own)
        for path in ("/api/v1/links?limit=100", "/api/v1/tags"):
            self.look(browser, url + path)

    def look(self, browser: Browser, url: str) -> None:
        seen = browser.open(url)
        assert (seen.ran, seen.stopped) == ([], []), (url, seen.html)
