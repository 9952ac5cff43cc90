"""Whether anything grows while a server is under mixed load: memory, descriptors, backlogs. Links
last for 60 seconds, and all intervals are so short that each is created, clicked, expired, archived
and purged within two minutes. The load runs at half of what the server takes. Wrong answers are
counted, and so are clicks. The exit code is 1 if anything grows that must not, or is wrong."""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redirect_load import Codes, Heads, Visitors, drive, fill, make_codes
from redirect_servers import kurz, shared_stores
from soak_judge import Check, Judgement, Points, Rule, as_told, is_passed, judge, table
from soak_samples import Probe

HERE = Path(__file__).parent
ENGINES = ("sqlite", "postgres", "postgres+redis")
SAMPLE_SECONDS = 5.0
SATURATED_SECONDS = 20.0
LINKS = 20_000  # that last; more than a worker keeps
HOT_LINKS = 10_000
MISSES = 12_000  # more unknown codes than a worker remembers
HEADS = 20_000
KEPT_SECONDS = 15
DRAIN_SECONDS = 400.0  # a link is purged after two minutes, and its code free another minute later
CALM_SECONDS = 90.0  # idle connections to PostgreSQL are closed after 60
MOST_FAILED = 0.0001  # of the requests
MOST_MEMORY = 1.0  # per cent an hour
DOUBLE = 100.0  # per cent an hour: a backlog that would not double
CORES = "0-1"
MIB = 1024.0 * 1024.0
SETTINGS = {
    "rate_limits": "on",
    "limit_account_create": "off",
    "limit_write": "off",
    "limit_create_daily": "off",
    "metrics": "public",
    "destination_checks": "off",  # these destinations do not exist
    "hot_links": str(HOT_LINKS),
    "retention_temporary": f"{KEPT_SECONDS}s",
    "retention_permanent": f"{KEPT_SECONDS}s",
    "retention_swept": f"{KEPT_SECONDS}s",
    "retention_deleted": f"{KEPT_SECONDS}s",
    "code_quarantine": "1m",
    "reaper_interval": "10s",
    "reaper_first_after": "5s",
    "reaper_at_least": "5s",
    "reaper_longest_run": "30s",
    "reaper_at_most": "60s",
}


@dataclass
class Run:
    """What was found on an engine."""

    engine: str
    rate: float
    peak: float | None
    samples: list[tuple[float, dict[str, float]]] = field(default_factory=list)
    load: dict[str, Any] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)  # cores, by process
    checks: list[Check] = field(default_factory=list)

    def points(self, name: str, warm_up: float) -> Points:
        return [(at, found[name]) for at, found in self.samples if at >= warm_up and name in found]

    def judgements(self, warm_up: float) -> list[Judgement]:
        names = dict.fromkeys(name for _, found in self.samples for name in found)
        rules = [(name, rule_of(name), self.points(name, warm_up)) for name in names]
        return [judge(name, points, rule) for name, rule, points in rules if points]


def rule_of(name: str) -> Rule:
    """The floors are what comes and goes within an interval."""
    if name.endswith("memory") and not name.startswith("Redis"):
        return Rule("MiB", MOST_MEMORY, scale=MIB)
    if name.endswith(("descriptors", "threads")):
        return Rule("", MOST_MEMORY)
    backlogs = {
        "uncounted clicks": Rule("MiB", DOUBLE, floor=MIB, scale=MIB),
        "journal: bytes": Rule("MiB", DOUBLE, floor=MIB, scale=MIB),
        "journal: files": Rule("", DOUBLE, floor=10),
        "expired or deleted links that wait": Rule("", DOUBLE, floor=100),
        "change log": Rule("rows", DOUBLE, floor=1000),
        "reserved codes": Rule("", DOUBLE, floor=1000),
        "links to index": Rule("", DOUBLE, floor=1000),
        "links to count": Rule("", DOUBLE, floor=1000),
        "copies of counts": Rule("", DOUBLE, floor=1000),
    }
    sizes = {"database": Rule("MiB", scale=MIB), "Redis: memory": Rule("MiB", scale=MIB)}
    return {**backlogs, **sizes}.get(name, Rule(""))


