"""Reads a million different heads, each twice, so that each is remembered for a while. Prints how
many bytes the memory counts, and by how many the process grew.

In a process of its own: what others have left there would be used again, and not be counted."""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

from kurz.redirect.repeated import RepeatedParts

PAGE_BYTES = 4096
WARM_UP = 1000


def flood(count: int, start: int = 0) -> Iterator[bytes]:
    """Heads that differ in one line, none of which differs in each request as a rule."""
    for number in range(start, start + count):
        lines = [
            " HTTP/1.1",
            "Host: a.example",
            f"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:{number}.0) Firefox/{number}.0",
            "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language: de-DE,de;q=0.8,en;q=0.5",
            "Upgrade-Insecure-Requests: 1",
        ]
        yield "\r\n".join([*lines, "", ""]).encode()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def main(count: int) -> None:
    parts = RepeatedParts()
    for part in flood(WARM_UP):
        parts.find(part)
    gc.collect()
    before = most = resident_bytes()
    for number, part in enumerate(flood(count)):
        for _ in range(2):
            assert parts.find(part) is not None
        if number % WARM_UP == 0:
            most = max(most, resident_bytes())
    print(parts.bytes, most - before)


if __name__ == "__main__":
    main(int(sys.argv[1]))
