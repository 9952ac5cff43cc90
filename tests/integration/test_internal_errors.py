"""A mistake of ours tells the visitor nothing of our insides, and the operator where to look."""

import itertools
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from kurz.storage.engine.database import Database
from kurz.storage.engine.sqlite import SqliteDatabase
from kurz.storage.links.store import SqlLinkStore
from kurz.storage.people.workspaces import SqlWorkspaceStore
from kurz.wiring.core import Kurz
from servers.binaries import postgres_programs
from support.headers import check_headers
from support.serving import open_app

API = "/api/v1/links"
PAGE = {"accept": "text/html"}
BASE = "https://go.example.com"
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


class Broken(SqliteDatabase):
    """A database that becomes one with a mistake in it, rather than an outage."""

    def __init__(self, database: Database) -> None:
        self._write = database.write
        self.is_broken = False

    async def read(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_broken:
            raise RuntimeError("secret insides")
        return await self._write(*args, **kwargs)

    write = check = look_up = read

    async def write_together(self, query: Any, item: Any) -> Any:
        return (await self.write(query, [item]))[0]

    def direct_reader(self) -> Any:
        return BusyReader()


class BusyReader:
    """Leaves it to `read`."""

    def rows(self, *_: object) -> None: ...

    def close(self) -> None: ...


@asynccontextmanager
async def broken_client(
    kurz: Kurz, base_url: str | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    broken = Broken(kurz.database)
    parts = replace(
        kurz,
        settings=replace(kurz.settings, base_url=base_url),
        database=broken,
        store=SqlLinkStore(broken),
        workspaces=SqlWorkspaceStore(broken),
    )
    async with open_app(parts) as app:
        broken.is_broken = True
        transport = httpx2.ASGITransport(app=app)
        # Written as it is by default, with all that every frame knows, a mistake takes a second.
        with capture_logs():
            async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
                yield client


@on_sqlite
@pytest.mark.parametrize("base_url", [None, BASE])
async def test_a_mistake_of_ours_tells_nothing_of_itself(kurz, base_url):
    asked = itertools.product(("/abcdefg", "/@team/abc", "/readyz"), ({}, PAGE))
    async with broken_client(kurz, base_url) as client:
        for path, accept in asked:
            answer = await client.get(path, headers=accept)
            assert answer.status_code == 500
            check_headers(answer)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["cache-control"] == "no-store"
            told = answer.json()
            assert told["type"] == "/api/problems/internal-error"
            assert told["status"] == 500
            for inside in ("secret insides", "RuntimeError", "Traceback", ".py"):
                assert inside not in answer.text


@on_sqlite
async def test_a_mistake_of_ours_says_where_to_look_for_it(kurz):
    async with broken_client(kurz, BASE) as client:
        for path in ("/abcdefg", "/readyz"):
            assert "X-Request-Id" in (await client.get(path)).json().get("detail", "")


DROP = "import pysqlite3, sys; pysqlite3.connect(sys.argv[1], 10).execute('DROP TABLE links')"


def drop_links(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Breaks the schema under a running program, as no outage would."""
    if engine == "sqlite":
        subprocess.run([sys.executable, "-c", DROP, tmp_path / "kurz-data" / "kurz.db"], check=True)
    else:
        url = request.getfixturevalue("postgres_url")
        psql = [postgres_programs() / "psql", "-Xqc", "DROP TABLE links", url]
        subprocess.run(psql, check=True, capture_output=True)


def test_a_mistake_of_ours_is_logged_under_its_number_without_secrets(
    program, engine, request, tmp_path
):
    drop_links(engine, request, tmp_path)
    with program.client(headers={"cookie": "session=do-not-log-me"}) as client:
        secret = {"authorization": "Bearer kurz_do-not-log-me"}
        followed = client.get("/abcdefg", headers={**PAGE, **secret})
        assert client.get(API, headers=secret).status_code == 401
        created = client.post(
            API, json={"original_url": "https://example.com/?token=do-not-log-me"}
        )
        assert client.get("/healthz").status_code == 200
    lines = [json.loads(line) for line in program.log().splitlines()]
    for answer in (followed, created):
        assert answer.status_code == 500
        check_headers(answer)
        assert "links" not in answer.text.replace(API, "")
        number = answer.headers["x-request-id"]
        (mistake,) = [
            line
            for line in lines
            if line.get("request_id") == number and line["event"] == "request failed"
        ]
        assert mistake["level"] == "error"
        assert "links" in json.dumps(mistake["exception"])
        assert {"path": mistake["path"], "status": 500}.items() <= next(
            line.items()
            for line in lines
            if line.get("request_id") == number and line["event"] == "request"
        )
    assert "do-not-log-me" not in program.log()
