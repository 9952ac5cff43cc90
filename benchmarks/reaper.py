"""How fast the reaper ends links, what one costs, and what visitors notice of it: half of all links
have expired, on SQLite and PostgreSQL."""

import argparse
import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from clicks import probing
from kurz.links.ending.ports import JOB
from kurz.settings.model import Settings
from reap import MARK, SWEEPS
from reaper_beside import CODES, Beside, measure
from reaper_rows import Links, fill
from redirect_servers import TICKS, Server

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))  # the servers that the tests use

from servers.postgres import PostgresServer  # noqa: E402

GOAL = 1.2
CLEANED = f"SELECT cleaned FROM job_totals WHERE job = '{JOB}'"  # noqa: S608
LEFT = "SELECT count(*) FROM links"
LEFT_LIVE = f"{LEFT} WHERE id % 2 = 0"
NAMES = {
    MARK: "mark",
    "trash": "to the trash (somebody's)",
    "purge": "purge (nobody's)",
    "purge-trash": "purge from the trash (somebody's)",
}


@dataclass(frozen=True)
class Step:
    name: str
    links: int
    seconds: float
    cpu_seconds: float
    server_cpu_seconds: float
    longest_write_ms: float | None

    def __str__(self) -> str:
        longest = "–" if self.longest_write_ms is None else f"{self.longest_write_ms:.0f}"
        cpu, server = (
            seconds / self.links * 1e6 for seconds in (self.cpu_seconds, self.server_cpu_seconds)
        )
        return (
            f"| {self.name} | {self.links:,} | {self.links / self.seconds:,.0f} | {cpu:.0f}"
            f" | {server:.0f} | {longest} |"
        )


@dataclass
class Engine:
    """A database in use, and how to look into it from outside."""

    name: str
    folder: Path
    environment: dict[str, str]
    ask: Callable[[str], str]
    server_cpu_seconds: Callable[[], float]
    is_embedded: bool
    steps: list[Step] = field(default_factory=list)
    beside: Beside = field(default_factory=Beside)

    @property
    def settings(self) -> Settings:
        return Settings(
            data_dir=self.folder / "data", database_url=self.environment.get("database_url")
        )

    def swept(self) -> int:
        return int(self.ask(CLEANED) or 0)

    def do(self, step: str, most: int) -> None:
        """In a process of its own, on one core; PostgreSQL is on the other."""
        environment = {"KURZ_DATA_DIR": str(self.folder / "data")}
        environment |= {f"KURZ_{name.upper()}": value for name, value in self.environment.items()}
        command = ["taskset", "-c", "0", sys.executable, str(HERE / "reap.py"), step, str(most)]
        before = self.server_cpu_seconds()
        with probing(self.folder / "data" / "kurz.db" if self.is_embedded else None) as waits:
            found = subprocess.run(
                command,
                env={**os.environ, **environment},
                stdout=subprocess.PIPE,
                check=True,
            )
        self.steps.append(
            Step(
                name=f"{self.name}: {NAMES[step]}",
                server_cpu_seconds=self.server_cpu_seconds() - before,
                longest_write_ms=1000 * max(waits) if waits else None,
                **json.loads(found.stdout),
            )
        )


@contextmanager
def sqlite(folder: Path) -> Iterator[Engine]:
    def ask(query: str) -> str:
        with closing(sqlite3.connect(folder / "data" / "kurz.db")) as connection:
            row = connection.execute(query).fetchone()
            return "" if row is None else str(row[0])

    yield Engine("SQLite", folder, {}, ask, lambda: 0.0, is_embedded=True)


@contextmanager
def postgres(folder: Path) -> Iterator[Engine]:
    with PostgresServer(shared_buffers="256MB", max_wal_size="4GB") as server:

        def cpu_seconds() -> float:
            """Of the processes that serve, and of those that have."""
            stat = Path(f"/proc/{server.pid}/stat").read_text()
            ended = sum(map(int, stat.rpartition(")")[2].split()[13:15])) / TICKS
            return Server(0, server.pid).cpu_seconds() + ended

        environment = {"database_url": server.url()}
        yield Engine("PostgreSQL", folder, environment, server.ask, cpu_seconds, is_embedded=False)


def run(engine: Engine, options: argparse.Namespace) -> None:
    """All are marked first; then a server sweeps while visitors come, and what is left is swept
    alone, with nothing else to do."""
    links = Links(options.links)
    _tell(f"{engine.name}: filling")
    asyncio.run(fill(engine.settings, links))
    _tell(f"{engine.name}: {MARK}")
    engine.do(MARK, options.links)
    if options.rounds:
        _tell(f"{engine.name}: beside visitors")
        engine.beside = measure(
            engine.folder,
            engine.environment,
            links.live_codes(CODES),
            engine.swept,
            rounds=options.rounds,
            seconds=options.seconds,
        )
    for step in SWEEPS:
        _tell(f"{engine.name}: {step}")
        engine.do(step, options.most)
    live = options.links // 2
    if int(engine.ask(LEFT_LIVE)) != live:
        sys.exit("links were ended that live")
    if options.most >= live and int(engine.ask(LEFT)) != live:
        sys.exit("links were left that had ended")


def _tell(what: str) -> None:
    print(f"{time.strftime('%X')} {what}", file=sys.stderr)


def report(engines: list[Engine]) -> None:
    print(
        "| | links | links/s | CPU µs a link: kurz | database server | longest write, ms |"
        "\n|---|--:|--:|--:|--:|--:|"
    )
    for engine in engines:
        for step in engine.steps:
            print(step)
    for engine in engines:
        if engine.beside.swept_per_second:
            _report_beside(engine)


def _report_beside(engine: Engine) -> None:
    print(f"\n| {engine.name} | requests/s | p50 ms | p99 ms | CPU µs |\n|---|--:|--:|--:|--:|")
    for mode in engine.beside.modes:
        per_second, p50, p99, cpu = map(mode.median, ("per_second", "p50_ms", "p99_ms", "cpu_us"))
        print(f"| {mode.name} | {per_second:,.0f} | {p50:.2f} | {p99:.2f} | {cpu:.1f} |")
    for number, name in ("cpu_us", "CPU"), ("p99_ms", "p99"):
        while_reaping = engine.beside.reaping.median(number)
        beside_idle = while_reaping / engine.beside.still.median(number)
        beside_any = while_reaping / engine.beside.busy.median(number)
        mark = "✓" if beside_any <= GOAL else "✗"
        print(
            f"{mark} {name} while links are swept: {beside_any:.2f} × that beside any other"
            f" program (goal: at most {GOAL}), {beside_idle:.2f} × that beside nothing"
        )
    print(f"Meanwhile the reaper swept {engine.beside.pace:,.0f} links a second.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=2_000_000)
    parser.add_argument("--most", type=int, default=1_000_000, help="that each sweep ends")
    parser.add_argument("--rounds", type=int, default=5, help="beside visitors; 0: none")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--engines", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})  # kurz is on the other core
    engines = []
    for name in options.engines:
        with (
            tempfile.TemporaryDirectory(dir=HERE) as folder,
            {"sqlite": sqlite, "postgres": postgres}[name](Path(folder)) as engine,
        ):
            run(engine, options)
            engines.append(engine)
    report(engines)
    if options.json is not None:
        found = {
            each.name: (list(map(asdict, each.steps)), asdict(each.beside)) for each in engines
        }
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
