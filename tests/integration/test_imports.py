"""Imports over the API: how many rows, how many at once, and how much is answered."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from kurz.settings.model import Settings
from support.engines import sqlite_first
from support.people import People, Person

engine = sqlite_first  # the contracts of transfers are tried on every engine
IMPORT = "/api/v1/links/import"
ROWS, ALLOWED = 20, 1200


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, limit_import_rows=ROWS, limit_import_rows_allowed=ALLOWED)


@pytest.fixture
async def person(people: People) -> Person:
    return await people.add()


def lines(count: int) -> bytes:
    return b"".join(
        json.dumps({"url": f"https://example.com/{n}", "code": f"row-{n}"}).encode() + b"\n"
        for n in range(count)
    )


async def send(
    client: httpx2.AsyncClient, person: Person, content: Any, kind: str = "jsonl", query: str = ""
) -> httpx2.Response:
    path = f"{IMPORT}?format={kind}{query}"
    return await client.post(path, content=content, headers=person.headers)


async def total(client: httpx2.AsyncClient, person: Person) -> int:
    number: int = (await client.get("/api/v1/links", headers=person.headers)).json()["total"]
    return number


async def allow(client, people, person: Person, *, is_allowed: bool) -> None:
    admin = await people.add(is_admin=True)
    answer = await client.patch(
        f"/api/v1/admin/accounts/{person.id}",
        json={"may_import_many": is_allowed},
        headers=admin.headers,
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["may_import_many"] is is_allowed


@pytest.mark.parametrize("query", ["", "&dry_run=true"])
async def test_a_file_of_more_rows_is_refused_whole(client, person, query):
    answer = await send(client, person, lines(ROWS + 1), query=query)
    assert answer.status_code == 413
    problem = answer.json()
    assert problem["type"].endswith("/import-too-large")
    assert problem["max_rows"] == ROWS
    assert await total(client, person) == 0
    answer = await send(client, person, lines(ROWS), query=query)
    assert answer.json()["summary"]["created"] == ROWS


async def test_rows_are_counted_and_not_lines(client, person):
    """A row may have several, and an empty line is none."""
    rows = "".join(f'https://example.com/{n},"a\nb\n\nc"\n' for n in range(ROWS))
    answer = await send(client, person, f"url,notes\n{rows}\n\n\n".encode(), "csv")
    assert answer.json()["summary"]["created"] == ROWS
    assert (await send(client, person, b"\n" * 1000 + lines(ROWS))).status_code == 200
    more = f"url,notes\n{rows}https://example.com/,x".encode()
    assert (await send(client, person, more, "csv")).status_code == 413


@pytest.mark.parametrize("head", [b"", b"url\n", b'url\n"\n'], ids=["none", "url", "quote"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
async def test_a_file_of_empty_lines_is_refused_before_all_of_them_are_read(
    client, person, head, kind
):
    answer = await send(client, person, head + b"\n" * 900_000, kind)
    problem = answer.json()
    assert answer.status_code == 422, answer.text
    assert problem["type"].endswith("/file-refused")
    is_quote = kind == "csv" and b'"' in head
    is_row = kind == "jsonl" and head
    assert problem["reason"] == ("unclosed-quote" if is_quote else "empty-lines")
    if not is_quote:
        rows = {0: "0 rows", 1: "1 row", 2: "2 rows"}[head.count(b"\n") if is_row else 0]
        assert problem["detail"] == (
            f"The first 70,000 lines contain only {rows}. Remove the empty lines."
        )


async def test_a_quote_that_is_not_closed_is_named(client, person):
    """Its rows would be too many."""
    text = b"not a row\n" * 90_000
    answer = await send(client, person, b'url,notes\na,b\nc,"' + text, "csv")
    assert answer.status_code == 422, answer.text
    problem = answer.json()
    assert (problem["reason"], problem["line"]) == ("unclosed-quote", 3)
    assert problem["detail"] == (
        "The quote in line 3 is not closed, or its row has more than 64 KiB. Close the quote"
        " and import the file again."
    )
    closed = await send(client, person, b'url,notes\na,b\nc,"' + text + b'"', "csv")
    assert closed.json()["line"] == 3
    assert await total(client, person) == 0


async def test_a_quote_inside_a_cell_is_not_blamed_for_too_many_rows(client, person):
    rows = b'https://example.com/,5" pipe\n' * (ROWS + 2)
    answer = await send(client, person, b"url,notes\n" + rows, "csv")
    assert answer.status_code == 413


async def test_rows_that_are_nothing_count_too(client, person):
    answer = await send(client, person, b"x\n" * (ROWS + 1), query="&dry_run=true")
    assert answer.status_code == 413


@pytest.mark.parametrize("is_announced", [True, False])
async def test_a_file_has_only_so_many_bytes(client, person, is_announced):
    """However few rows they are."""

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"\n" * 500_000

    content = b"\n" * 1_500_000 if is_announced else chunks()
    answer = await send(client, person, content)
    assert answer.status_code == 413
    assert answer.json()["type"].endswith("/import-too-large")
    assert (await send(client, person, lines(1))).status_code == 200


async def test_an_administrator_allows_more(client, people, person):
    """And takes it back. The session goes on."""

    async def limit() -> int:
        number: int = (await client.get("/api/v1/me", headers=person.headers)).json()[
            "import_row_limit"
        ]
        return number

    assert await limit() == ROWS
    await allow(client, people, person, is_allowed=True)
    assert await limit() == ALLOWED
    assert (await send(client, person, lines(ROWS + 1))).status_code == 200
    assert (await send(client, person, lines(ALLOWED + 1))).status_code == 413
    await allow(client, people, person, is_allowed=False)
    assert await limit() == ROWS
    assert (await send(client, person, lines(ROWS + 1))).status_code == 413


@pytest.mark.parametrize("query", ["", "&dry_run=true"])
async def test_only_the_first_thousand_problems_are_told(client, people, person, query):
    await allow(client, people, person, is_allowed=True)
    data = lines(50) + b"x\n" * 1100
    found = (await send(client, person, data, query=query)).json()
    assert found["dry_run"] is bool(query)
    assert found["summary"] == {
        "rows": 1150,
        "created": 50,
        "existed": 0,
        "conflict": 0,
        "refused": 1100,
    }
    assert [row["line"] for row in found["problems"]] == list(range(51, 1051))
    assert found["problems_left_out"] == 100


async def test_an_account_has_one_import_at_a_time(client, people, person):
    """Whoever sends slowly holds up nobody but themselves."""
    is_requested, goes_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield lines(1)
        is_requested.set()
        await goes_on.wait()
        yield lines(2)[len(lines(1)) :]

    first = asyncio.create_task(send(client, person, slowly()))
    await is_requested.wait()
    for query in "", "&dry_run=true":
        second = await send(client, person, lines(1), query=query)
        assert second.status_code == 409
        assert second.json()["type"].endswith("/import-running")
    other = await people.add()
    assert (await send(client, other, b'{"url": "https://example.com/"}')).status_code == 200
    goes_on.set()
    assert (await first).json()["summary"]["created"] == 2
    assert (await send(client, person, lines(1))).status_code == 200


async def test_whoever_loses_access_during_an_upload_imports_nothing(client, people, person):
    admin = await people.add(is_admin=True)

    async def slowly() -> AsyncIterator[bytes]:
        yield lines(1)
        disabled = await client.patch(
            f"/api/v1/admin/accounts/{person.id}",
            json={"is_disabled": True},
            headers=admin.headers,
        )
        assert disabled.status_code == 200
        yield lines(2)[len(lines(1)) :]

    answer = await send(client, person, slowly())
    assert answer.status_code == 401, answer.text
    assert (await client.get("/row-0")).status_code == 404


@pytest.mark.parametrize("is_allowed", [False, True])
async def test_a_row_limit_that_changes_during_an_upload_counts_if_it_is_smaller(
    client, people, person, is_allowed
):
    await allow(client, people, person, is_allowed=not is_allowed)

    async def slowly() -> AsyncIterator[bytes]:
        yield lines(1)
        await allow(client, people, person, is_allowed=is_allowed)
        yield lines(ROWS + 1)[len(lines(1)) :]

    answer = await send(client, person, slowly())
    assert answer.status_code == 413, answer.text
    assert answer.json()["max_rows"] == ROWS
    assert await total(client, person) == 0


async def test_an_import_that_fails_stands_in_nobodys_way(client, person):
    assert (await send(client, person, b"price\n7\n", "csv")).status_code == 422
    assert (await send(client, person, lines(ROWS + 1))).status_code == 413
    assert (await send(client, person, lines(ROWS))).status_code == 200
