"""What counting a click costs if several instances count into one PostgreSQL, each its own journal:
CPU time of the loaders and of the server. One transaction at a time counts, and a day that another
loader has changed meanwhile is merged again."""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from click_load import WORKSPACE_ID, write_journal
from engines import server_cpu_seconds
from kurz.settings.model import Settings
from kurz.storage.engine.deadlines import deadline
from kurz.storage.links.bulk import SqlBulkStore
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from redirect_load import BATCH
from servers.postgres import PostgresServer
from transfer import make_links

HERE = Path(__file__).parent
AGENTS = 5000
DEADLINE_SECONDS = 3600


@dataclass
class Row:
    """What the rounds with so many loaders gave."""

    loaders: int
    loader_us: list[float] = field(default_factory=list)
    server_us: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        found = map(statistics.median, (self.loader_us, self.server_us, self.per_second))
        loader, server, per_second = found
        return f"| {self.loaders} | {loader:.1f} | {server:.1f} | {per_second:,.0f} |"


async def fill(url: str, folder: Path, count: int) -> list[int]:
    settings = Settings(data_dir=folder, database_url=url)
    await prepare(settings, upgrades_postgres=False)
    ids: list[int] = []
    with deadline(DEADLINE_SECONDS):  # nothing fails because the machine is busy
        async with open_kurz(settings) as kurz:
            store = SqlBulkStore(kurz.database)
            links = make_links(count, WORKSPACE_ID)
            for first in range(0, count, BATCH):
                found = await store.insert(links[first : first + BATCH], (), kurz.clock.now())
                ids += [link_id for link_id in found if isinstance(link_id, int)]
    return ids


@contextmanager
def loader(data: Path, url: str) -> Iterator[subprocess.Popen[str]]:
    """It has counted its first clicks, and waits for a line to count the others."""
    process = subprocess.Popen(
        [sys.executable, str(HERE / "load_clicks.py")],
        env={**os.environ, "KURZ_DATA_DIR": str(data), "KURZ_DATABASE_URL": url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            sys.exit("the loader failed")
        yield process
        tell(process)


def tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> dict[str, float]:
    """Its numbers; lines of its log may come first."""
    assert process.stdout is not None
    return dict(json.loads(next(line for line in process.stdout if line.startswith("{"))))


def measure(row: Row, postgres: PostgresServer, folder: Path, ids: list[int], clicks: int) -> None:
    postgres.create_database("round", "template")
    with ExitStack() as stack:
        each = clicks // row.loaders
        folders = [folder / f"loader-{number}" for number in range(row.loaders)]
        loaders = [stack.enter_context(loader(it, postgres.url("round"))) for it in folders]
        for data in folders:
            write_journal(data / "journal", ids, each, AGENTS)
        before, started = server_cpu_seconds(postgres.pid), time.perf_counter()
        for process in loaders:
            tell(process)
        found = [hear(process) for process in loaders]
        seconds = time.perf_counter() - started
        server = server_cpu_seconds(postgres.pid) - before
    counted = sum(it["clicks"] for it in found)
    if counted != each * row.loaders:
        sys.exit(f"{counted} of {clicks} clicks were counted")
    row.loader_us.append(sum(it["cpu_seconds"] for it in found) / counted * 1e6)
    row.server_us.append(server / counted * 1e6)
    row.per_second.append(counted / seconds)
    postgres.drop_database("round")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=300_000)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--loaders", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = [Row(count) for count in options.loaders]
    with (
        tempfile.TemporaryDirectory(dir=HERE) as temporary,
        PostgresServer(shared_buffers="256MB") as postgres,
    ):
        postgres.create_database("template")
        url = postgres.url("template")
        ids = asyncio.run(fill(url, Path(temporary) / "template", options.links))
        for number in range(options.rounds):
            for row in rows:
                with tempfile.TemporaryDirectory(dir=temporary) as folder:
                    measure(row, postgres, Path(folder), ids, options.clicks)
                print(f"round {number + 1}: {row}", file=sys.stderr)
    print("| loaders | CPU µs a click: loaders | PostgreSQL | clicks/s |\n|--:|--:|--:|--:|")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main()
