"""An import over the API leaves the worker to others."""

import asyncio
import json
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.requests import Request

from kurz.api.http.uploads import Upload
from kurz.errors import KurzError
from kurz.links.transfers import ImportTarget, OneTarget, Summary, TransferFormat
from support.engines import without_redis

engine = without_redis  # which has no part in it
ROWS = 2000
CHUNK = 16 * 1024


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), CHUNK):
        yield data[start : start + CHUNK]


@contextmanager
def watched() -> Iterator[list[float]]:
    """How long each turn of the loop takes."""
    turns: list[float] = []

    async def watch() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            turns.append(now - last)
            last = now

    watching = asyncio.create_task(watch())
    yield turns
    watching.cancel()


def assert_short(turns: list[float]) -> None:
    long_ones = [turn for turn in turns if turn > 0.000_15]
    assert statistics.quantiles(long_ones, n=10)[-1] < 0.002


@pytest.mark.deadlines
@pytest.mark.parametrize("is_dry", [False, True])
async def test_others_have_their_turn_all_the_time(kurz, is_dry):
    """Measured in processor time of the loop's thread, which a busy machine does not change. Of
    batches of 512 rows, the tenth that takes longest takes 14 ms."""
    rows = [
        {"url": f"https://www.example.com/{n}?utm_source=letter", "code": f"r{n}", "tags": ["a"]}
        for n in range(ROWS)
    ]
    data = "\n".join(json.dumps(row) for row in rows).encode()
    summary = Summary()
    with watched() as turns:
        async for results in kurz.importer.run(
            chunks(data),
            TransferFormat.JSONL,
            OneTarget(ImportTarget()),
            is_dry=is_dry,
            gives_way=True,
        ):
            summary.add(results)
    assert summary.view()["created"] == ROWS
    assert_short(turns)


@pytest.mark.deadlines
async def test_empty_lines_do_not_take_long_turns(kurz):
    """They are no rows, and 16 KiB of them take 8 ms."""
    messages = [{"type": "http.request", "body": b"url\n" + b"\n" * 65_000, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return messages.pop()

    with Upload() as upload:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        await upload.receive(request, 1_000_000, KurzError("too large"))
        with watched() as turns:
            assert not await kurz.importer.has_more_rows(upload.chunks(), TransferFormat.CSV, 5)
    assert_short(turns)
