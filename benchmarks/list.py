"""How long a page of 50 takes in a workspace of a million links, on both engines: every order, with
every filter, the first page and a deep one. Also the operator's lists of all links, and lists of
tags. The time is that of the service, the CPU that of this process and of PostgreSQL's server."""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from engines import ENGINES, opened
from kurz.clock import from_micros
from kurz.links.model import Filter, Scope, Sort, Status
from kurz.paging import Part
from kurz.wiring.core import Kurz
from list_rows import DAY, NOW, TEAM, Data, fill

GOAL_MS = 20


@dataclass
class Timed:
    """One kind of page: how long it took, and the CPU for one."""

    engine: str
    name: str
    sort: str
    is_deep: bool
    total: int
    median_ms: float
    p95_ms: float
    cpu_ms: float


def cases(data: Data) -> dict[str, Filter]:
    words = {"common": "example", "medium": "zebra", "rare": "okapi", "no hit": "unfindable"}
    pasted = "https://www.example.com/kitchen/coffee-12"
    month = from_micros(NOW - 60 * DAY)
    return {
        "no filter": Filter(),
        **{status.lower(): Filter(status=status) for status in Status},
        "tag common": Filter(tag=data.tags[0]),
        "tag medium": Filter(tag=data.tags[20]),
        "tag rare": Filter(tag=data.tags[-1]),
        "tag common, active": Filter(tag=data.tags[0], status=Status.ACTIVE),
        "tag common, expired": Filter(tag=data.tags[5], status=Status.EXPIRED),
        "tag medium, paused": Filter(tag=data.tags[20], status=Status.PAUSED),
        "owner": Filter(owner_id=data.owners[3]),
        "dates": Filter(created_from=month, created_before=month + timedelta(days=30)),
        **{f"search {name}": Filter(search=word) for name, word in words.items()},
        "search a word": Filter(search="museum"),
        "search a URL": Filter(search=pasted),
    }


async def measure(
    kurz: Kurz, engine: str, data: Data, runs: int, cpu_seconds: Callable[[], float]
) -> AsyncIterator[Timed]:
    async def timed(what: tuple[str, str, bool, int], call: Callable[[], Awaitable[Any]]) -> Timed:
        before = cpu_seconds()
        times = sorted([await seconds_of(call) * 1000 for _ in range(runs)])
        cpu = (cpu_seconds() - before) / runs * 1000
        p95 = times[int(len(times) * 0.95)]
        return Timed(engine, *what, statistics.median(times), p95, cpu)

    for scope, name, wanted in lists(data):
        first = await kurz.links.list(scope, wanted)
        depth = max(first.total // 2, 1)
        deep = (await kurz.links.list(scope, wanted, limit=depth)).next_cursor
        for cursor in [None] if deep is None else [None, deep]:
            what = (name, str(wanted.sort), cursor is not None, first.total)
            yield await timed(what, partial(kurz.links.list, scope, wanted, cursor=cursor))
    for limit in 50, 200:
        what = (f"{limit} tags", "tag", False, limit)
        yield await timed(what, partial(kurz.tagging.list, TEAM, Part(None, limit)))


def lists(data: Data) -> Iterator[tuple[Scope, str, Filter]]:
    """The operator's lists have the orders that the command line offers."""
    for name, wanted in cases(data).items():
        for sort in Sort:
            yield Scope(TEAM), name, replace(wanted, sort=sort)
    for name in "no filter", "expired", "banned", "search common", "search rare", "search no hit":
        yield Scope(), f"operator, {name}", replace(cases(data)[name], with_deleted=True)
    yield Scope(), "operator, trash", Filter(status=Status.DELETED, sort=Sort.UPDATED_DOWN)


async def seconds_of(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


def report(found: list[Timed]) -> None:
    """A line for each filter: the medians of all its orders, and the slowest of them."""
    print(
        f"\n{'':30}{'links':>8}{'typical ms':>12}{'slowest ms':>12}{'its p95':>9}{'its CPU':>9}"
        "  slowest order"
    )
    for (engine, name), rows in itertools.groupby(found, lambda row: (row.engine, row.name)):
        each = list(rows)
        worst = max(each, key=lambda row: row.median_ms)
        typical = statistics.median(row.median_ms for row in each)
        total = f"{worst.total:,}" + ("+" if worst.total == 10_000 else "")
        print(
            f"{engine + ' ' + name:30}{total:>8}{typical:12.1f}{worst.median_ms:12.1f}"
            f"{worst.p95_ms:9.1f}{worst.cpu_ms:9.1f}  {worst.sort}{' deep' * worst.is_deep}"
        )
    slow = [row for row in found if row.median_ms >= GOAL_MS]
    print(f"\n{len(found) - len(slow)} of {len(found)} kinds of pages under {GOAL_MS} ms")


async def run(options: argparse.Namespace) -> list[Timed]:
    found: list[Timed] = []
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as temporary:
        for engine in options.engines:
            data = Data(options.links)
            async with opened(engine, Path(temporary)) as (_, kurz, cpu_seconds):
                await fill(kurz, data.rows())
                async for row in measure(kurz, engine, data, options.runs, cpu_seconds):
                    found.append(row)
                    print(f"\r{len(found)} measured", end="", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    found = asyncio.run(run(options))
    report(found)
    if options.json is not None:
        options.json.write_text(json.dumps([vars(row) for row in found], indent=2))


if __name__ == "__main__":
    main()
