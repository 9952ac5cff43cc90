"""Downloads and streams: a client that reads slowly holds up nobody but itself."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace

import httpx2
import pytest

from kurz.api.http.downloads import Downloads
from kurz.settings.model import Settings
from support.desk import code_of
from support.feed import until
from support.serving import open_app

OPEN = 3
STREAM = "/api/v1/me/stats/live"
PATHS = ["/api/v1/links/export", "/api/v1/me/export", "/api/v1/me/stats/export?what=events"]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, limit_downloads=OPEN, limit_streams=OPEN)


class SlowReader:
    """A client that reads the start of an answer, and the rest when it is told to."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        self.status = self.messages = 0
        self.began, self.may_read = asyncio.Event(), asyncio.Event()
        target, _, query = path.partition("?")
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": target,
            "raw_path": target.encode(),
            "query_string": query.encode(),
            "headers": [
                (b"host", b"kurz.test"),
                *((name.lower().encode(), value.encode()) for name, value in headers.items()),
            ],
            "client": ("127.0.0.1", 50_000),
            "server": ("kurz.test", 80),
        }

    def has_answered(self) -> bool:
        """More than the status; a stream may go on."""
        return self.messages > 1

    async def run(self, app) -> None:
        await app(self._scope, self._receive, self._send)

    async def _receive(self):
        await asyncio.Event().wait()

    async def _send(self, message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.messages += 1
        self.began.set()
        await self.may_read.wait()


@pytest.mark.parametrize("path", PATHS)
async def test_an_account_has_few_downloads_open_at_a_time(kurz, people, path):
    person, other = await people.add(), await people.add()
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://kurz.test") as client:
            readers = [SlowReader(path, person.headers) for _ in range(OPEN)]
            open_ones = [asyncio.create_task(reader.run(app)) for reader in readers]
            for reader in readers:
                await reader.began.wait()
                assert reader.status == 200
            for refused_path in PATHS:
                refused = await client.get(refused_path, headers=person.headers)
                assert code_of(refused) == (429, "too-many-downloads")
                assert refused.headers["retry-after"] == "5"
            assert (await client.get(path, headers=other.headers)).status_code == 200
            readers[0].may_read.set()
            await open_ones[0]
            assert (await client.get(path, headers=person.headers)).status_code == 200
            for reader in readers:
                reader.may_read.set()
            await asyncio.gather(*open_ones)


async def test_an_account_has_few_streams_open_at_a_time(kurz, people):
    person = await people.add()
    async with open_app(kurz) as app:
        readers = [SlowReader(STREAM, person.headers) for _ in range(OPEN + 1)]
        open_ones = []
        for reader in readers:
            reader.may_read.set()
            open_ones.append(asyncio.create_task(reader.run(app)))
            await until(reader.has_answered)
        assert [reader.status for reader in readers] == [200] * OPEN + [429]
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


def test_no_limit_is_no_limit():
    downloads = Downloads(0)
    with ExitStack() as open_ones:
        for _ in range(100):
            open_ones.enter_context(downloads.hold(7))
