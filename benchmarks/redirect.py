"""What a redirect costs beside nginx's `return 302`, in the shapes that traffic has. Every server
is pinned to core 0, the visitors to core 1; rounds alternate between all rows. Rate limits are off,
the clicks are recorded. `--memory` adds what a cached link takes."""

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from redirect_load import (
    COMPILER,
    DRAWN,
    FEW,
    HEADS,
    Codes,
    Heads,
    Visitors,
    drive,
    fill,
    make_codes,
    url_of,
    zipf,
)
from redirect_memory import weigh
from redirect_rows import MODES, Goal, Row, print_head, print_row, same, tell
from redirect_servers import (
    HERE,
    NGINX,
    UNRECORDED,
    Server,
    kurz,
    nginx,
    shared_stores,
)

HIT = f"kurz, {MODES[Visitors.SAME][0]}"
OFF = "kurz, a, recording off"
COLD = "kurz, b, cold SQLite"
SHARED = "kurz, a, PostgreSQL + Redis"
NOTES = """Servers on core 0,
visitors on core 1; several workers share both cores with them. × is the CPU of the worker, and of
the worker and the jobs process (which counts the clicks), by that of nginx in the same mode.
Recording is off by a launcher that replaces the making and writing of records: kurz has no such
setting."""
JSON, HTML = "application/problem+json", "text/html"


