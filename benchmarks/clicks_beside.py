"""What visitors notice of the counting: the CPU and the slowest answers of a worker, while the jobs
process counts clicks, beside a jobs process that stands still and a program that only uses up the
processor time that counting may take. And how long counting goes on after a load has ended."""

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redirect_load import Codes, Heads, Measurement, drive, fill, make_codes
from redirect_servers import Server, children_of, kurz

HERE = Path(__file__).parent
SPIN = "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nwhile True: pass"
GOAL = 1.2
DRAIN_GOAL_SECONDS = 60
DRAIN_DEADLINE_SECONDS = 600
RECORDED, COUNTED = "kurz_journal_records_total", "kurz_clicks_loaded_total"


@dataclass
class Mode:
    name: str
    found: list[Measurement] = field(default_factory=list)

    def median(self, number: str) -> float:
        return float(statistics.median(getattr(each, number) for each in self.found))


def worker_and_jobs(server: Server) -> tuple[Server, int]:
    """Its only worker, and the process ID of its jobs process."""
    worker, jobs = children_of(server.pid)
    return Server(server.port, worker), jobs


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def spinning() -> Iterator[None]:
    with subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", SPIN]) as process:
        try:
            yield
        finally:
            process.kill()


def uncounted(server: Server) -> float:
    """Clicks that are recorded and not counted yet."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    numbers = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return float(numbers[RECORDED]) - float(numbers[COUNTED])


def drain(server: Server) -> float:
    """Seconds until everything is counted."""
    began = time.monotonic()
    while uncounted(server) > 0:
        if time.monotonic() - began > DRAIN_DEADLINE_SECONDS:
            sys.exit(f"{uncounted(server):,.0f} clicks are still not counted")
        time.sleep(0.2)
    return time.monotonic() - began


@dataclass
class Drained:
    """A load without pauses, and what it left to count."""

    load: Measurement
    left: float
    seconds: float


@contextmanager
def server_with(data: Path, codes: list[str]) -> Iterator[tuple[Server, Server, int]]:
    """A server with these links, its worker, and the process ID of its jobs process."""
    asyncio.run(fill(data, codes))
    with kurz(data, metrics="public") as server:
        time.sleep(1)
        worker, jobs = worker_and_jobs(server)
        os.sched_setaffinity(jobs, {1})
        yield server, worker, jobs


def measure(folder: Path, options: argparse.Namespace) -> tuple[Drained, list[Mode]]:
    codes = make_codes(options.links)
    live, heads = Codes(folder / "codes", codes), Heads(folder / "heads")
    # Its own database: a click costs more if millions of the same day are stored already.
    with server_with(folder / "drained", codes) as (server, worker, _):
        drive(worker, live, heads)  # all links are in memory
        drain(server)
        load = drive(worker, live, heads, seconds=options.load_seconds)
        left = uncounted(server)
        drained = Drained(load, left, drain(server))
    still, busy, counting = Mode("jobs stand still"), Mode("something else runs"), Mode("counting")
    with server_with(folder / "data", codes) as (_, worker, jobs):
        drive(worker, live, heads)  # all links are in memory
        for _ in range(options.rounds):
            with standing_still(jobs):
                still.found.append(drive(worker, live, heads, seconds=options.seconds))
                with spinning():
                    busy.found.append(drive(worker, live, heads, seconds=options.seconds))
            counting.found.append(drive(worker, live, heads, seconds=options.seconds))
    return drained, [still, busy, counting]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--load-seconds", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        drained, modes = measure(Path(folder), options)
    print("| | requests/s | p50 ms | p99 ms | CPU µs |\n|---|--:|--:|--:|--:|")
    for mode in modes:
        per_second, p50, p99, cpu = map(mode.median, ("per_second", "p50_ms", "p99_ms", "cpu_us"))
        print(f"| {mode.name} | {per_second:,.0f} | {p50:.2f} | {p99:.2f} | {cpu:.1f} |")
    _, busy, counting = modes
    for number, name in ("cpu_us", "CPU"), ("p99_ms", "p99"):
        ratio = counting.median(number) / busy.median(number)
        mark = "✓" if ratio <= GOAL else "✗"
        print(f"{mark} {name} while clicks are counted: {ratio:.2f} × (goal: at most {GOAL})")
    mark = "✓" if drained.seconds <= DRAIN_GOAL_SECONDS else "✗"
    print(
        f"{mark} After {options.load_seconds} s of {drained.load.per_second:,.0f} redirects/s,"
        f" {drained.left:,.0f} clicks were not counted yet; {drained.seconds:.1f} s later all were"
        f" (goal: at most {DRAIN_GOAL_SECONDS} s)"
    )
    print("The worker is on one core; visitors, and what is beside it, on the other.")


if __name__ == "__main__":
    main()
