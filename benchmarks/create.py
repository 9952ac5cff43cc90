"""What an acknowledged, synced create costs beside an empty FastAPI route that validates the same
body, without and with an account: both servers run at once on one core, rounds alternate, the load
comes from the other core. Rate limits are off: they would end it after ten."""

import argparse
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from load import Result, drive

BODY = json.dumps({"original_url": "https://example.com/some/long/path?utm_source=letter&id=12345"})
HERE = Path(__file__).parent
EMPTY = [str(HERE / "empty_route.py")]
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass
class Server:
    """A server under load, and what its rounds gave."""

    name: str
    process: subprocess.Popen[str]
    port: int
    path: str
    header: str = ""
    cpu_us: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)

    def cpu_seconds(self) -> float:
        """Of the process and its children."""
        pid = str(self.process.pid)
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(map(cpu_seconds, [pid, *children]))

    def round(self, connections: int, seconds: float) -> None:
        before = self.cpu_seconds()
        result = uvloop.run(drive(self.port, self._request(), connections, seconds))
        cpu = self.cpu_seconds() - before
        if set(result.statuses) != {201}:
            sys.exit(f"{self.name} answered {result.statuses}")
        self._keep(result, cpu)

    def _keep(self, result: Result, cpu: float) -> None:
        self.cpu_us.append(cpu / result.answers * 1e6)
        self.per_second.append(result.answers / result.seconds)
        centiles = statistics.quantiles(result.latencies_ms, n=100)
        self.p50_ms.append(centiles[49])
        self.p99_ms.append(centiles[98])

    def _request(self) -> bytes:
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"{self.header}"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}"
        ).encode()


@contextlib.contextmanager
def started(
    name: str, command: list[str], path: str, folder: Path, cores: str = "0"
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
        yield Server(name, process, int(address[1]), path)
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    os.sched_setaffinity(0, {1})
    kurz = [str(Path(sys.executable).with_name("kurz")), "serve", "--port", "0"]
    with tempfile.TemporaryDirectory(dir=HERE) as temporary:
        folders = [Path(temporary, name) for name in ("empty", "kurz")]
        for folder in folders:
            folder.mkdir()
        with (
            started("empty FastAPI route", [sys.executable, *EMPTY], "/links", folders[0]) as empty,
            started("create, anonymous", kurz, "/api/v1/links", folders[1]) as create,
        ):
            header = f"Authorization: Bearer {sign_up(create.port)}\r\n"
            owned = Server("create, signed in", create.process, create.port, create.path, header)
            measure((empty, create, owned), options)
        lines = [json.loads(line) for line in (folders[1] / "log").read_text().splitlines()]
        stopped = next(line for line in lines if line["event"] == "stopped")
        report(empty, create, owned, stopped, options.json)


def sign_up(port: int) -> str:
    """Makes an account, and gives its token."""
    body = json.dumps({"email": "ada@example.com", "password": "correct horse battery staple"})
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/auth/register",
        body.encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310  our own server
        token: str = json.load(answer)["token"]
        return token


def measure(servers: tuple[Server, ...], options: argparse.Namespace) -> None:
    for server in servers:
        server.round(options.connections, 1.0)  # warm-up, not counted
        for numbers in (server.cpu_us, server.per_second, server.p50_ms, server.p99_ms):
            numbers.clear()
    for _ in range(options.rounds):
        for server in servers:
            server.round(options.connections, options.seconds)


def report(
    empty: Server, create: Server, owned: Server, stopped: dict[str, int], path: Path | None
) -> None:
    print(f"{'':22}{'CPU µs/request':>16}{'requests/s':>12}{'p50 ms':>9}{'p99 ms':>9}")
    median = statistics.median
    rows = {}
    for server in (empty, create, owned):
        row = [median(x) for x in (server.cpu_us, server.per_second, server.p50_ms, server.p99_ms)]
        rows[server.name] = row
        print(f"{server.name:22}{row[0]:16.1f}{row[1]:12,.0f}{row[2]:9.2f}{row[3]:9.2f}")
    cpu_ratio = rows[create.name][0] / rows[empty.name][0]
    throughput = rows[create.name][1] / rows[empty.name][1]
    owned_ratio = rows[owned.name][0] / rows[create.name][0]
    grouped = stopped["writes"] / stopped["commits"]
    print(f"\nCPU of a create: {cpu_ratio:.2f} x the empty route (goal: at most 2.5)")
    print(f"CPU of a create with an account: {owned_ratio:.2f} x one without (goal: at most 1.3)")
    print(f"throughput: {throughput:.0%} of the empty route's (goal: at least 35 %)")
    print(f"creates per sync of the disk: {grouped:.1f}")
    if path is not None:
        numbers = {"rows": rows, "cpu_ratio": cpu_ratio, "owned_ratio": owned_ratio}
        numbers |= {"creates_per_sync": grouped}
        path.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    main()
