"""What the jobs process takes during and after a large import, by `kurz import` beside serving:
the most memory from before the import on, CPU while it catches up, how long that takes, and CPU
afterwards. The last column of the table says which goals are missed. With and without checks of
destinations; `--engine postgres` runs it on PostgreSQL, `--out` writes the numbers as JSON."""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
KURZ = str(Path(sys.executable).with_name("kurz"))
BACKLOGS = ("kurz_count_backlog", "kurz_destinations_backlog", "kurz_search_backlog")
JOBS = '{process="jobs"}'
LOOK_SECONDS = 1.0
AFRESH_SECONDS = 6.0  # until backlogs were looked at again
GOALS = {"megabytes": 150, "seconds": 300, "idle_percent": 1.0}
RESIDENT = f"kurz_process_resident_bytes{JOBS}"
CPU = f"kurz_process_cpu_seconds_total{JOBS}"


class Serving:
    """A `kurz serve` that is measured by its own metrics."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [KURZ, "serve"],
            env={**environment, "KURZ_PORT": "0", "KURZ_METRICS": "public"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline())
        if address is None:
            sys.exit("kurz did not start")
        self._url = f"{address[0]}/metrics"

    def look(self) -> dict[str, float]:
        with urllib.request.urlopen(self._url) as answer:  # noqa: S310  our own server
            lines = answer.read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def measure(links: int, checks: str, idle_seconds: float, database: str | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        inherited = {key: it for key, it in os.environ.items() if not key.startswith("KURZ_")}
        environment = {
            **inherited,
            "KURZ_DATA_DIR": f"{folder}/data",
            "KURZ_DESTINATION_CHECKS": checks,
            **({} if database is None else {"KURZ_DATABASE_URL": database}),
        }
        file = Path(folder, "links.csv")
        with file.open("w") as rows:
            rows.write("original_url\n")
            for number in range(links):
                # Names that nobody can resolve: no check calls anybody.
                rows.write(f"https://site{number % 50_000}.invalid/path/{number}?page=1\n")
        serving = Serving(environment)
        try:
            most = watch_import([KURZ, "import", str(file)], environment, serving)
            found = watch(serving, idle_seconds)
            return {**found, "megabytes": max(most, found["megabytes"])}
        finally:
            serving.stop()


def watch_import(command: list[str], environment: dict[str, str], serving: Serving) -> float:
    """Runs it, and tells the most megabytes of the jobs process meanwhile."""
    while RESIDENT not in (found := serving.look()):  # the jobs process has just started
        time.sleep(0.1)
    most = found[RESIDENT]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as importing:
        while importing.poll() is None:
            time.sleep(LOOK_SECONDS)
            most = max(most, serving.look()[RESIDENT])
    if importing.returncode:
        sys.exit("kurz import failed")
    return most / 1e6


def missed(found: dict[str, float]) -> list[str]:
    return [name for name, goal in GOALS.items() if found[name] > goal]


def watch(serving: Serving, idle_seconds: float) -> dict[str, float]:
    """From the end of the import on."""
    began, most, is_done_since = time.monotonic(), 0.0, None
    found = serving.look()
    cpu_before = found[CPU]
    seconds = cpu = 0.0
    while is_done_since is None or time.monotonic() - is_done_since < AFRESH_SECONDS:
        time.sleep(LOOK_SECONDS)
        found = serving.look()
        most = max(most, found[RESIDENT])
        if any(found[name] for name in BACKLOGS):
            is_done_since = None
        elif is_done_since is None:
            is_done_since = time.monotonic()
            seconds = is_done_since - began
            cpu = found[CPU] - cpu_before
    idle_from = serving.look()[CPU]
    started = time.monotonic()
    time.sleep(idle_seconds)
    found = serving.look()
    most = max(most, found[RESIDENT])
    idle = found[CPU] - idle_from
    return {
        "megabytes": most / 1e6,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "idle_percent": 100 * idle / (time.monotonic() - started),
    }


@contextlib.contextmanager
def open_engine(name: str) -> Iterator[str | None]:
    """The address of a fresh database; None for SQLite."""
    if name == "sqlite":
        yield None
        return
    sys.path.insert(0, str(HERE.parent / "tests"))
    from servers.postgres import PostgresServer

    with PostgresServer() as server:
        yield server.url()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--checks", nargs="+", choices=("on", "off"), default=["on", "off"])
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--idle-seconds", type=float, default=30.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    print(f"Goals: {', '.join(f'{name} ≤ {goal}' for name, goal in GOALS.items())}\n")
    print(
        "| links | checks | most MB | caught up after s | CPU s for it | CPU % when idle | goals |"
    )
    print("|--:|---|--:|--:|--:|--:|---|")
    results = []
    for links in options.links:
        for checks in options.checks:
            with open_engine(options.engine) as database:
                found = measure(links, checks, options.idle_seconds, database)
            run = {"links": links, "checks": checks, "engine": options.engine}
            results.append({**run, **found, "missed": missed(found)})
            verdict = f"MISSED: {', '.join(missed(found))}" if missed(found) else "met"
            print(
                f"| {links:,} | {checks} | {found['megabytes']:.0f} | {found['seconds']:.0f}"
                f" | {found['cpu_seconds']:.1f} | {found['idle_percent']:.2f} | {verdict} |",
                flush=True,
            )
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
