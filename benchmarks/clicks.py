"""How fast clicks are counted, and what one costs: journals of Zipf traffic over many links, loaded
as the jobs process does into SQLite and PostgreSQL, with everything that is kept of a click."""

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from click_load import WORKSPACE_ID, write_journal
from kurz.people.workspaces import Workspace
from kurz.settings.model import Settings
from kurz.storage.links.bulk import SqlBulkStore
from kurz.storage.links.search import index_changes
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from redirect_servers import TICKS, Server
from transfer import make_links

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))  # the servers that the tests use

from servers.postgres import PostgresServer  # noqa: E402

BATCH = 5000
PROBE_SECONDS = 0.001
GOAL_USUAL, GOAL_DIFFERENT, GOAL_WRITE_MS = 30_000, 8_000, 50.0


@dataclass
class Row:
    """What the rounds of one kind gave."""

    name: str
    goal: int
    per_second: list[float] = field(default_factory=list)
    loader_us: list[float] = field(default_factory=list)
    server_us: list[float] = field(default_factory=list)
    bytes_a_click: list[float] = field(default_factory=list)
    longest_write_ms: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        numbers = (self.per_second, self.loader_us, self.server_us, self.bytes_a_click)
        per_second, loader, server, size = (statistics.median(found) for found in numbers)
        longest = f"{max(self.longest_write_ms):.0f}" if self.longest_write_ms else "–"
        return (
            f"| {self.name} | {per_second:,.0f} | {loader:.1f} | {server:.1f} | {size:.0f}"
            f" | {longest} | {self.goal:,} |"
        )


class Bench:
    """Links in a database of each engine, copied for every round."""

    def __init__(self, folder: Path, postgres: PostgresServer, options: argparse.Namespace) -> None:
        self._folder = folder
        self._postgres = postgres
        self._options = options
        self._template = folder / "template"
        postgres.create_database("template")
        self._link_ids = asyncio.run(self._fill(None))
        asyncio.run(self._fill(postgres.url("template")))

    def measure(self, row: Row, *, is_embedded: bool, agents: int, clicks: int) -> None:
        data = self._folder / "data"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self._template, data)
        environment = {"KURZ_DATA_DIR": str(data)}
        if not is_embedded:
            self._postgres.create_database("round", "template")
            environment["KURZ_DATABASE_URL"] = self._postgres.url("round")
        write_journal(data / "journal", self._link_ids, BATCH, agents or BATCH)
        with self._loader(environment, data) as loader:
            size = self._size(data, is_embedded=is_embedded)
            write_journal(data / "journal", self._link_ids, clicks, agents)
            with probing(data / "kurz.db" if is_embedded else None) as waits:
                before = self._server_cpu_seconds()
                found = json.loads(_answer(loader))
                server_cpu = self._server_cpu_seconds() - before
            if found["clicks"] != clicks:
                sys.exit(f"{found['clicks']} of {clicks} clicks were counted")
            size = self._size(data, is_embedded=is_embedded) - size
        row.per_second.append(clicks / found["seconds"])
        row.loader_us.append(found["cpu_seconds"] / clicks * 1e6)
        row.server_us.append(server_cpu / clicks * 1e6)
        row.bytes_a_click.append(size / clicks)
        row.longest_write_ms += [1000 * max(waits)] if waits else []
        if not is_embedded:
            self._postgres.drop_database("round")

    @contextmanager
    def _loader(self, environment: dict[str, str], data: Path) -> Iterator[subprocess.Popen[str]]:
        """One that has counted its first clicks, and waits for a line to count the others."""
        command = ["taskset", "-c", "0", sys.executable, str(HERE / "load_clicks.py")]
        with data.with_suffix(".log").open("w") as errors:
            process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        with process:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                sys.exit(f"the loader failed:\n{data.with_suffix('.log').read_text()}")
            yield process
            _tell(process)

    def _server_cpu_seconds(self) -> float:
        """Of the processes that serve, and of those that have."""
        stat = Path(f"/proc/{self._postgres.pid}/stat").read_text()
        ended = sum(map(int, stat.rpartition(")")[2].split()[13:15])) / TICKS
        return Server(0, self._postgres.pid).cpu_seconds() + ended

    def _size(self, data: Path, *, is_embedded: bool) -> int:
        if is_embedded:
            return sum(path.stat().st_size for path in data.glob("kurz.db*"))
        return int(self._postgres.ask("SELECT pg_database_size('round')"))

    async def _fill(self, url: str | None) -> list[int]:
        """Links of a workspace, with two of twenty tags each; gives their ids."""
        settings = Settings(data_dir=self._template, database_url=url)
        await prepare(settings, upgrades_postgres=False)
        found: list[int] = []
        async with open_kurz(settings) as kurz:
            now = kurz.clock.now()
            await kurz.workspaces.insert(
                Workspace(WORKSPACE_ID, "Team", "team", created_at=now), None
            )
            store = SqlBulkStore(kurz.database)
            links = make_links(self._options.links, WORKSPACE_ID)
            for first in range(0, len(links), BATCH):
                stored = await store.insert(links[first : first + BATCH], (), now)
                found += [link_id for link_id in stored if isinstance(link_id, int)]
            while settings.is_embedded and (await kurz.database.write(index_changes, BATCH)) > 0:
                pass
        return found


