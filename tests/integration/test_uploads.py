"""Files that are uploaded: large ones are kept on a disk, which may be full or slow."""

import io
import json
import tempfile
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import pytest

from kurz.api.http.uploads import MEMORY_BYTES
from support.desk import code_of
from support.engines import sqlite_first

engine = sqlite_first  # the contracts of transfers are tried on every engine
IMPORT = "/api/v1/links/import?format=jsonl"


def lines(size: int) -> bytes:
    """Rows of so many bytes, with an empty line at the end."""
    row = {"url": "https://example.com/", "notes": "n" * 900}
    count = size // 1000
    rows = [json.dumps({"code": f"row-{number:03}", **row}).encode() for number in range(count)]
    data = b"\n".join(rows)
    return data + b"\n" * (size - len(data))


@pytest.mark.parametrize("size", [1000, MEMORY_BYTES, MEMORY_BYTES + 1, 500_000])
async def test_a_file_arrives_whole(client, people, size):
    person = await people.add()
    answer = await client.post(IMPORT, content=lines(size), headers=person.headers)
    assert answer.status_code == 200, answer.text
    assert answer.json()["summary"]["created"] == size // 1000


def open_full(**_: object) -> BinaryIO:
    return Path("/dev/full").open("w+b")


async def test_a_full_disk_is_told(client, people, monkeypatch):
    person = await people.add()
    with monkeypatch.context() as full:
        full.setattr(tempfile, "TemporaryFile", open_full)
        answer = await client.post(IMPORT, content=lines(200_000), headers=person.headers)
        assert code_of(answer) == (503, "writes-fail")
        assert answer.json()["detail"] == (
            "The server cannot store the file: No space left on device. Nothing was imported. Try"
            " again later."
        )
        assert "retry-after" in answer.headers
        small = await client.post(IMPORT, content=lines(1000), headers=person.headers)
        assert small.status_code == 200  # it needs no disk
    answer = await client.post(IMPORT, content=lines(200_000), headers=person.headers)
    assert answer.status_code == 200


class Recorder(io.BytesIO):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[threading.Thread, int]] = []

    def write(self, data) -> int:
        self.writes.append((threading.current_thread(), len(data)))
        return super().write(data)


async def test_a_disk_is_written_in_large_pieces_by_a_thread(client, people, monkeypatch):
    person = await people.add()
    recorder = Recorder()
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: recorder)
    data = lines(500_000)

    async def small_pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(data), 1000):
            yield data[at : at + 1000]

    answer = await client.post(IMPORT, content=small_pieces(), headers=person.headers)
    assert answer.status_code == 200, answer.text
    assert sum(size for _, size in recorder.writes) == len(data)
    assert len(recorder.writes) <= len(data) // MEMORY_BYTES + 1
    assert threading.current_thread() not in {thread for thread, _ in recorder.writes}