class Loader:
    """The process of `soak_load.py`."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            ["taskset", "-c", CORES, sys.executable, str(HERE / "soak_load.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tell(options)
        self.hear()

    def tell(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            sys.exit("the load has ended by itself")
        return dict(json.loads(line))

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def serving(engine: str, folder: Path, codes: Sequence[str], workers: int) -> Iterator[Probe]:
    data = folder / "data"
    with shared_stores() if engine != ENGINES[0] else nullcontext() as stores:
        settings = SETTINGS | {"archive": str(folder / "archive")}
        (folder / "archive").mkdir()
        if stores is not None:
            settings |= {"database_url": stores.database_url}
            if engine == ENGINES[2]:
                settings |= {"redis_url": stores.redis_url}
        tell(f"storing {len(codes):,} links")
        asyncio.run(fill(data, codes, database_url=None if stores is None else stores.database_url))
        program = (sys.executable, str(HERE / "shortened.py"))
        with kurz(data, program=program, workers=workers, cores=CORES, **settings) as server:
            yield Probe(server, data, stores)


def fill_memory(probe: Probe, folder: Path, codes: Sequence[str]) -> int:
    """What a worker keeps is full from the start: links, unknown codes, heads. Returns the number
    of redirects."""
    tell("filling the memory of the workers")
    heads = Heads(folder / "heads", count=HEADS)
    known = Codes(folder / "known", codes)
    unknown = Codes(folder / "unknown", [f"{code}-" for code in make_codes(MISSES)])
    found = 0
    for asked, status in (known, "302"), (unknown, "404"):
        drive(probe.server, asked, heads, visitors=Visitors.OTHER, status=status, cores=CORES)
        found += asked.count if status == "302" else 0
    return found


def soak(engine: str, options: argparse.Namespace) -> Run:
    codes = make_codes(LINKS)
    with (
        tempfile.TemporaryDirectory(dir=HERE) as temporary,
        serving(engine, Path(temporary), codes, options.workers) as probe,
    ):
        redirects = fill_memory(probe, Path(temporary), codes)
        loader = Loader(
            {
                "port": probe.server.port,
                "addresses": options.addresses,
                "codes": codes,
                "kept_seconds": KEPT_SECONDS,
                "settle_seconds": 5.0 if options.workers > 1 else 0.0,
            }
        )
        tell("finding out how much the server takes")
        loader.tell({"saturate": SATURATED_SECONDS})
        peak = loader.hear()
        rate = options.rate or peak["per_second"] / 2
        found = Run(engine, rate, None if options.rate else peak["per_second"])
        calm = wait_until_calm(probe)
        processes = probe.processes()
        measure(probe, loader, found, options.minutes * 60)
        loader.stop()
        answered = redirects + peak["redirects"] + found.load["redirects"]
        unread = peak["perhaps_redirects"] + found.load["perhaps_redirects"]
        found.checks = [
            *check_answers(found.load),
            Check("processes that were replaced", *_same(processes, probe.processes())),
            *check_end(probe, calm),
            check_clicks(probe, answered, unread),
        ]
        return found


def measure(probe: Probe, loader: Loader, found: Run, seconds: float) -> None:
    loader.tell({"rate": found.rate, "seconds": seconds})
    before, started = probe.cpu_seconds(), time.monotonic()
    while (at := time.monotonic() - started) < seconds:
        found.samples.append((at, probe.sample()))
        tell(f"{found.engine}: {at / 60:.1f} of {seconds / 60:g} minutes")
        time.sleep(max(SAMPLE_SECONDS - (time.monotonic() - started - at), 0))
    passed = time.monotonic() - started
    found.cpu = {name: (it - before[name]) / passed for name, it in probe.cpu_seconds().items()}
    found.load = loader.hear()


def wait_until_calm(probe: Probe) -> dict[str, float]:
    """The fewest descriptors of each process without load."""
    tell("waiting without load")
    fewest: dict[str, float] = {}
    until = time.monotonic() + (20 if probe.stores is None else CALM_SECONDS)
    while time.monotonic() < until:
        for name, value in probe.sample().items():
            if name.endswith("descriptors"):
                fewest[name] = min(value, fewest.get(name, value))
        time.sleep(1)
    return fewest


def check_answers(load: dict[str, Any]) -> list[Check]:
    sent = sum(load["sent"].values())
    wrong, failed = sum(load["wrong"].values()), sum(load["failed"].values())
    return [
        Check("wrong answers", f"{wrong:,} of {sent:,}", wrong == 0),
        Check("failed requests", f"{failed:,} of {sent:,}", failed <= MOST_FAILED * sent),
        Check("requests not sent, too many in flight", f"{load['unsent']:,}", load["unsent"] == 0),
    ]


def check_end(probe: Probe, calm: dict[str, float]) -> list[Check]:
    """Without load, everything that waits is done, and no descriptor is left open."""
    backlogs = ("uncounted clicks", "expired or deleted links that wait", "reserved codes")
    started, left, more = time.monotonic(), {"": 1.0}, {"": 1.0}
    while (left or more) and time.monotonic() - started < DRAIN_SECONDS:
        tell("waiting until everything is done")
        time.sleep(2)
        found = probe.sample()
        left = {name: found[name] for name in backlogs if found[name]}
        more = {name: found[name] - calm[name] for name in calm if found[name] > calm[name]}
    seconds = f"{time.monotonic() - started:.0f} s after the load"
    return [
        Check("backlogs at the end", _told(left) or f"none, {seconds}", not left),
        Check("more descriptors than before the load", _told(more) or f"none, {seconds}", not more),
    ]


def check_clicks(probe: Probe, answered: int, unread: int) -> Check:
    """Each redirect is counted once. Nobody knows whether requests that were not waited for have
    been answered."""
    time.sleep(2)  # totals are read once a second
    counted = json.loads(probe.read("/api/stats"))["totalRedirects"]
    name = "clicks counted, of redirects"
    is_met = answered <= counted <= answered + unread
    return Check(name, f"{counted:,} of {answered:,} to {answered + unread:,}", is_met)


def _same(before: dict[str, int], after: dict[str, int]) -> tuple[str, bool]:
    changed = [name for name, pid in before.items() if after.get(name) != pid]
    return ", ".join(changed) or "none", not changed


def _told(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,.0f}" for name, value in found.items())


def report(found: Run, warm_up: float) -> bool:
    tell("")
    load, judgements = found.load, found.judgements(warm_up)
    peak = "" if found.peak is None else f", half of {found.peak:,.0f}"
    cpu = ", ".join(f"{name} {share:.2f}" for name, share in found.cpu.items())
    print(f"\n{found.engine}: {found.rate:,.0f} requests a second{peak}, for", end=" ")
    print(f"{load['seconds'] / 60:.1f} minutes, the first {warm_up / 60:.1f} not judged.")
    print(f"CPU in cores: {cpu}. Redirects: p50 {load['redirect_p50_ms']:.1f} ms,", end=" ")
    print(f"p99 {load['redirect_p99_ms']:.1f} ms.\n")
    for name, *cells, verdict in table(judgements):
        print(f"| {' | '.join((name, *cells, verdict))} |")
    print()
    for check in found.checks:
        print(f"{'✓' if check.is_met else '✗'} {check.name}: {check.found}")
    for example in load["examples"]:
        print(f"  {example}")
    return is_passed(judgements, found.checks)


def tell(text: str) -> None:
    """Shows what is being done, in a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, help="minutes that are not judged: a third")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES[:1])
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rate", type=float, help="requests a second, instead of half the most")
    parser.add_argument("--addresses", type=int, default=4000, help="of visitors")
    parser.add_argument("--json", type=Path, help="write the numbers and all samples there")
    options = parser.parse_args()
    warm_up = 60 * (options.minutes / 3 if options.warm_up is None else options.warm_up)
    runs = [soak(engine, options) for engine in options.engines]
    are_passed = [report(run, warm_up) for run in runs]
    if options.json is not None:
        told = [{**vars(run), "judgements": as_told(run.judgements(warm_up))} for run in runs]
        options.json.write_text(json.dumps(told, default=vars, indent=1))
    sys.exit(0 if all(are_passed) else 1)


if __name__ == "__main__":
    main()
