"""How much longer operations take the more links there are: in databases of 10,000, 100,000 and
1,000,000 links, with ten clicks for each link, on both engines. Numbers are milliseconds of CPU
time, of this process and PostgreSQL's server; elapsed times are those of the largest database. If
an operation grows by more than it may, the exit code is 1. It counts only above a few milliseconds.
The database is filled anew for each size, which takes minutes for the largest."""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from engines import ENGINES, opened
from growth_judge import MOST_GROWTH, Series, grows, table
from growth_operations import OPERATIONS, Operation, Target, aimed
from growth_rows import fill
from kurz.storage.engine.deadlines import deadline

SIZES = (10_000, 100_000, 1_000_000)
DEADLINE_SECONDS = 3600  # nothing fails because the machine is busy
NAME_WIDTH = 48


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of links")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="without the largest size")
    parser.add_argument("--only", default="", help="operations with this in their name")
    parser.add_argument("--most", type=float, default=MOST_GROWTH, help="growth that is allowed")
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    sizes = sorted(options.sizes or (SIZES[:-1] if options.quick else SIZES))
    operations = [each for each in OPERATIONS if options.only in each.name]
    found: list[Series] = []
    for engine in options.engines:
        series = [Series(engine, each.name, each.expectation) for each in operations]
        for size in sizes:
            asyncio.run(measure(engine, size, operations, series, options.rounds))
        found += series
        print_table(table(series, options.most))
    print(f"\nCPU in ms. Growth may be up to {options.most:g} ×, and more below a floor.")
    if options.json is not None:
        rows = [{**vars(it), "expectation": vars(it.expectation)} for it in found]
        options.json.write_text(json.dumps(rows, indent=2))
    if any(grows(each.cpu, options.most, each.expectation.floor_ms) for each in found):
        sys.exit(1)


async def measure(
    engine: str, size: int, operations: Sequence[Operation], series: Sequence[Series], rounds: int
) -> None:
    """All operations in turn, once without being counted."""
    # Beside this file, on a disk: /tmp may be memory.
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        async with opened(engine, Path(folder)) as place:
            tell(f"{engine}: storing {size:,} links")
            with deadline(DEADLINE_SECONDS):
                await fill(place.kurz, size)
                async with aimed(place.kurz) as target:
                    for number in range(rounds + 1):
                        tell(f"{engine}, {size:,} links: round {number} of {rounds}")
                        for operation, found in zip(operations, series, strict=True):
                            figures = await measure_one(operation, target, place.cpu_seconds)
                            if number:
                                found.add(size, *figures)
    tell("")


async def measure_one(
    operation: Operation, target: Target, cpu_seconds: Callable[[], float]
) -> tuple[float, float]:
    """CPU and elapsed time of one, in ms."""
    if operation.before is not None:
        await operation.before(target)
    gc.collect()
    started, cpu_started = time.perf_counter(), cpu_seconds()
    count = await operation.act(target) or 1
    cpu, elapsed = cpu_seconds() - cpu_started, time.perf_counter() - started
    if operation.after is not None:
        await operation.after(target)
    return cpu / count * 1000, elapsed / count * 1000


def print_table(rows: Sequence[Sequence[str]]) -> None:
    for name, *cells, verdict in rows:
        print(f"{name:{NAME_WIDTH}}" + "".join(f"{cell:>11}" for cell in cells) + f"  {verdict}")


def tell(text: str) -> None:
    """Shows what is being done, in a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
