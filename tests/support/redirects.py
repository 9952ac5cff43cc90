"""What a visitor of a short link gets, seen in every way that is possible."""

import httpx2
import pytest

URL = "https://example.com/a/path?x=1#part"
PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PROGRAM = {"accept": "*/*"}
BASE = "https://go.example.com"
TEAM = "https://links.team.example"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def problem(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    return answer.status_code, answer.json()["type"].removeprefix("/api/problems/")


def redirect(answer: httpx2.Response) -> tuple[int, str, str]:
    assert answer.content == b""
    assert answer.headers["content-length"] == "0"
    return answer.status_code, answer.headers["location"], answer.headers["cache-control"]


def own_headers(answer: httpx2.Response) -> dict[str, str]:
    """The headers without what differs between two answers to the same question."""
    return {name: value for name, value in answer.headers.items() if name != "x-request-id"}


async def look(client: httpx2.AsyncClient, path: str) -> list[httpx2.Response]:
    """GETs as a program, GETs as a browser, and HEADs as both, which must tell the same."""
    answers = []
    for accept in (PROGRAM, PAGE):
        got = await client.get(path, headers=accept)
        headed = await client.head(path, headers=accept)
        assert headed.content == b""
        assert headed.status_code == got.status_code
        assert own_headers(headed) == own_headers(got)
        answers.append(got)
    return answers


async def check_dead(
    client: httpx2.AsyncClient, path: str, status: int, code: str, words: str
) -> None:
    as_problem, as_page = await look(client, path)
    assert problem(as_problem) == (status, code)
    assert as_page.status_code == status
    assert as_page.headers["content-type"] == "text/html; charset=utf-8"
    assert words in as_page.text
    for answer in (as_problem, as_page):
        assert "location" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["vary"] == "accept, accept-language"
        assert "example.com" not in answer.text


MISSING = (404, "link-not-found", "Link not found")
EXPIRED = (410, "link-expired", "expired")
EXHAUSTED = (410, "link-exhausted", "reached its click limit")
BANNED = (410, "link-banned", "taken down")
