"""The rows of `redirect.py`: one kind of request to one server each, and what they must reach."""

import contextlib
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from redirect_load import Codes, Heads, Measurement, Visitors, check, drive
from redirect_servers import Server

# The kinds of traffic, and how many times nginx's CPU time a redirect may take with each.
MODES = {
    Visitors.SAME: ("a keep-alive, same head", 1.4),
    Visitors.OTHER: ("b keep-alive, other visitors", 2.4),
    Visitors.HTTP10: ("c HTTP/1.0, close", 1.6),
    Visitors.NEW: ("d new connection each", 1.8),
}
WIDTH = 48

Servers = Callable[[], contextlib.AbstractContextManager[Server]]


@dataclass
class Row:
    """One kind of request to one server, and what its rounds gave."""

    name: str
    server: Servers
    codes: Codes
    heads: Heads
    sample: str
    expected: tuple[str, ...]
    visitors: Visitors = Visitors.SAME
    is_recorded: bool = False
    is_once: bool = False
    cores: str = "1"
    rounds: list[Measurement] = field(default_factory=list)

    def measure(self, seconds: float) -> None:
        with self.server() as server:
            check(server, self.sample, self.heads.first, *self.expected)
            journal = server.journal_bytes()
            found = drive(
                server,
                self.codes,
                self.heads,
                visitors=self.visitors,
                status=self.expected[0].strip(),
                seconds=0 if self.is_once else seconds,
                cores=self.cores,
            )
            if (server.journal_bytes() > journal) is not self.is_recorded:
                sys.exit(f"{self.name}: clicks should {'' if self.is_recorded else 'not '}be kept")
            self.rounds.append(found)

    def median(self, name: str) -> float:
        return float(statistics.median(getattr(found, name) for found in self.rounds))


@dataclass(frozen=True)
class Goal:
    text: str
    value: float
    limit: float
    unit: str

    def __str__(self) -> str:
        mark = "✓" if self.value <= self.limit else "✗"
        return f"{mark} {self.text}: {self.value:.2f} {self.unit} (goal: at most {self.limit:g})"


def same(server: Server) -> Servers:
    return lambda: contextlib.nullcontext(server)


def tell(text: str) -> None:
    """Shows what is being measured, in a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def print_head() -> None:
    print(
        f"{'':{WIDTH}}{'requests/s':>11}{'p50 ms':>8}{'p99 ms':>8}"
        f"{'worker µs':>11}{'jobs µs':>9}{'sum µs':>8}{'×':>7}{'sum ×':>7}"
    )


def print_row(row: Row, base: Row) -> None:
    """`base`: the row that this one is compared with."""
    per_second, p50, p99, worker, jobs, cpu = (
        row.median(name)
        for name in ("per_second", "p50_ms", "p99_ms", "worker_us", "jobs_us", "cpu_us")
    )
    own = base.median("worker_us")
    print(
        f"{row.name:{WIDTH}}{per_second:11,.0f}{p50:8.2f}{p99:8.2f}"
        f"{worker:11.1f}{jobs:9.1f}{cpu:8.1f}{worker / own:7.2f}{cpu / own:7.2f}"
    )
