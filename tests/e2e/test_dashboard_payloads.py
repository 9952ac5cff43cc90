"""What strangers and users write does nothing in the dashboard, on any of its pages: no script of
theirs runs, and nothing has to be stopped by the policy."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from data.payloads import SCRIPTS
from support.clicks import loaded, wait_until
from support.long_run import in_the_long_run
from support.program import Program
from support.visitor import Visitor

# Text is the same in every engine.
pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

PAGES = Path(__file__).parents[2] / "web" / "src" / "app" / "pages.ts"
EMAIL, PASSWORD = "ada@example.com", "correct horse battery"
FORM = {"content-type": "application/x-www-form-urlencoded"}


class Hostile:
    """An installation where everybody wrote payloads wherever they could; `ids` names one thing of
    each kind."""

    def __init__(self, program: Program, texts: list[str]) -> None:
        self.ids: dict[str, Any] = {}
        self._texts = texts
        with program.client() as self._client:
            body = {"email": EMAIL, "password": PASSWORD}
            signed_in = self._client.post("/api/v1/auth/sign-in", json=body)
            self._client.headers["authorization"] = f"Bearer {signed_in.json()['token']}"
            self.titles = self._write_links("/api/v1/links")
            self._write_team()
            self._write_around()
            self._visit(program)

    def _write_links(self, path: str) -> list[str]:
        made = []
        for number, text in enumerate(self._texts):
            query = quote(text, safe="")
            url = f"https://example.com/{query}?utm_source={query}&utm_campaign={text}#{text}"
            body = {"original_url": url, "title": text[:200], "notes": text}
            answer = self._client.post(path, json={**body, "tags": [tag_of(text)]})
            if answer.status_code != 201:  # there is no such address
                body["original_url"] = f"https://example.com/{number}"
                answer = self._client.post(path, json=body)
            assert answer.status_code == 201, (text, answer.text)
            made.append(answer.json())
        self.ids.setdefault("links", made[0]["id"])
        assert self._client.delete(f"{path}/{made[-1]['id']}").status_code == 204
        return [one["title"] for one in made[:-1]]

    def _write_team(self) -> None:
        for number, text in enumerate(self._texts[:3]):
            body = {"name": text[:80], "slug": f"team{number}"}
            team = self._client.post("/api/v1/workspaces", json=body)
            assert team.status_code == 201, team.text
            self.ids.setdefault("workspaces", team.json()["id"])
        base = f"/api/v1/workspaces/{self.ids['workspaces']}"
        self._write_links(f"{base}/links")
        for text in self._texts:
            self._client.post(f"{base}/domains", json={"host": text})
        self._client.post(f"{base}/domains", json={"host": "go.example.org"})

    def _write_around(self) -> None:
        post, put = self._client.post, self._client.put
        for text in self._texts[:4]:
            key = post("/api/v1/keys", json={"name": text[:80], "scopes": ["links:read"]})
            assert key.status_code == 201, key.text
        accounts = [f"{name}@example.com" for name in ("grace", '"<b>"', "a'b", "<svg/onload=1>")]
        for email in accounts:
            post("/api/v1/auth/register", json={"email": email, "password": PASSWORD})
        banned = put("/api/v1/admin/hosts/evil.example/ban", json={"reason": self._texts[0][:200]})
        assert banned.status_code < 300, banned.text

    def _visit(self, program: Program) -> None:
        """Those who follow links, and report them."""
        link = self._client.get(f"/api/v1/links/{self.ids['links']}").json()
        code = link["short_code"]
        with program.client() as stranger:
            for text in (text for text in self._texts if text.isprintable()):
                raw = text.encode()
                headers = [(name, raw) for name in (b"user-agent", b"accept-language")]
                referrer = (b"referer", b"https://" + raw)
                stranger.get(f"/{code}?q={quote(text)}", headers=[*headers, referrer])
                form = {"category": "other", "message": text, "contact": text[:200]}
                self._report(stranger, code, form)
            followed = sum(text.isprintable() for text in self._texts)
        wait_until(lambda: loaded(program) == followed)
        [first, *_] = self._client.get("/api/v1/reports").json()["reports"]
        self.ids["reports"] = first["id"]

    def _report(self, stranger: httpx2.Client, code: str, form: dict[str, str]) -> None:
        body = "&".join(f"{name}={quote(value, safe='')}" for name, value in form.items())
        headers = FORM | {"sec-fetch-site": "same-origin"}
        sent = stranger.post(f"/{code}+", content=body, headers=headers)
        assert sent.status_code == 202, sent.text


def tag_of(text: str) -> str:
    """As much of it as a tag can hold."""
    return re.sub(r"[\s,]", "", text)[:40]


def pages(ids: dict[str, Any]) -> Iterator[str]:
    """The address of every page that `app/pages.ts` names, also in a workspace."""
    found = 0
    for pattern, reach in re.findall(
        r'\n  page\("([^"]+)", .+?\)(?:, (\w+))?\),', PAGES.read_text()
    ):
        path = re.sub(r"([a-z]*)/:\w+", lambda it: f"{it[1]}/{_id(it[1], ids)}", pattern)
        if reach in ("EVERY_PLACE", "WORKSPACES"):
            yield f"/app/w/{ids['workspaces']}{path}"
        if reach != "WORKSPACES":
            yield f"/app{path}"
        found += 1
    assert found >= 15


def _id(kind: str, ids: dict[str, Any]) -> Any:
    return ids.get(kind, ids["links"])


def check(visitor: Visitor, path: str) -> None:
    visitor.visit(path)
    visitor.settle()
    visitor.touch()
    visitor.settle()
    assert (visitor.ran, visitor.complaints) == ([], []), path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("texts", [SCRIPTS[::18], *in_the_long_run(SCRIPTS)], ids=["some", "all"])
def test_no_page_runs_what_people_wrote(start_program, environment, visit, texts):
    program = start_program(
        **environment,
        KURZ_ADMIN_EMAIL=EMAIL,
        KURZ_ADMIN_PASSWORD=PASSWORD,
        KURZ_METRICS="public",
    )
    hostile = Hostile(program, texts)
    visitor = visit(program)
    for text in texts[::3]:
        check(visitor, f"/app/sign-in?next={quote(text)}")
        check(visitor, f"/?url={quote(text)}#{quote(text)}")
    visitor.visit("/app/sign-in")
    visitor.type("E-mail", EMAIL)
    visitor.type("Password", PASSWORD)
    visitor.press("Enter")
    visitor.wait_for("location.pathname === '/app/links'")
    visitor.wait_for_text(hostile.titles[0])
    for path in pages(hostile.ids):
        check(visitor, path)
    for text in texts[::3]:
        check(visitor, f"/app/links?search={quote(text)}&tag={quote(text)}&status={quote(text)}")
    check_files(visitor, texts)


def check_files(visitor: Visitor, texts: list[str]) -> None:
    """Of links: what they are called, what their columns are, and rows that are refused."""
    for text in texts[::3]:
        cell = '"' + text.replace('"', '""') + '"'
        visitor.visit("/app/import")
        visitor.give(f"{text}.csv", f"original_url,title,{cell}\r\n{cell},{cell},{cell}\r\n")
        visitor.settle()
        visitor.touch()
        visitor.settle()
        assert text[:8] in visitor.text()
        assert (visitor.ran, visitor.complaints) == ([], []), text


def test_it_notices_what_runs(visitor):
    """Else the other test would say nothing."""
    visitor.visit("/")
    visitor.evaluate("alert(1)")
    assert visitor.ran == ["alert"]
