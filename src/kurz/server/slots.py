"""The slots of child processes, and when the next one is due after one has ended."""

import time
from dataclasses import dataclass, field
from enum import StrEnum

from kurz.server.children import Child

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0
OUTAGE_PAUSE_SECONDS = 1.0  # outages end by themselves, and then the wait must not be long
STEADY_SECONDS = 10.0  # a process that ran this long has failed for a new reason


class ProcessRole(StrEnum):
    WORKER = "worker"
    JOBS = "jobs"


@dataclass
class Backoff:
    """How long to wait before the next attempt: not at all, then 0.1 s, doubled up to 10 s; up to
    1 s while something else is out."""

    failures: int = 0

    def pause_seconds(self, up_seconds: float, *, is_outage: bool = False) -> float:
        """After a failure; `up_seconds` is how long the process had run."""
        if up_seconds >= STEADY_SECONDS:
            self.failures = 0
        self.failures += 1
        if self.failures == 1:
            return 0.0
        longest = OUTAGE_PAUSE_SECONDS if is_outage else LONGEST_PAUSE_SECONDS
        return min(FIRST_PAUSE_SECONDS * 2.0 ** min(self.failures - 2, 30), longest)


@dataclass(eq=False)
class WorkerSlot:
    """One of the processes that should run. While it is renewed there are two: `successor` becomes
    `child` when it is ready."""

    role: ProcessRole
    child: Child | None = None
    successor: Child | None = None
    start_at: float | None = None
    backoff: Backoff = field(default_factory=Backoff)

    @property
    def is_ready(self) -> bool:
        return self.child is not None and self.child.is_ready

    def vacate(self, child: Child) -> bool:
        """Notes that a process has ended; False if it did not belong here any more."""
        if self.successor is child:
            self.successor = None
        elif self.child is child:
            self.child = None
        else:
            return False
        return True

    def start_again_in(self, seconds: float) -> None:
        self.start_at = time.monotonic() + seconds
