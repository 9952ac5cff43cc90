"""How fast links are imported and exported, and what a row costs: CSV and JSON Lines, on SQLite and
PostgreSQL, into a workspace (whose lists have indexes), in one process as by `kurz import`."""

import argparse
import asyncio
import contextlib
import gc
import json
import random
import statistics
import string
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kurz.links.model import Link, LinkType, Scope, Status, Strategy
from kurz.links.transfers import ImportTarget, OneTarget, RowOutcome, Summary, TransferFormat
from kurz.people.workspaces import Workspace
from kurz.settings.model import Settings
from kurz.transfer.tuning import favour_throughput
from kurz.transfer.writing import WRITERS, head
from kurz.wiring.core import Kurz, open_kurz
from kurz.wiring.engine import prepare

HERE = Path(__file__).parent
CHUNK = 256 * 1024
ENGINES = ("SQLite", "PostgreSQL")
ACTS = ("import", "again", "export")


@dataclass
class Series:
    """What the rounds of one act gave."""

    per_second: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def round(self, rows: int) -> Iterator[None]:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.per_second.append(rows / (time.perf_counter() - wall))
        self.cpu_us.append((time.process_time() - cpu) / rows * 1e6)


def make_links(count: int, workspace_id: int) -> list[Link]:
    """Links as people have them: a title, two tags of twenty, some clicks."""
    chance = random.Random(7)
    letters = string.ascii_letters + string.digits
    start = datetime(2024, 1, 1, tzinfo=UTC)
    links = []
    for number in range(count):
        url = f"https://www.example.com/blog/{chance.randrange(10**9)}/post?utm_source=letter&n={number}"
        made_at = start + timedelta(microseconds=chance.randrange(10**13))
        links.append(
            Link(
                id=0,
                workspace_id=workspace_id,
                short_code="".join(chance.choices(letters, k=8)),
                version=1,
                strategy=Strategy.CUSTOM,
                original_url=url,
                canonical_url=url,
                location=url,
                owner_id=None,
                link_type=LinkType.PERMANENT,
                status=Status.ACTIVE,
                created_at=made_at,
                updated_at=made_at,
                title=f"What we did in week {number % 52}",
                tags=tuple(f"tag-{chance.randrange(20)}" for _ in range(2)),
                redirect_count=chance.randrange(1000),
                avg_redirect_ms=chance.random(),
            )
        )
    return sorted(links, key=lambda link: link.created_at)  # as an export has them


Rounds = dict[str, Series]


async def chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), CHUNK):
        yield data[start : start + CHUNK]


@contextlib.asynccontextmanager
async def opened(url: str | None) -> AsyncIterator[Kurz]:
    """An empty kurz with one workspace."""
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        settings = Settings(data_dir=Path(folder), database_url=url)
        await prepare(settings, upgrades_postgres=False)
        async with open_kurz(settings) as kurz:
            await kurz.workspaces.insert(
                Workspace(1, "Team", "team", created_at=kurz.clock.now()), None
            )
            yield kurz


async def measure(kurz: Kurz, kind: TransferFormat, data: bytes, rows: int, found: Rounds) -> None:
    """Imports the rows, imports them once more, and exports them."""
    target = OneTarget(ImportTarget(workspace_id=1))
    for act, outcome in (("import", RowOutcome.CREATED), ("again", RowOutcome.EXISTED)):
        summary = Summary()
        with found[act].round(rows):
            async for results in kurz.importer.run(chunks(data), kind, target):
                summary.add(results)
        if summary[outcome] != rows:
            sys.exit(f"{act}: {summary.view()}")
    with found["export"].round(rows):
        size = sum([len(chunk) async for chunk in kurz.exporter.run(kind, Scope(1), {1: "team"})])
    if size < rows * 100:
        sys.exit(f"the export has {size} bytes")


async def run(options: argparse.Namespace) -> dict[tuple[str, TransferFormat], Rounds]:
    sys.path.append(str(HERE.parent / "tests"))
    from servers.postgres import PostgresServer

    links = make_links(options.rows, 1)
    now = datetime.now(UTC)
    files = {x: head(x) + WRITERS[x](links, {1: "team"}, now) for x in TransferFormat}
    found: dict[tuple[str, TransferFormat], Rounds] = {
        (engine, kind): {act: Series() for act in ACTS}
        for engine in ENGINES
        for kind in TransferFormat
    }
    with PostgresServer() as server:
        for number in range(options.rounds):
            for (engine, kind), rounds in found.items():
                name = f"round_{number}_{kind}"
                url = None
                if engine == "PostgreSQL":
                    server.create_database(name)
                    url = server.url(name)
                async with opened(url) as kurz:
                    await measure(kurz, kind, files[kind], options.rows, rounds)
    return found


def report(found: dict[tuple[str, TransferFormat], Rounds], path: Path | None) -> None:
    print(f"{'':24}" + "".join(f"{act + ' rows/s':>16}{'CPU µs/row':>12}" for act in ACTS))
    numbers = {}
    for (engine, kind), rounds in found.items():
        row = [
            statistics.median(series)
            for act in ACTS
            for series in (rounds[act].per_second, rounds[act].cpu_us)
        ]
        numbers[f"{engine} {kind}"] = row
        cells = "".join(f"{row[i]:16,.0f}{row[i + 1]:12.1f}" for i in range(0, len(row), 2))
        print(f"{engine + ' ' + kind:24}{cells}")
    print(
        "\nMedians. CPU is this process's, PostgreSQL's own is not in it. “again” imports the same"
    )
    print("file once more, and changes nothing.")
    if path is not None:
        path.write_text(json.dumps(numbers, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    favour_throughput()
    report(asyncio.run(run(options)), options.json)


if __name__ == "__main__":
    main()