class Bench:
    """Files and servers of a run, in a folder of its own; the servers live as long as `stack`."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, links: int) -> None:
        self._folder = folder
        self._stack = stack
        self._template = folder / "template"
        codes = make_codes(links + 3 * FEW + 1)
        live, rest = codes[:links], codes[links:]
        missing, expired, limited = (rest[place * FEW : (place + 1) * FEW] for place in range(3))
        self._spare = rest[-1]
        self._all = [*live, self._spare]
        self._few_limited = limited
        asyncio.run(fill(self._template, self._all, expired, limited))
        random.Random(5).shuffle(live)  # another order than that of their rows
        self._live = Codes(folder / "live", live)
        self._drawn = Codes(folder / "drawn", [live[place] for place in zipf(links, DRAWN)])
        self._some = Codes(folder / "some", live[: links // 5])
        self._missing = Codes(folder / "missing", missing)
        self._expired = Codes(folder / "expired", expired)
        self._limited = Codes(folder / "limited", limited)
        self._browser = Heads(folder / "browser")
        self._program = Heads(folder / "program", "*/*")
        self._others = Heads(folder / "others", count=HEADS)

    def modes(self, workers: int) -> list[Row]:
        """Nginx and kurz in each of the modes."""
        hits = self._hits(self._kurz("recorded")) if workers == 1 else self._workers(workers)
        return [*self._nginx(), *hits]

    def rows(self) -> list[Row]:
        recorded = self._kurz("recorded")
        unrecorded = self._kurz("unrecorded", program=UNRECORDED)
        asgi_path = self._kurz("asgi_path", fast_lane="off")
        return [
            *self._nginx(),
            *self._hits(recorded),
            self._hit(OFF, unrecorded, is_recorded=False),
            self._dead("404 JSON", recorded, self._missing, self._program, " 404 ", JSON),
            self._dead("404 page", recorded, self._missing, self._browser, " 404 ", HTML),
            self._dead("410 JSON", recorded, self._expired, self._program, " 410 ", JSON),
            self._dead("410 page", recorded, self._expired, self._browser, " 410 ", HTML),
            self._cold(COLD, self._live),
            self._spent("kurz, a, max_clicks, SQLite", recorded),
            *self._shared(),
            self._hit("kurz, a, KURZ_FAST_LANE=off", asgi_path),
            *self._workers(2),
        ]

    def _nginx(self) -> list[Row]:
        """Without and with an access log."""
        url = url_of("x")
        servers = self._stack.enter_context(nginx(self._folder / "nginx", url))
        return [
            Row(
                f"{program}, {MODES[mode][0]}",
                same(server),
                self._drawn,
                self._heads_of(mode),
                "x",
                (" 302 ", url),
                mode,
            )
            for program, server in zip(("nginx", "nginx + log"), servers, strict=True)
            for mode in MODES
        ]

    def _heads_of(self, mode: Visitors) -> Heads:
        return self._browser if mode is Visitors.SAME else self._others

    def _copy(self, name: str) -> Path:
        return Path(shutil.copytree(self._template, self._folder / name))

    def _kurz(self, name: str, **arguments: Any) -> Server:
        """A server that has every link in memory."""
        server = self._stack.enter_context(kurz(self._copy(name), **arguments))
        drive(server, self._live, self._browser)
        return server

    def _hits(self, server: Server) -> list[Row]:
        return [self._hit(f"kurz, {name}", server, mode) for mode, (name, _) in MODES.items()]

    def _hit(
        self,
        name: str,
        server: Server,
        mode: Visitors = Visitors.SAME,
        *,
        is_recorded: bool = True,
    ) -> Row:
        return Row(
            name,
            same(server),
            self._drawn,
            self._heads_of(mode),
            self._spare,
            (" 302 ", f"location: {url_of(self._spare)}"),
            mode,
            is_recorded=is_recorded,
        )

    def _dead(self, name: str, server: Server, codes: Codes, heads: Heads, *expected: str) -> Row:
        return Row(f"kurz, a, {name}", same(server), codes, heads, codes.first, expected)

    def _spent(self, name: str, server: Server) -> Row:
        """Each redirect is a write. A hundred links share it: of one alone each visitor would wait
        for all others."""
        row = self._hit(name, server)
        row.codes, row.sample = self._limited, self._limited.first
        row.expected = (" 302 ", f"location: {url_of(row.sample)}")
        return row

    def _cold(self, name: str, codes: Codes, **settings: str) -> Row:
        """A new server each round: no code is asked for twice."""
        data = self._copy(name.replace(" ", "-"))
        return Row(
            name,
            lambda: kurz(data, **settings),  # type: ignore[arg-type]
            codes,
            self._others,
            self._spare,
            (" 302 ", f"location: {url_of(self._spare)}"),
            Visitors.OTHER,
            is_recorded=True,
            is_once=True,
        )

    def _shared(self) -> list[Row]:
        """On PostgreSQL, and with a Redis that has all links; both run on the visitors' core."""
        stores = self._stack.enter_context(shared_stores())
        asyncio.run(
            fill(
                self._folder / "nothing",
                self._all,
                limited=self._few_limited,
                database_url=stores.database_url,
            )
        )
        settings = {"database_url": stores.database_url, "redis_url": stores.redis_url}
        # A server that finds more than Redis takes leaves some out: the next one has them.
        data = self._copy("shared")
        while stores.kept() < 0.95 * self._live.count:
            with kurz(data, **settings) as filling:  # type: ignore[arg-type]
                drive(filling, self._live, self._browser)
        warm = self._stack.enter_context(kurz(data, **settings))  # type: ignore[arg-type]
        drive(warm, self._live, self._browser)
        only_database = {"database_url": stores.database_url}
        return [
            self._hit(SHARED, warm),
            self._cold("kurz, b, cold PostgreSQL", self._some, **only_database),
            self._cold("kurz, b, cold, from Redis", self._some, **settings),
            self._spent("kurz, a, max_clicks, PostgreSQL", warm),
        ]

    def _workers(self, count: int) -> list[Row]:
        """They share both cores with the visitors."""
        server = self._kurz("workers", workers=count, cores="0-1")
        rows = [
            self._hit(f"kurz, {name}, {count} workers", server, mode)
            for mode, (name, _) in MODES.items()
        ]
        for row in rows:
            row.cores = "0-1"
        return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="0: only what --memory measures")
    parser.add_argument("--seconds", type=int, default=3, help="of each measurement")
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--modes", action="store_true", help="only nginx and kurz in each mode")
    parser.add_argument("--workers", type=int, default=1, help="of kurz, with --modes")
    parser.add_argument("--memory", action="store_true", help="of 100,000 and 1,000,000 links")
    parser.add_argument("--quick", action="store_true", help="only to see that it works")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    sizes = (100_000, 1_000_000)
    if options.quick:
        options.rounds, options.seconds, options.links = min(options.rounds, 1), 1, 10_000
        sizes = (10_000, 50_000)
    if options.workers != 1 and not options.modes:
        parser.error("--workers needs --modes: without it, two workers are always measured as well")
    if (NGINX is None and options.rounds) or COMPILER is None:
        sys.exit("This needs nginx and a C compiler: apt-get install nginx-light gcc libc6-dev")
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("This needs two cores: one for the servers, one for the load.")
    os.sched_setaffinity(0, {1})
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are stopped
    numbers: dict[str, Any] = {}
    goals: list[Goal] = []
    # Beside this file, on a disk: /tmp may be memory.
    with tempfile.TemporaryDirectory(dir=HERE) as temporary:
        Path(temporary).chmod(0o755)
        if options.rounds:
            numbers["rows"] = compare(Path(temporary), options, goals)
        if options.memory:
            numbers["memory"] = weigh(Path(temporary), sizes, options, goals)
    print()
    for goal in goals:
        print(goal)
    if options.json is not None:
        numbers["goals"] = [asdict(goal) for goal in goals]
        options.json.write_text(json.dumps(numbers, indent=2))


