"""How many connections a worker holds, and which of them it closes to make room for others."""

import heapq
import math
import resource
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import Protocol

import structlog

# Files of a worker other than connections: the database, the journal, Redis, lists, imports.
RESERVED_FILES = 128
MIN_CONNECTIONS = 8
# A browser keeps a connection for seconds, so these are a few hundred visits a second.
FEW_CONNECTIONS = 2000
# How many connections may be open beyond the cap: those that arrived before the worker could stop
# accepting, and as many again that stay open until they got their refusal.
SPARE = 32
# How long a full worker leaves new connections to other workers and the system's queue before it
# refuses them: longer than the grace time of clients with an unfinished request.
PAUSE_SECONDS = 1.0
# A worker at its cap looks for connections to close once per this many new ones, not for each.
SHARE_CLOSED = 1 / 64
LOG_SECONDS = 60.0

log = structlog.get_logger()


def raise_file_limit() -> int:
    """Raises this process's soft limit of open files to the hard one, and returns the result."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(ValueError, OSError):  # macOS allows less than its hard limit says
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return file_limit()


def file_limit(*, is_hard: bool = False) -> int:
    """How many files this process may have open, or could have after `raise_file_limit`."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[is_hard]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def connection_cap(most: int, limit: int, *, other_files: int = 0) -> int:
    """The connections that a worker can hold if it may open `limit` files and uses `other_files`
    besides those that are always reserved."""
    reserved = min(RESERVED_FILES, limit // 4) + other_files
    return max(min(most, limit - reserved), MIN_CONNECTIONS)


def few_files(most: int, limit: int) -> str | None:
    """What is wrong with a limit that leaves room for a few connections only."""
    cap = connection_cap(most, limit)
    if cap >= min(most, FEW_CONNECTIONS):
        return None
    return (
        f"only {limit:,} open files allowed, enough for {cap:,} connections per worker. Raise the"
        " hard limit: LimitNOFILE in a systemd unit, ulimit -n in a shell."
    )


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


class Occupant(Protocol):
    """A connection."""

    def waits_since(self, now: float) -> float:
        """Since when the server waits for its client; infinite while it must not be closed."""

    def give_way(self) -> None:
        """Closes it."""


class Admission(Enum):
    ADMITTED = auto()
    REFUSED = auto()  # it stays open until its refusal is sent
    DROPPED = auto()  # there is no room even for a refusal


class Capacity:
    """The connections of a worker. `flush` is called before any of them is closed to make room: it
    writes the answers that are ready. `on_full` is called when none can be closed: no more should
    be accepted until `has_room`, or for `PAUSE_SECONDS`."""

    def __init__(
        self, most: int = sys.maxsize, *, flush: Callable[[], None] = lambda: None
    ) -> None:
        self.most = most
        self.open = 0
        self.closed_early = 0
        self.refused = 0
        self.failed = 0  # could not be accepted
        self.on_full: Callable[[], None] = lambda: None
        self._flush = flush
        self._full_since = math.inf
        self._leaving = 0  # closed early, but with files still open
        self._logged = (0, 0)
        self._log_at = -math.inf

    def enter(self, newcomer: Occupant, occupants: Iterable[Occupant], now: float) -> Admission:
        """Counts a new connection, and makes room for it by closing those that the server has
        waited for longest."""
        self.open += 1
        excess = self.open - self._leaving - self.most
        if excess <= 0 or self._make_room(newcomer, occupants, now):
            self._full_since = math.inf
            return Admission.ADMITTED
        self._full_since = min(self._full_since, now)
        if now - self._full_since < PAUSE_SECONDS and excess <= SPARE:
            self.on_full()
            return Admission.ADMITTED
        self.refused += 1
        return Admission.REFUSED if excess <= 2 * SPARE else Admission.DROPPED

    def has_room(self, occupants: Iterable[Occupant], now: float) -> bool:
        is_free = self.open - self._leaving < self.most
        return is_free or any(each.waits_since(now) < math.inf for each in occupants)

    def leave(self, *, was_closed_early: bool) -> None:
        self.open -= 1
        if was_closed_early:
            self._leaving -= 1

    def _make_room(self, newcomer: Occupant, occupants: Iterable[Occupant], now: float) -> bool:
        self._flush()
        waiting = [
            (since, id(occupant), occupant)
            for occupant in occupants
            if occupant is not newcomer and (since := occupant.waits_since(now)) < math.inf
        ]
        number = max(int(self.most * SHARE_CLOSED), 1)
        for _, _, occupant in heapq.nsmallest(number, waiting):
            self.closed_early += 1
            self._leaving += 1
            occupant.give_way()
        return bool(waiting)

    def report(self) -> None:
        """Called once a second: logs what the cap has cost, at most once a minute."""
        counted = (self.closed_early, self.refused)
        now = time.monotonic()
        if counted == self._logged or now < self._log_at:
            return
        closed_early, refused = (n - m for n, m in zip(counted, self._logged, strict=True))
        self._logged, self._log_at = counted, now + LOG_SECONDS
        log.warning(
            "too many connections: closed those idle longest",
            closed_early=closed_early,
            refused=refused,
            open=self.open,
            cap=self.most,
        )
