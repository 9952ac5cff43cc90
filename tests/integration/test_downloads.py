"""Files that are downloaded: a client that reads slowly holds up nobody but itself."""

import asyncio

import httpx2
import pytest

from kurz.api.downloads import MAX_OF_ACCOUNT
from kurz.serving import open_app
from support.desk import code_of

PATHS = ["/api/v1/links/export", "/api/v1/me/export", "/api/v1/me/stats/export?what=events"]


class SlowReader:
    """A client that reads the start of an answer, and the rest when it is told to."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        self.status = 0
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

    async def run(self, app) -> None:
        await app(self._scope, self._receive, self._send)

    async def _receive(self):
        await asyncio.Event().wait()

    async def _send(self, message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        self.began.set()
        await self.may_read.wait()


@pytest.mark.parametrize("path", PATHS)
async def test_an_account_has_few_downloads_open_at_a_time(kurz, people, path):
    person, other = await people.add(), await people.add()
    async with open_app(kurz) as app:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://kurz.test") as client:
            readers = [SlowReader(path, person.headers) for _ in range(MAX_OF_ACCOUNT)]
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