def compare(folder: Path, options: argparse.Namespace, goals: list[Goal]) -> dict[str, Any]:
    with contextlib.ExitStack() as stack:
        bench = Bench(folder, stack, options.links)
        rows = bench.modes(options.workers) if options.modes else bench.rows()
        for number in range(options.rounds):
            for row in rows:
                tell(f"round {number + 1} of {options.rounds}: {row.name}")
                row.measure(options.seconds)
        tell("")
    print_head()
    by_name = {row.name: row for row in rows}
    for row in rows:
        print_row(row, by_name[f"nginx, {MODES[row.visitors][0]}"])
    print(
        f"\nMedians of {options.rounds} rounds, {options.links:,} links with 100-byte URLs.", NOTES
    )
    if options.workers == 1:
        goals += _goals(by_name, only_modes=options.modes)
    return {row.name: [asdict(found) for found in row.rounds] for row in rows}


def _goals(rows: dict[str, Row], *, only_modes: bool) -> list[Goal]:
    worker = {name: row.median("worker_us") for name, row in rows.items()}
    p99 = {name: row.median("p99_ms") for name, row in rows.items()}
    nginx_p99 = p99[f"nginx, {MODES[Visitors.SAME][0]}"]
    found = [
        *(
            Goal(f"worker, {name}", worker[f"kurz, {name}"] / worker[f"nginx, {name}"], most, "x")
            for name, most in MODES.values()
        ),
        Goal("p99 of a hit", p99[HIT] / nginx_p99, 3, "x nginx"),
    ]
    if only_modes:
        return found
    return [
        *found,
        Goal("worker, a record", worker[HIT] - worker[OFF], 4, "µs"),
        *(
            Goal(f"worker, {kind}", worker[f"kurz, a, {kind}"] / worker[HIT], most, "x a hit")
            for kind, most in (
                *(("404 JSON", 1.2), ("410 JSON", 1.2)),
                *(("404 page", 1.5), ("410 page", 1.5)),
            )
        ),
        Goal("worker, a link that is not in memory, SQLite", worker[COLD], 48, "µs"),
        Goal("worker, PostgreSQL + Redis", worker[SHARED] / worker[HIT], 1.05, "x embedded"),
    ]


if __name__ == "__main__":
    main()
