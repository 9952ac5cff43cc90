"""A process that writes clicks, to be killed or to run out of room. Every record has a number."""

import json
import os
import resource
import sys
import time
from pathlib import Path

from kurz.clicks.journal import Journal
from kurz.clicks.record import UNKNOWN_VISITOR, encode, link_tag_of, visit_of

BATCH = 7


def record(number: int) -> bytes:
    visit = visit_of(
        network=bytes([203, 0, 113]),
        visitor=UNKNOWN_VISITOR,
        flags=0,
        user_agent=b"a" * (number % 100),
        referrer=b"https://a.example/",
        language=b"de",
    )
    return encode(1_700_000_000_000_000 + number, 1000, link_tag_of(number, 1), visit)


def batch(first: int, count: int = BATCH) -> list[bytes]:
    return [record(number) for number in range(first, first + count)]


def write_for_ever(folder: Path) -> None:
    """Says after every write how many records there are by now."""
    journal = Journal(folder, max_bytes=100_000, sync_seconds=0.02)
    journal.start()
    for first in range(0, 10**9, BATCH):
        journal.write(batch(first))
        os.write(1, b"%d\n" % (first + BATCH))


def run_out_of_room(folder: Path) -> None:
    """Room for whole records, for a part of them, for nothing, and then for all again. The limit
    of a file's size works for every user; Python ignores the signal that comes with it."""
    journal = Journal(folder, sync_seconds=0.02)
    journal.start()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    first = 0
    for room in (hard, 20_000, 0, hard, 10, 0, hard):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        until = time.monotonic() + 0.15
        while time.monotonic() < until:
            journal.write(batch(first))
            first += BATCH
            time.sleep(0.001)
        if room == hard:
            journal.write(batch(first))
            first += BATCH
    journal.close()
    names = ("records", "bytes", "dropped", "segments", "sync_errors")
    print(json.dumps({"sent": first, **{name: getattr(journal, name) for name in names}}))


if __name__ == "__main__":
    {"for-ever": write_for_ever, "room": run_out_of_room}[sys.argv[1]](Path(sys.argv[2]))
