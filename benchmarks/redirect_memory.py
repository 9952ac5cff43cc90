"""The memory of a worker per link, for `redirect.py`."""

import argparse
import asyncio
import contextlib
import random
from dataclasses import asdict
from pathlib import Path
from typing import Any

from redirect_load import Codes, Heads, drive, fill, make_codes, url_of
from redirect_rows import Goal, Row, print_head, print_row, same, tell
from redirect_servers import kurz


def weigh(
    folder: Path, sizes: tuple[int, int], options: argparse.Namespace, goals: list[Goal]
) -> dict[str, Any]:
    """A server for each number of links, both on the same million. The first thousand links are
    requested before memory is measured, because the first requests allocate more than entries."""
    tell(f"storing {sizes[-1]:,} links")
    codes = make_codes(1000 + sizes[-1])
    data, heads = folder / "million", Heads(folder / "heads")
    asyncio.run(fill(data, codes))
    first, rest = Codes(folder / "first", codes[:1000]), codes[1000:]
    random.Random(5).shuffle(rest)
    rows: list[Row] = []
    bytes_per_link: dict[int, float] = {}
    expected = (" 302 ", f"location: {url_of(codes[0])}")
    with contextlib.ExitStack() as stack:
        for size in sizes:
            tell(f"asking for {size:,} links")
            asked = Codes(folder / f"asked-{size}", rest[:size])
            server = stack.enter_context(kurz(data, hot_links="2000000", hot_megabytes="8192"))
            drive(server, first, heads)
            before = server.memory_bytes()
            drive(server, asked, heads)
            bytes_per_link[size] = (server.memory_bytes() - before) / size
            name = f"kurz hit, {size:,} links cached"
            row = Row(name, same(server), asked, heads, codes[0], expected, is_recorded=True)
            rows.append(row)
        for _ in range(max(options.rounds, 1)):
            for row in rows:
                tell(row.name)
                row.measure(options.seconds)
        tell("")
    print()
    print_head()
    for row in rows:
        print_row(row, rows[0])
    ratio = rows[1].median("worker_us") / rows[0].median("worker_us")
    goals += [
        Goal(f"memory of a cached link, of {size:,}", found, 350, "bytes")
        for size, found in bytes_per_link.items()
    ]
    few, many = sizes
    further = (bytes_per_link[many] * many - bytes_per_link[few] * few) / (many - few)
    print(f"\nCPU of a hit among {many:,} links: {ratio:.2f} x of one among {few:,}")
    print(f"Memory of a link beyond the first {few:,}: {further:.0f} bytes")
    print("Memory is what the worker grew by, without files (RssAnon and RssShmem).")
    found = {row.name: [asdict(found) for found in row.rounds] for row in rows}
    return {"bytes_per_link": bytes_per_link, "rows": found}
