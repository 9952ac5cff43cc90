"""What visitors notice of an import over the API: how long redirects take on the same worker, with
one running and without, in turn. For `make bench-transfer`."""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from create import HERE, sign_up, started

KURZ = str(Path(sys.executable).with_name("kurz"))
EMAIL = "ada@example.com"
CONNECTIONS = 8
PER_SECOND = 400  # redirects, in all: a visitor more or less does not change what one waits for
REST_SECONDS = 2  # after an import, for what follows it
GOAL = 2.0


@dataclass
class Mode:
    name: str
    latencies_ms: list[list[float]] = field(default_factory=list)

    def centile(self, which: int) -> float:
        """The median of the rounds'."""
        rounds = [statistics.quantiles(found, n=100)[which - 1] for found in self.latencies_ms]
        return statistics.median(rounds)


class Visitors:
    """Redirects at a steady pace. One that is due while its connection still waits is measured from
    when it was due."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()

    def measure(self, is_over: threading.Event) -> list[float]:
        return uvloop.run(self._measure(is_over))

    async def _measure(self, is_over: threading.Event) -> list[float]:
        found: list[float] = []
        step = CONNECTIONS / PER_SECOND
        await asyncio.gather(
            *(self._one(is_over, step, at * step / CONNECTIONS, found) for at in range(CONNECTIONS))
        )
        return found

    async def _one(
        self, is_over: threading.Event, step: float, first: float, found: list[float]
    ) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        due = time.perf_counter() + first
        while not is_over.is_set():
            begun = due
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
                begun = time.perf_counter()  # the loop's timer may be late by a millisecond
            writer.write(self._request)
            answer = await reader.readuntil(b"\r\n\r\n")
            found.append((time.perf_counter() - begun) * 1000)
            if b" 302 " not in answer[:16]:
                sys.exit(f"a redirect was answered with {answer[:60]!r}")
            due += step
        writer.close()


def rows(count: int, round_number: int) -> bytes:
    lines = [
        json.dumps(
            {
                "original_url": f"https://www.example.com/blog/{number}/post?utm_source=letter",
                "short_code": f"r{round_number}-{number}",
                "title": f"What we did in week {number % 52}",
                "tags": [f"tag-{number % 20}"],
            }
        )
        for number in range(count)
    ]
    return "\n".join(lines).encode()


def send(port: int, token: str, data: bytes) -> float:
    """How long an import takes."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/v1/links/import",
        data,
        {"content-type": "application/jsonl", "authorization": f"Bearer {token}"},
    )
    began = time.perf_counter()
    with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310  our own server
        found = json.load(answer)
    if found["summary"]["created"] != data.count(b"\n") + 1:
        sys.exit(f"the import says {found}")
    return time.perf_counter() - began


def make_link(port: int) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", b"https://example.com/")
    with urllib.request.urlopen(request) as answer:  # noqa: S310  our own server
        return "/" + str(answer.read().decode()).strip().rpartition("/")[2]


def run(engine: str, options: argparse.Namespace) -> dict[str, float]:
    without, beside = Mode("no import"), Mode("import")
    pace: list[float] = []
    with tempfile.TemporaryDirectory(dir=HERE) as temporary, contextlib.ExitStack() as closing:
        folder = Path(temporary)
        if engine == "PostgreSQL":
            sys.path.append(str(HERE.parent / "tests"))
            from servers.postgres import PostgresServer

            server = closing.enter_context(PostgresServer())
            server.create_database("beside")
            os.environ["KURZ_DATABASE_URL"] = server.url("beside")
            closing.callback(os.environ.pop, "KURZ_DATABASE_URL")
        command = [KURZ, "serve", "--port", "0", "--workers", "1"]
        kurz = closing.enter_context(started("kurz", command, "/", folder, cores="0-1"))
        token = sign_up(kurz.port)
        environment = {**os.environ, "KURZ_DATA_DIR": str(folder / "data")}
        subprocess.run([KURZ, "admin", "allow-imports", EMAIL], env=environment, check=True)
        visitors = Visitors(kurz.port, make_link(kurz.port))
        for number in range(options.rounds):
            data = rows(options.rows, number)
            without.latencies_ms.append(_measured(visitors, lambda: time.sleep(options.seconds)))

            def work(data: bytes = data) -> None:
                pace.append(options.rows / send(kurz.port, token, data))

            beside.latencies_ms.append(_measured(visitors, work))
            time.sleep(REST_SECONDS)
    return _report(engine, without, beside, statistics.median(pace))


def _measured(visitors: Visitors, work: object) -> list[float]:
    """Redirects for as long as `work` takes, which is done in another thread."""
    is_over = threading.Event()

    def do() -> None:
        try:
            work()  # type: ignore[operator]
        finally:
            is_over.set()

    thread = threading.Thread(target=do)
    thread.start()
    found = visitors.measure(is_over)
    thread.join()
    return found


def _report(engine: str, without: Mode, beside: Mode, pace: float) -> dict[str, float]:
    ratio = beside.centile(99) / without.centile(99)
    verdict = "met" if ratio <= GOAL else "MISSED"
    for mode, words in (without, ""), (beside, f"  × {ratio:.2f}, {verdict}"):
        p50, p99 = mode.centile(50), mode.centile(99)
        print(f"{engine + ', ' + mode.name:24}{p50:12.2f}{p99:12.2f}{words}")
    print(f"{'':24}{pace:,.0f} rows a second\n")
    return {
        "p99_ms_without": without.centile(99),
        "p99_ms_beside": beside.centile(99),
        "ratio": ratio,
        "rows_per_second": pace,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="of an import")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0, help="of redirects without an import")
    parser.add_argument("--engine", choices=("SQLite", "PostgreSQL"), action="append")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    goal = f"  goal: p99 × {GOAL:.0f} at most"
    print(f"\n{'redirects beside':24}{'p50 ms':>12}{'p99 ms':>12}{goal}")
    engines = options.engine or ["SQLite", "PostgreSQL"]
    numbers = {engine: run(engine, options) for engine in engines}
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    os.environ.setdefault("KURZ_LOG_LEVEL", "warning")
    main()
