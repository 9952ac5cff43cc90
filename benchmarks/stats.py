"""How long reports take with ten million clicks of a year on a hundred thousand links, on both
engines: of a link, a tag, a workspace and the installation, over a week, a month and a year, in
every interval; and what is live. The time is that of `Reports.get`, and of the first event of a
listener; the CPU that of this process and, for PostgreSQL, of its server. The first report of a new
process is told apart, with the CPU of that process."""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engines import ENGINES, Place, opened
from kurz.clicks.batch import Subject, SubjectKind, tag_subject
from kurz.clicks.live import Live
from kurz.clicks.periods import Interval, last_days, read_period
from kurz.clicks.stats import EVERYTHING, About, StatsReport
from kurz.settings.model import Settings
from kurz.storage.followers.month_folder import MonthFolder
from kurz.wiring.core import Kurz, open_kurz
from stats_rows import DAYS, TAG, TEAM, Data, fill

GOAL_MS = 50
ZONE = "Europe/Berlin"


@dataclass
class Timed:
    """`first_ms` is what the first report takes that a new process makes."""

    engine: str
    name: str
    days: int
    what: str
    first_ms: float
    first_cpu_ms: float
    median_ms: float
    p95_ms: float
    cpu_ms: float


ABOUTS = {
    "busiest link": About(Subject(SubjectKind.LINK, 1), 0),
    "usual link": About(Subject(SubjectKind.LINK, 1000), 0),
    "tag": About(tag_subject(TEAM, TAG), TEAM, TAG),
    "workspace": About(Subject(SubjectKind.SPACE, TEAM), TEAM),
    "installation": EVERYTHING,
}


async def measure(place: Place, engine: str, runs: int) -> AsyncIterator[Timed]:
    kurz = place.kurz
    for (name, about), days in itertools.product(ABOUTS.items(), (7, 30, DAYS)):
        first = await ask_anew(place.settings, name, days)
        for interval, zone in itertools.product(Interval, ("UTC", ZONE)):
            if interval is Interval.HOUR and days == DAYS:
                continue
            ask = partial(get, kurz, about, days, interval, zone)
            numbers = *first, *await timed(ask, runs, place.cpu_seconds)
            yield Timed(engine, name, days, f"{interval} {zone}", *numbers)
    for name, about in ABOUTS.items():
        hear = partial(listen, kurz, about)
        numbers = *await one(hear, place.cpu_seconds), *await timed(hear, runs, place.cpu_seconds)
        yield Timed(engine, name, 1, "live", *numbers)


def get(
    kurz: Kurz, about: About, days: int, interval: Interval, zone: str
) -> Coroutine[Any, Any, StatsReport]:
    now = kurz.clock.now()
    period = read_period(now, last_days(now, days, zone), None, zone)
    return kurz.stats.get(about, period, interval, compares=True)


async def listen(kurz: Kurz, about: About) -> None:
    async for _ in await Live(kurz.stats.store, kurz.clock).listen(about, 1, 0, 1):
        pass


async def timed(
    act: Callable[[], Awaitable[object]], runs: int, cpu_seconds: Callable[[], float]
) -> tuple[float, float, float]:
    """The median, the 95th percentile, and the CPU for one."""
    found = [await one(act, cpu_seconds) for _ in range(runs)]
    times = sorted(ms for ms, _ in found)
    cpu_ms = statistics.mean(cpu for _, cpu in found)
    return statistics.median(times), times[int(len(times) * 0.95)], cpu_ms


async def one(
    act: Callable[[], Awaitable[object]], cpu_seconds: Callable[[], float]
) -> tuple[float, float]:
    """The time and the CPU, in ms."""
    started, cpu_started = time.perf_counter(), cpu_seconds()
    await act()
    return (time.perf_counter() - started) * 1000, (cpu_seconds() - cpu_started) * 1000


async def ask_anew(settings: Settings, name: str, days: int) -> tuple[float, float]:
    """By days of a zone, in a process that has done nothing else; the CPU of that."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, ask_first, settings, name, days)


def ask_first(settings: Settings, name: str, days: int) -> tuple[float, float]:
    async def ask() -> tuple[float, float]:
        async with open_kurz(settings) as kurz:
            asked = partial(get, kurz, ABOUTS[name], days, Interval.DAY, ZONE)
            return await one(asked, time.process_time)

    return asyncio.run(ask())


async def add_up(kurz: Kurz, engine: str) -> None:
    started, cpu_started = time.perf_counter(), time.process_time()
    await MonthFolder(kurz.database, kurz.clock).run()
    took, cpu = time.perf_counter() - started, time.process_time() - cpu_started
    print(f"{engine}: months added up in {took:.1f} s, {cpu:.1f} s of CPU")


def report(found: list[Timed]) -> None:
    """A line for each subject and length: the slowest of its intervals and zones."""
    columns = ("first ms", "its CPU", "median ms", "p95 ms", "CPU ms")
    print(f"\n{'':36}" + "".join(f"{column:>11}" for column in columns) + "  slowest of them")
    key = lambda row: (row.engine, row.name, row.days, row.what == "live")  # noqa: E731
    for (engine, name, days, is_live), rows in itertools.groupby(found, key):
        it = max(rows, key=lambda row: row.median_ms)
        title = f"{engine} {name}, " + ("live" if is_live else f"{days} days")
        numbers = it.first_ms, it.first_cpu_ms, it.median_ms, it.p95_ms, it.cpu_ms
        print(f"{title:36}" + "".join(f"{number:11.1f}" for number in numbers) + f"  {it.what}")
    slow = [row for row in found if row.median_ms >= GOAL_MS]
    first = [row for row in found if row.first_ms >= GOAL_MS]
    print(f"\n{len(found) - len(slow)} of {len(found)} kinds of reports under {GOAL_MS} ms;")
    print(f"{len(found) - len(first)} of them also as the first of a process")


async def run(options: argparse.Namespace) -> list[Timed]:
    found: list[Timed] = []
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as temporary:
        for engine in options.engines:
            data = Data(options.clicks, options.links)
            async with opened(engine, Path(temporary)) as place:
                await fill(place.kurz, data)
                await add_up(place.kurz, engine)
                async for row in measure(place, engine, options.runs):
                    found.append(row)
                    print(f"\r{len(found)} measured", end="", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clicks", type=int, default=10_000_000)
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    found = asyncio.run(run(options))
    report(found)
    if options.json is not None:
        options.json.write_text(json.dumps([vars(row) for row in found], indent=2))


if __name__ == "__main__":
    main()
