"""An acknowledged create is on the disk: every answer waits for a sync, and no kill undoes it."""

import asyncio
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from faults.synccount import SyncCounter
from kurz.links.model import Filter, Scope
from kurz.settings.model import Settings
from kurz.wiring.core import open_kurz
from support.engines import usually_on
from support.program import Program

API = "/api/v1/links"
CLIENTS = 32
CHECK = """
import pysqlite3, sys
print(pysqlite3.connect(sys.argv[1]).execute("PRAGMA integrity_check").fetchone()[0])
"""
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def create(client: httpx2.Client, url: str) -> tuple[int, int, str]:
    """Makes a link; gives the instants before and after, and its code."""
    sent = time.monotonic_ns()
    answer = client.post(API, json={"original_url": url})
    received = time.monotonic_ns()
    assert answer.status_code == 201
    return sent, received, answer.json()["short_code"]


def syncs_within(moments: list[int], sent: int, received: int) -> int:
    return sum(sent < moment < received for moment in moments)


@on_sqlite
def test_every_create_is_synced_before_it_is_acknowledged(program):
    with program.client() as client:
        create(client, "https://example.com/first")  # opens the connections
        with SyncCounter(program.workers[0]) as counter:
            spans = [create(client, f"https://example.com/{number}") for number in range(50)]
    counts = [syncs_within(counter.moments, *span[:2]) for span in spans]
    print(f"syncs per acknowledged create: {min(counts)} to {max(counts)}, {sum(counts)} for 50")
    assert min(counts) >= 1
    assert sum(counts) <= 75  # more would be paid for nothing


@on_sqlite
def test_parallel_creates_share_syncs_and_none_goes_without(program):
    clients = [program.client() for _ in range(CLIENTS)]
    total = CLIENTS * 5

    def work(number: int) -> list[tuple[int, int, str]]:
        return [create(clients[number], f"https://example.com/{number}/{n}") for n in range(5)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda client: create(client, "https://example.com/first"), clients))
        with SyncCounter(program.workers[0]) as counter:
            spans = [span for group in pool.map(work, range(CLIENTS)) for span in group]
    for client in clients:
        client.close()
    counts = [syncs_within(counter.moments, *span[:2]) for span in spans]
    print(f"{counter.count} syncs for {total} creates of {CLIENTS} clients")
    assert len(spans) == total
    assert min(counts) >= 1
    assert counter.count < total


@on_sqlite
def test_redirects_wait_for_no_sync(program):
    """The journal of clicks is synced once a second, however many there are."""
    with program.client() as client:
        _, _, code = create(client, "https://example.com/")
        client.get(f"/{code}")
        with SyncCounter(program.workers[0]) as counter:
            started = time.monotonic()
            for path in (f"/{code}", f"/{code}+", "/nothing", "/") * 50:
                client.get(path)
            seconds = time.monotonic() - started
    assert counter.count <= seconds + 2


class Writer:
    """Creates links without a pause, until the server is gone; remembers the acknowledged ones."""

    def __init__(self, program: Program, name: str) -> None:
        self.acknowledged: dict[str, str] = {}
        self._program = program
        self._name = name
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with self._program.client() as client, suppress(httpx2.TransportError):
            while True:
                url = f"https://example.com/{self._name}/{len(self.acknowledged)}"
                answer = client.post(API, json={"original_url": url})
                assert answer.status_code == 201
                self.acknowledged[answer.json()["short_code"]] = url


def await_acknowledged(writers: list[Writer], count: int) -> None:
    deadline = time.monotonic() + 30
    while sum(len(writer.acknowledged) for writer in writers) < count:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def kill_under_load(program: Program, name: str, after: int) -> dict[str, str]:
    """Kills the server while eight clients create links, once it has acknowledged so many; gives
    all that it had acknowledged."""
    writers = [Writer(program, f"{name}/{number}") for number in range(8)]
    await_acknowledged(writers, after)
    program.kill()
    for writer in writers:
        writer.end()
    acknowledged: dict[str, str] = {}
    for writer in writers:
        assert not acknowledged.keys() & writer.acknowledged.keys()
        acknowledged |= writer.acknowledged
    return acknowledged


def check_all(program: Program, acknowledged: dict[str, str]) -> None:
    with program.client() as client:
        for code, url in acknowledged.items():
            answer = client.get(f"/{code}")
            assert (code, answer.status_code, answer.headers.get("location")) == (code, 302, url)


def check_integrity(data_dir: Path) -> None:
    command = [sys.executable, "-c", CHECK, str(data_dir / "kurz.db")]
    assert subprocess.check_output(command, text=True) == "ok\n"


def kill_again_and_again(program: Program, engine: str, data_dir: Path, rounds: int) -> None:
    acknowledged: dict[str, str] = {}
    for number in range(rounds):
        # From the first commits of a process to well into its work.
        made = kill_under_load(program, str(number), random.randint(1, 150))
        assert not acknowledged.keys() & made.keys()
        acknowledged |= made
        program.start()
        check_all(program, made)
    check_all(program, acknowledged)
    print(f"{len(acknowledged)} acknowledged creates, {rounds} kills, none lost")
    assert "request failed" not in program.log()
    if engine == "sqlite":
        check_integrity(data_dir)
        program.kill()
        check_integrity(data_dir)


def test_no_kill_undoes_an_acknowledged_create(program, engine, tmp_path):
    kill_again_and_again(program, engine, tmp_path / "kurz-data", 2)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_kill_of_thirty_undoes_an_acknowledged_create(program, engine, tmp_path):
    kill_again_and_again(program, engine, tmp_path / "kurz-data", 30)


async def stored_urls(settings: Settings) -> dict[str, str]:
    async with open_kurz(settings) as kurz:
        page = await kurz.links.list(Scope(), Filter(), limit=100_000)
    return {link.short_code: link.original_url for link in page.links}


@usually_on("sqlite")
def test_a_stop_answers_every_create_that_it_stored(program, settings):
    writers = [Writer(program, str(number)) for number in range(8)]
    await_acknowledged(writers, 50)
    assert program.stop() == 0
    acknowledged: dict[str, str] = {}
    for writer in writers:
        writer.end()
        acknowledged |= writer.acknowledged
    assert acknowledged
    assert asyncio.run(stored_urls(settings)) == acknowledged
