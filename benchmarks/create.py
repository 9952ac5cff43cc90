"""What an acknowledged, synced create costs in each process: columns show the CPU time of the
workers, the jobs process and PostgreSQL, compared with an empty FastAPI route that validates the
same body. Links are created without and with an account, each to a new URL, alone and in bulk.
There is a table for each engine and number of workers. Servers take turns in rounds, on the cores
that the load also uses. After a round, the jobs process has time to catch up; the CPU time that it
uses when idle is subtracted. Rate limits are off: they would stop the run after ten creates.
`--beside FOLDER` measures another checkout in the same run."""

import argparse
import contextlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from load import drive

BODY = json.dumps({"original_url": "https://example.com/some/long/path?utm_source=letter&id=12345"})
URL = "https://site%03d.invalid/some/long/path?utm_source=letter&id=%08d"
BULK_ITEMS = 1000
HERE = Path(__file__).parent
EMPTY = [str(HERE / "empty_route.py")]
TICKS = os.sysconf("SC_CLK_TCK")
BACKLOGS = ("kurz_count_backlog", "kurz_destinations_backlog", "kurz_search_backlog")
AFRESH_SECONDS = 6.0  # until backlogs have been measured again
IDLE_SECONDS = 10.0
SIGN_UP_ATTEMPTS = 10
LOADS = ("anonymous", "owned", "bulk")
COLUMNS = (
    "worker",
    "jobs",
    "database",
    "all",
    "per second",
    "p50 ms",
    "p99 ms",
    "p99/p50",
    "failed",
)
FORMATS = ("11.1f", "11.1f", "11.1f", "11.1f", "11,.0f", "11.2f", "11.2f", "11.2f", "11,.0f")
WORKERS = {"sqlite": (1, 2, 4), "postgres": (1, 2)}
CREATED = re.compile(rb'"status":201\b')

Table = tuple[dict[str, list[float]], list[float | None]]  # a row for each load; as `commits_of`

_numbers = itertools.count()


def cpu_seconds(pid: str) -> float:
    """Of a process and its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS


def children_of(pid: str) -> list[str]:
    """In the order in which they were started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@dataclass
