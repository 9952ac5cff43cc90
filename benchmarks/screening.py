"""What a list of a million hosts costs: to compile it, to keep it in several workers, and to look
up in it, beside a set of Python's."""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from kurz.links.errors import DestinationRefused
from kurz.links.urls import UrlAddress, take_apart
from kurz.safety.list_provider import ListProvider
from kurz.safety.lists_file import FILE_NAME, ListRole, Source, Sources, compile_lists, save_lists
from kurz.safety.screening import ListScreen

WORKERS = 4
LOOKUPS = 100_000
SHARED_MEGABYTES = 16.0
LOOKUP_MICROSECONDS = 5.0
ENDS = ("com", "net", "co.uk", "example.org", "blog.example.com", "xyz")


def hosts(number: int) -> Iterator[str]:
    """With two to five labels, as real lists have them."""
    draw = random.Random(1)
    for _ in range(number):
        below = "www." if draw.random() < 0.2 else ""
        yield f"{below}{draw.randbytes(5).hex()}.{draw.choice(ENDS)}"


class NoBans:
    def get(self) -> frozenset[str]:
        return frozenset()


def work(folder: Path, source: Path, pipe: Connection) -> None:
    """A worker: it has the file, and has looked up everywhere in it."""
    before = memory(FILE_NAME)
    screen = ListScreen(ListProvider(Sources((Source(ListRole.BLOCK, source),)), folder), NoBans())
    for host in hosts(20_000):
        screen.judge(f"http://{host}/")
    pipe.send("ready")
    pipe.recv()
    after = memory(FILE_NAME)
    pipe.send({name: after[name] - before[name] for name in after})
    pipe.recv()


def memory(name: str) -> dict[str, float]:
    """Megabytes: of the mapped file, shared with others and not, and of all else that is this
    process's alone."""
    found = {"shared": 0.0, "private": 0.0, "other": 0.0}
    is_file = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        field, _, rest = line.partition(":")
        if not field.startswith(("Shared_", "Private_")):
            is_file = line.endswith(f"/{name}") if "-" in field else is_file
            continue
        megabytes = int(rest.split()[0]) * 1024 / 1e6
        kind = "shared" if field.startswith("Shared_") else "private"
        if is_file:
            found[kind] += megabytes
        elif kind == "private":
            found["other"] += megabytes
    return found


def share(folder: Path, source: Path, workers: int) -> dict[str, float]:
    """What the mapped file takes in each of several workers that have it at the same time."""
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for _ in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(folder, source, theirs))
        process.start()
        pipes.append(ours)
        processes.append(process)
    for pipe in pipes:
        pipe.recv()
    for pipe in pipes:
        pipe.send("measure")
    found = [pipe.recv() for pipe in pipes]
    for pipe in pipes:  # what the last one has would be its own
        pipe.send("end")
    for process in processes:
        process.join()
    return {
        "shared_megabytes": max(item["shared"] for item in found),
        "private_megabytes": max(item["private"] for item in found),
        "other_megabytes": max(item["other"] for item in found),
    }


def micros(act: Callable[[], object]) -> float:
    """Of CPU time, a call; the best of three."""

    def once() -> float:
        began = time.process_time()
        for _ in range(LOOKUPS):
            act()
        return (time.process_time() - began) / LOOKUPS * 1e6

    return min(once() for _ in range(3))


def is_in(names: set[str], host: str) -> bool:
    """What one would write with a set."""
    dot = "."
    while dot:
        if host in names:
            return True
        _, dot, host = host.partition(".")
    return False


def look_up(screen: ListScreen, number: int) -> dict[str, dict[str, float]]:
    lists = screen.provider.lists
    if lists is None:
        sys.exit("there are no lists")
    names = set(hosts(number))
    listed = next(iter(names))
    urls = {
        "hit": f"https://{listed}/some/path",
        "miss": "https://www.unlisted.co.uk/some/path",
        "deep": f"https://{'.'.join('abcdefghijklmnop')}.unlisted.co.uk/some/path",
    }
    found = {}
    for kind, url in urls.items():
        address = _address(url)
        found[kind] = {
            "table": micros(lambda address=address: lists.find(address)),  # type: ignore[misc]
            "set": micros(lambda address=address: is_in(names, address.host)),  # type: ignore[misc]
            "admit": micros(lambda url=url: _admit(screen, url)),  # type: ignore[misc]
        }
    return found


def _admit(screen: ListScreen, url: str) -> bool:
    try:
        return screen.admit(url)
    except DestinationRefused:
        return False


def _address(url: str) -> UrlAddress:
    address = take_apart(url)
    if address is None:
        sys.exit(f"{url} is no URL")
    return address


def compiled(source: Path, folder: Path) -> dict[str, float]:
    began, began_cpu = time.perf_counter(), time.process_time()
    data = compile_lists(Sources((Source(ListRole.BLOCK, source),)))
    save_lists(folder, data)
    return {
        "compile_seconds": time.perf_counter() - began,
        "compile_cpu_seconds": time.process_time() - began_cpu,
        "file_megabytes": len(data) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source, folder = Path(temporary) / "hosts.txt", Path(temporary) / "screening"
        source.write_text("".join(f"0.0.0.0 {host}\n" for host in hosts(options.hosts)))
        numbers: dict[str, object] = {"hosts": options.hosts, **compiled(source, folder)}
        memory_taken = share(folder, source, options.workers)
        screen = ListScreen(
            ListProvider(Sources((Source(ListRole.BLOCK, source),)), folder), NoBans()
        )
        looked_up = look_up(screen, options.hosts)
    numbers |= {**memory_taken, "microseconds": looked_up}
    print(f"{options.hosts:,} hosts, {options.workers} workers\n")
    for name, value in numbers.items():
        if isinstance(value, float):
            print(f"| {name.replace('_', ' '):24} | {value:8.2f} |")
    print(f"\n| {'µs':6} | {'table':>6} | {'a set':>6} | {'admit':>6} |")
    for kind, found in looked_up.items():
        cells = " | ".join(f"{found[name]:6.2f}" for name in ("table", "set", "admit"))
        print(f"| {kind:6} | {cells} |")
    slowest = max(found["table"] for found in looked_up.values())
    is_met = memory_taken["shared_megabytes"] <= SHARED_MEGABYTES and slowest <= LOOKUP_MICROSECONDS
    print(
        f"\nGoals: {SHARED_MEGABYTES} MB shared by all, {LOOKUP_MICROSECONDS} µs a lookup:"
        f" {'met' if is_met else 'missed'}"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(numbers, indent=2))


if __name__ == "__main__":
    os.environ.setdefault("KURZ_LOG_LEVEL", "warning")
    main()
