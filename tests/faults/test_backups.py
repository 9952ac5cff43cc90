"""A drill: a backup under load, then kill -9, then another server from the backup, on the same
engine or the other one."""

import asyncio
import itertools
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest

from kurz.clicks.segments import list_segments
from support.clicks import wait_until
from support.journal_reader import read
from support.link_creators import API, create_link
from support.patience import PATIENCE
from support.program import Program
from support.terminal import Terminal
from support.wire import Wire

LINKS, VISITORS, NEW, ROUNDS = 10, 4, 40, 20
# The first is of a copy of the file, the others are of portable backups.
WAYS = list(itertools.product(("sqlite", "postgres"), repeat=2))
SETTINGS = {
    **{f"KURZ_{name.upper()}": str(value) for name, value in PATIENCE.items()},
    "KURZ_WORKERS": "2",
    "KURZ_CODE_STRATEGY": "counter",
}
PAUSE_SECONDS = 0.002
TOTALS = "SELECT subject, clicks FROM click_totals WHERE kind = 0 AND clicks > 0"
LOADING = "SELECT coalesce(sum(clicks), 0) FROM click_totals WHERE kind = 0"


@dataclass(frozen=True)
class Place:
    """A data folder, and a database if that is on a server."""

    folder: Path
    address: str | None = None

    @property
    def journals(self) -> Path:
        return self.folder / "journal"

    @property
    def environment(self) -> dict[str, str]:
        server = {} if self.address is None else {"KURZ_DATABASE_URL": self.address}
        return {"KURZ_DATA_DIR": str(self.folder), **server}

    def query(self, statement: str) -> list[Any]:
        if self.address is not None:
            return asyncio.run(_ask(self.address, statement))
        database = self.folder / "kurz.db"
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(statement).fetchall()


async def _ask(address: str, statement: str) -> list[Any]:
    connection = await asyncpg.connect(address)
    try:
        return [tuple(row) for row in await connection.fetch(statement)]
    finally:
        await connection.close()


@pytest.fixture
def make_place(tmp_path, request) -> Callable[[str], Place]:
    count = itertools.count()

    def make(engine: str) -> Place:
        is_server = engine == "postgres"
        address = request.getfixturevalue("make_database")() if is_server else None
        folder = tmp_path / str(next(count))
        folder.mkdir()
        return Place(folder / "data", address)

    return make


class Visits:
    """Follows links without a pause; counts the redirects that were received."""

    def __init__(self, program: Program, paths: list[str]) -> None:
        self.answered = 0
        self._lock = threading.Lock()
        self._port, self._paths = program.port, paths
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(VISITORS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _run(self) -> None:
        while not self._is_over.is_set():
            with suppress(OSError), Wire(self._port, timeout=5) as wire:
                for path in self._paths:
                    answer = wire.get(path)
                    assert answer.status == 302
                    with self._lock:
                        self.answered += 1
                    if answer.ends_connection or self._is_over.wait(PAUSE_SECONDS):
                        break


class Creates:
    """Makes links without a pause, until the server is gone."""

    def __init__(self, program: Program) -> None:
        self.acknowledged: dict[str, str] = {}  # URL → code
        self._program = program
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with self._program.client() as client, suppress(httpx2.TransportError):
            while not self._is_over.is_set():
                url = f"https://example.com/made/{len(self.acknowledged)}"
                answer = client.post(API, json={"original_url": url})
                assert answer.status_code == 201
                self.acknowledged[url] = answer.json()["short_code"]


def clicks_in(folder: Path, *, but: frozenset[str] = frozenset()) -> Counter[int]:
    """The clicks in a journal, by links, without those of some segments."""
    return Counter(
        click.link_id
        for path in list_segments(folder)
        if path.name not in but
        for click, _ in read(path)
    )


def drill(start_program: Callable[..., Program], old: Place, new: Place) -> None:
    file = old.folder.with_name("kurz.backup")
    program = start_program(**SETTINGS, **old.environment)
    with program.client() as client:
        urls = [f"https://example.com/{number}" for number in range(LINKS)]
        paths = [f"/{create_link(client, it, may_fail=False).json()['short_code']}" for it in urls]
    visits, creates = Visits(program, paths), Creates(program)
    wait_until(lambda: visits.answered > 200 and len(creates.acknowledged) > 20)
    before, clicks_before = dict(creates.acknowledged), visits.answered
    program.run("backup", str(file), *(["--portable"] if old.address or new.address else []))
    made, seen = len(creates.acknowledged), visits.answered
    wait_until(lambda: visits.answered > seen + 100 and len(creates.acknowledged) > made)
    program.kill()
    visits.end()
    creates.end()
    recorded = clicks_in(old.journals)
    issued = old.query("SELECT id, short_code FROM links")

    Terminal({**SETTINGS, **new.environment}).do("backup", "restore", str(file))
    again = start_program(**SETTINGS, **new.environment)
    # What was answered before the backup began is in it.
    wait_until(lambda: new.query(LOADING)[0][0] >= clicks_before)
    known = {row[0] for row in new.query("SELECT id FROM links")}
    counted = Counter(dict(new.query(TOTALS)))
    assert not counted - recorded
    with again.client() as client:
        for url, code in before.items():
            answer = client.get(f"/{code}")
            assert (answer.status_code, answer.headers["location"]) == (302, url)
        for number in range(NEW):
            create_link(client, f"https://example.com/new/{number}", may_fail=False)
    rows = [row for row in new.query("SELECT id, short_code FROM links") if row[0] not in known]
    assert len(rows) == NEW
    assert not {row[0] for row in rows} & {row[0] for row in issued}
    assert not {row[1] for row in rows} & {row[1] for row in issued}
    again.stop()

    # With the journals of the old server, every click of a restored link is counted, once.
    again.run("jobs", "--once", "--journals", str(old.journals))
    copied = frozenset(path.name for path in list_segments(old.journals))
    expected = recorded + clicks_in(new.journals, but=copied)
    assert {link: clicks for link, clicks in new.query(TOTALS) if link in known} == {
        link: clicks for link, clicks in expected.items() if link in known
    }
    of = f"of {len(issued)} links and {recorded.total()} clicks"
    print(f"{len(before)} links and {clicks_before} clicks before the backup, {of}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", [("sqlite", "sqlite"), ("postgres", "postgres")])
def test_a_server_from_a_backup_under_load_knows_what_was_there(start_program, make_place, way):
    old, new = map(make_place, way)
    drill(start_program, old, new)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("way", WAYS)
def test_no_backup_of_many_under_load_loses_or_doubles_anything(start_program, make_place, way):
    for _ in range(ROUNDS):
        old, new = map(make_place, way)
        drill(start_program, old, new)