class Server:
    """A server under load. `database` is the process id of its PostgreSQL."""

    name: str
    process: subprocess.Popen[str]
    port: int
    path: str
    log: Path
    database: str | None = None
    jobs_idle: float = 0.0
    """CPU seconds of the idle jobs process, per second."""

    def cpu_seconds(self) -> float:
        """Of the process and its children."""
        pid = str(self.process.pid)
        return sum(map(cpu_seconds, [pid, *children_of(pid)]))

    def cpu_of_each(self) -> list[float]:
        """CPU seconds of the workers, of the jobs process and of the database."""
        pid = str(self.process.pid)
        *workers, jobs = children_of(pid) or [pid]  # the supervisor starts it last
        database = [self.database, *children_of(self.database)] if self.database else []
        groups = [workers or [pid], [jobs] if workers else [], database]
        return [sum(map(cpu_seconds, group)) for group in groups]

    def wait_for_jobs(self) -> None:
        """Waits until all followers of the change log have caught up."""
        if not self.is_kurz:
            return
        began = time.monotonic()
        while time.monotonic() - began < AFRESH_SECONDS or any(self._backlogs()):
            time.sleep(0.5)

    @property
    def is_kurz(self) -> bool:
        return bool(children_of(str(self.process.pid)))

    def _backlogs(self) -> list[float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return [float(value) for name, value in pairs if name in BACKLOGS]


@dataclass
class Load:
    """Requests of one kind to a server, each of which creates `items` links. `rounds` has the
    results of each round: a number for each of `COLUMNS`. `failed` links are not counted in the
    others."""

    name: str
    server: Server
    body: Callable[[], str]
    path: str
    header: str = ""
    items: int = 1
    rounds: list[list[float]] = field(default_factory=list)

    def round(self, connections: int, seconds: float) -> None:
        before, began = self.server.cpu_of_each(), time.monotonic()
        result = uvloop.run(
            drive(self.server.port, self._request, connections, seconds, self._count_failed)
        )
        after = self.server.cpu_of_each()
        self.server.wait_for_jobs()
        # Workers are measured under load only, the jobs process until it has caught up.
        after[1:] = self.server.cpu_of_each()[1:]
        after[1] -= self.server.jobs_idle * (time.monotonic() - began)
        links = result.answers * self.items - result.failed
        if not links:
            sys.exit(f"{self.name} answered {result.statuses}")
        spent = [(end - start) / links * 1e6 for start, end in zip(before, after, strict=True)]
        if not self.server.is_kurz:
            spent[1] = 0.0
        latencies = sorted(result.latencies_ms)
        p50, p99 = (latencies[int(len(latencies) * share)] for share in (0.5, 0.99))
        speed = links / result.seconds
        self.rounds.append([*spent, sum(spent), speed, p50, p99, p99 / p50, result.failed])

    def medians(self) -> list[float]:
        """Of each column; of the failed links, all."""
        *columns, failed = zip(*self.rounds, strict=True)
        return [*map(statistics.median, columns), sum(failed)]

    def _count_failed(self, status: int, body: bytes) -> int:
        if self.items == 1:
            return int(status != 201)
        return self.items - len(CREATED.findall(body))

    def _request(self) -> bytes:
        body = self.body()
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"{self.header}"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def new_link() -> dict[str, str]:
    number = next(_numbers)
    return {"original_url": URL % (number % 1000, number)}


def one_link() -> str:
    return json.dumps(new_link())


def many_links() -> str:
    items = [{"action": "create", "link": new_link()} for _ in range(BULK_ITEMS)]
    return json.dumps({"items": items})


@contextlib.contextmanager
def started(
    name: str,
    command: list[str],
    path: str,
    folder: Path,
    cores: str = "0",
    environment: Mapping[str, str] | None = None,
) -> Iterator[Server]:
    """The server on these cores, on a free port that its first line of output names. Its log goes
    to `folder`, as a service's would to a file."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            ["taskset", "-c", cores, *command],
            env={
                **os.environ,
                "KURZ_DATA_DIR": str(folder / "data"),
                "KURZ_RATE_LIMITS": "off",
                **(environment or {}),
            },
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
    if address is None:
        sys.exit(f"{name} did not start:\n{(folder / 'log').read_text()}")
    try:
        yield Server(name, process, int(address[1]), path, folder / "log")
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=WORKERS, help="default: both")
    parser.add_argument("--workers", type=int, nargs="+", help="default: 1 and 2, SQLite also 4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--loads", nargs="+", choices=LOADS, default=LOADS)
    parser.add_argument("--beside", type=Path, help="another checkout to measure in the same run")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    tables = {}
    for engine in [options.engine] if options.engine else WORKERS:
        for workers in options.workers or WORKERS[engine]:
            name = f"{engine}, {workers} worker{'s' * (workers > 1)}"
            tables[name] = run(engine, workers, options)
            report(name, *tables[name])
    if options.json is not None:
        shown = {name: {"rows": rows, "grouped": it} for name, (rows, it) in tables.items()}
        options.json.write_text(json.dumps({"columns": COLUMNS, "tables": shown}, indent=2))


def run(engine: str, workers: int, options: argparse.Namespace) -> Table:
    checkouts = {"": HERE.parent} if options.beside is None else {}
    if options.beside is not None:
        checkouts = {" (beside)": options.beside, "": HERE.parent}
    with contextlib.ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(dir=HERE)))
        empty_folder = folder / "empty"
        empty_folder.mkdir()
        command = [sys.executable, *EMPTY]
        empty = started("empty FastAPI route", command, "/links", empty_folder, "0-1")
        loads = [Load("empty FastAPI route", closing.enter_context(empty), one_link, "/links")]
        servers = [
            closing.enter_context(open_kurz(engine, workers, checkout, folder / f"kurz{name}"))
            for name, checkout in checkouts.items()
        ]
        pairs = [(server, name) for server, name in zip(servers, checkouts, strict=True)]
        by_server = [dict(loads_on(server, name)) for server, name in pairs]
        loads += [found[kind] for kind in options.loads for found in by_server]
        measure(loads, servers, options)
        grouped = [commits_of(server) for server in servers]
        return {load.name: load.medians() for load in loads}, grouped


@contextlib.contextmanager
def open_kurz(engine: str, workers: int, checkout: Path, folder: Path) -> Iterator[Server]:
    folder.mkdir()
    environment = {
        "PYTHONPATH": str(checkout / "src"),
        "KURZ_WORKERS": str(workers),
        "KURZ_METRICS": "public",
    }
    kurz = [str(Path(sys.executable).with_name("kurz")), "serve", "--port", "0"]
    with contextlib.ExitStack() as closing:
        database = None
        if engine == "postgres":
            sys.path.insert(0, str(HERE.parent / "tests"))
            from servers.postgres import PostgresServer

            postgres = closing.enter_context(PostgresServer())
            environment["KURZ_DATABASE_URL"] = postgres.url()
            database = str(postgres.pid)
        server = closing.enter_context(
            started("kurz", kurz, "/api/v1/links", folder, "0-1", environment)
        )
        server.database = database
        yield server


def loads_on(server: Server, suffix: str) -> Iterator[tuple[str, Load]]:
    header = f"Authorization: Bearer {sign_up(server.port)}\r\n"
    path = "/api/v1/links"
    yield "anonymous", Load(f"create, anonymous{suffix}", server, one_link, path)
    yield "owned", Load(f"create, signed in{suffix}", server, one_link, path, header)
    yield (
        "bulk",
        Load(f"bulk{suffix}, a link", server, many_links, f"{path}/bulk", header, BULK_ITEMS),
    )


def sign_up(port: int) -> str:
    """Makes an account, and gives its token. A server that has just started on a busy machine may
    need a few attempts."""
    attempt = 0
    while True:
        account = {"email": f"ada{attempt}@example.com", "password": "correct horse battery staple"}
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1/auth/register",
            json.dumps(account).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310  our own server
                return str(json.load(answer)["token"])
        except urllib.error.HTTPError as error:
            if error.code != 503 or attempt == SIGN_UP_ATTEMPTS:
                raise
            time.sleep(1.0)
            attempt += 1


def measure(loads: list[Load], servers: list[Server], options: argparse.Namespace) -> None:
    for load in loads:
        load.round(_connections(load, options), 1.0)  # warm-up, not counted
        load.rounds.clear()
    before = [server.cpu_of_each()[1] for server in servers]
    time.sleep(IDLE_SECONDS)
    for server, cpu in zip(servers, before, strict=True):
        server.jobs_idle = (server.cpu_of_each()[1] - cpu) / IDLE_SECONDS
    for _ in range(options.rounds):
        for load in loads:
            load.round(_connections(load, options), options.seconds)


def _connections(load: Load, options: argparse.Namespace) -> int:
    return options.connections if load.items == 1 else 1


def commits_of(server: Server) -> float | None:
    """Writes per sync of the disk; the links of a bulk request are four. None on PostgreSQL, where
    kurz does not count them."""
    server.process.terminate()
    server.process.wait()
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    stopped = [line for line in lines if line["event"] == "stopped" and "database_commits" in line]
    commits = sum(line["database_commits"] for line in stopped)
    return sum(line["database_writes"] for line in stopped) / commits if commits else None


def report(name: str, rows: dict[str, list[float]], grouped: list[float | None]) -> None:
    print(f"\n{name}: CPU in µs a link, rates and times of requests, failed links")
    print(" " * 28 + "".join(f"{column:>11}" for column in COLUMNS))
    for load, row in rows.items():
        print(f"{load:28}" + "".join(f"{n:{f}}" for n, f in zip(row, FORMATS, strict=True)))
    empty = rows["empty FastAPI route"][0]
    for load, row in rows.items():
        if load.startswith("create"):
            print(f"{load}: {row[0] / empty:.2f} x the empty route's CPU in the worker")
    if None not in grouped:
        print("writes per sync of the disk: " + ", ".join(f"{number:.1f}" for number in grouped))


if __name__ == "__main__":
    main()
