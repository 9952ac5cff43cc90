"""What visitors notice of the reaper: the CPU and the slowest answers of a worker while the jobs
process sweeps, beside one that stands still and a program that only uses up processor time. For
`reaper.py`."""

import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from clicks_beside import Mode, spinning, standing_still, worker_and_jobs
from redirect_load import Codes, Heads, Measurement, drive
from redirect_servers import UNRECORDED, kurz

CODES = 20_000
WAIT_SECONDS, LOOK_SECONDS = 60, 0.2
# One run, whatever happens in between; should it fail, the next one follows soon.
SETTINGS = {
    "reaper_first_after": "0s",
    "reaper_interval": "1s",
    "reaper_at_least": "1s",
    "reaper_longest_run": "2h",
    "reaper_at_most": "3h",
}


@dataclass
class Beside:
    still: Mode = field(default_factory=lambda: Mode("jobs stand still"))
    busy: Mode = field(default_factory=lambda: Mode("something else runs"))
    reaping: Mode = field(default_factory=lambda: Mode("reaping"))
    swept_per_second: list[float] = field(default_factory=list)

    @property
    def modes(self) -> tuple[Mode, Mode, Mode]:
        return self.still, self.busy, self.reaping

    @property
    def pace(self) -> float:
        return statistics.median(self.swept_per_second)


def wait_for_more(swept: Callable[[], int]) -> None:
    """Returns when the reaper is at it again: two batches later. After each it rests for as long as
    that took, and one that stood still in between took long."""
    last, batches = swept(), 0
    for _ in range(round(WAIT_SECONDS / LOOK_SECONDS)):
        if (now := swept()) > last:
            last, batches = now, batches + 1
        if batches == 2:
            return
        time.sleep(LOOK_SECONDS)
    sys.exit("the reaper sweeps nothing; are there links left?")


def measure(
    folder: Path,
    environment: dict[str, str],
    codes: list[str],
    swept: Callable[[], int],
    *,
    rounds: int,
    seconds: int,
) -> Beside:
    """A worker is on one core; visitors, and what is beside it, on the other. `swept` tells how
    many links the reaper has ended so far. Clicks are not recorded: to count that many would leave
    the jobs process no time for the reaper."""
    live, heads = Codes(folder / "codes", codes), Heads(folder / "heads")
    found = Beside()

    def ask() -> Measurement:
        return drive(worker, live, heads, seconds=seconds)

    with kurz(folder / "data", program=UNRECORDED, **SETTINGS, **environment) as server:  # type: ignore[arg-type]
        time.sleep(1)
        worker, jobs = worker_and_jobs(server)
        os.sched_setaffinity(jobs, {1})
        drive(worker, live, heads)  # all links are in memory
        for _ in range(rounds):
            with standing_still(jobs):
                found.still.found.append(ask())
                with spinning():
                    found.busy.found.append(ask())
            wait_for_more(swept)
            before, started = swept(), time.perf_counter()
            found.reaping.found.append(ask())
            found.swept_per_second.append((swept() - before) / (time.perf_counter() - started))
    return found