def _tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _answer(process: subprocess.Popen[str]) -> str:
    _tell(process)
    assert process.stdout is not None
    return process.stdout.readline()


@contextmanager
def probing(path: Path | None) -> Iterator[list[float]]:
    """How long others cannot write, each time: somebody else tries every millisecond."""
    waits: list[float] = []
    is_over = threading.Event()

    def probe() -> None:
        assert path is not None
        connection = sqlite3.connect(path, timeout=0, isolation_level=None)
        busy_since = None
        while not is_over.wait(PROBE_SECONDS):
            now = time.perf_counter()
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute("ROLLBACK")
            except sqlite3.OperationalError:
                busy_since = busy_since or now
                continue
            waits.append(now - (busy_since or now))
            busy_since = None
        connection.close()

    thread = threading.Thread(target=probe)
    if path is not None:
        thread.start()
    try:
        yield waits
    finally:
        is_over.set()
        if path is not None:
            thread.join()


def run(options: argparse.Namespace) -> list[Row]:
    rows = {
        (is_embedded, agents): Row(
            f"{'SQLite' if is_embedded else 'PostgreSQL'},"
            f" {f'{agents:,} agents' if agents else 'every agent differs'}",
            GOAL_USUAL if agents else GOAL_DIFFERENT,
        )
        for is_embedded in (True, False)
        for agents in (options.agents, 0)
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=HERE)))
        os.sched_setaffinity(0, {1})  # the loader is on the other core
        postgres = stack.enter_context(PostgresServer(shared_buffers="256MB"))
        bench = Bench(folder, postgres, options)
        for number in range(options.rounds):
            for (is_embedded, agents), row in rows.items():
                print(f"round {number + 1}: {row.name}", file=sys.stderr)
                clicks = options.clicks if agents else options.clicks // 5
                bench.measure(row, is_embedded=is_embedded, agents=agents, clicks=clicks)
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=500_000)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--agents", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    rows = run(options)
    print(
        "| | clicks/s | CPU µs a click: loader | database server | bytes on disk a click"
        " | longest write, ms | goal clicks/s |\n|---|--:|--:|--:|--:|--:|--:|"
    )
    for row in rows:
        print(row)
    print(
        f"\nMedians of {options.rounds} rounds, {options.clicks:,} clicks on {options.links:,}"
        " links of a workspace, two tags each.\nThe loader runs on one core, PostgreSQL on"
        " the other."
        f" No write may be longer than {GOAL_WRITE_MS:.0f} ms on SQLite, as another process"
        " sees it."
    )
    if options.json is not None:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
