"""What a worker has counted, and what it cannot write."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from kurz import __version__, metrics
from kurz.server.app import App
from kurz.server.capacity import Capacity
from kurz.server.scoreboard import Scoreboard
from kurz.server.usage import own_usage, usage_of
from kurz.wiring.core import Kurz
from kurz.wiring.read_path import ReadPath

FailingWrite = tuple[Literal["clicks", "database"], str]


@dataclass(frozen=True)
class Board:
    """The numbers of all processes, and this one's row among them."""

    scoreboard: Scoreboard
    slot: int


class WorkerNumbers:
    """Collects what the parts of this worker have counted, and reads the rows of all processes.
    Without a board, nothing is shared."""

    def __init__(self, board: Board | None) -> None:
        self._is_supervised = board is not None
        board = board or Board(Scoreboard(metrics.NAMES, 1), 0)
        self._scoreboard = board.scoreboard
        self._row = board.scoreboard.row(board.slot, metrics.OF_THE_MOMENT)
        self._sources: list[Callable[[], Mapping[str, int]]] = []

    @property
    def started_at(self) -> float:
        return self._scoreboard.made_at

    def add(self, *sources: Callable[[], Mapping[str, int]]) -> None:
        """If several sources have the same name, their numbers are added up."""
        self._sources += sources

    def count(self) -> None:
        total: Counter[str] = Counter()
        for source in self._sources:
            total.update(source())
        self._row.write(total)

    def render(self) -> bytes:
        supervisor = usage_of(os.getppid()) if self._is_supervised else None
        return metrics.render(self._rows(), __version__, int(time.time()), supervisor)

    def of_instance(self) -> metrics.InstanceNumbers:
        return metrics.InstanceNumbers(self._rows(), int(time.time()))

    def _rows(self) -> list[Mapping[str, int]]:
        self.count()
        return [numbers for _, numbers in self._scoreboard.each()]


def numbers_of(kurz: Kurz, path: ReadPath, app: App) -> dict[str, int]:
    """What this worker has counted."""
    visits, resolver = path.parts.visits, path.parts.resolver
    counters, journal, hot = visits.counters, visits.journal, resolver.hot
    now = time.time()
    return {
        metrics.ALIVE_AT: int(now),
        **own_usage(),
        metrics.CAUGHT_UP_AT: int(now - (time.monotonic() - kurz.shared.feed.caught_up_at)),
        **{f"outcome_{outcome}": number for outcome, number in counters.outcomes.items()},
        "outcome_limited": counters.limited,
        "outcome_unavailable": counters.unavailable,
        **{f"api_{digit}xx": app.api_statuses[digit] for digit in (2, 3, 4, 5)},
        **metrics.latency_counts(counters.latencies),
        "latency_ns": counters.latency_ns,
        "lane_answers": counters.lane_answers,
        "lookups": resolver.lookups,
        "journal_records": journal.records,
        "journal_bytes": journal.bytes,
        "journal_dropped": journal.dropped,
        "journal_failing": int(journal.problem is not None),
        "journal_sync_errors": journal.sync_errors,
        "hot_links": len(hot.entries),
        "hot_bytes": hot.size,
        **_numbers_of_stores(kurz, path),
    }


def numbers_of_connections(capacity: Capacity) -> dict[str, int]:
    return {
        "connections": capacity.open,
        "connections_cap": capacity.most,
        "connections_closed_early": capacity.closed_early,
        "connections_refused": capacity.refused,
        "connections_failed": capacity.failed,
    }


def failing_writes(kurz: Kurz, path: ReadPath) -> list[FailingWrite]:
    problem = kurz.engine.write_problem(kurz.database)
    found: list[FailingWrite] = []
    journal = path.parts.visits.journal
    if journal.problem is not None:
        found.append(("clicks", journal.problem))
    if problem is not None:
        found.append(("database", problem))
    return found


def _numbers_of_stores(kurz: Kurz, path: ReadPath) -> dict[str, int]:
    shared = kurz.shared
    counts = Counter(kurz.database.counts())
    counts.update(path.store.counts())
    return {
        **counts,
        "database_failing": int(kurz.engine.write_problem(kurz.database) is not None),
        **shared.cache.counts(),
        **({} if kurz.replicas is None else kurz.replicas.counts()),
        "feed_pauses": path.heartbeat.pauses,
        "feed_wake_ups": shared.feed.wake_ups,
        "feed_lost_connections": shared.feed.lost_connections,
        "feed_stale": int(path.parts.resolver.is_feed_stale),
    }
