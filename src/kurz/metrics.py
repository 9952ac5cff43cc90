"""The numbers for Prometheus: their names, what they mean, and how they are written.

A worker keeps them as plain integers and copies them into a row that all workers can read. Labels
have a closed set of values: requests cannot create new ones.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

OUTCOMES = (
    "redirect",
    "missing",
    "expired",
    "exhausted",
    "banned",
    "held",
    "limited",
    "unavailable",
)
STATUS_CLASSES = ("2xx", "3xx", "4xx", "5xx")
# Upper bounds of latencies: powers of two of nanoseconds, 8 µs to 8.6 s.
LATENCY_POWERS = tuple(range(13, 34))

COUNTERS = {
    "lane_answers": "Requests answered by the fast lane.",
    "lookups": "Codes that were not in memory and had to be looked up.",
    "journal_records": "Clicks recorded.",
    "journal_bytes": "Bytes written to the click journal.",
    "journal_dropped": "Clicks that could not be recorded, including those before the last start.",
    "journal_sync_errors": "Failed attempts to flush the click journal to disk.",
    "clicks_loaded": "Clicks counted.",
    "clicks_batches": "Batches of clicks counted.",
    "clicks_refused_batches": "Batches discarded because another loader committed first.",
    "clicks_damaged_bytes": "Bytes of journals that could not be read.",
    "clicks_load_errors": "Failed attempts to count a journal, not including database outages.",
    "reaper_runs": "Successful runs of the reaper.",
    "reaper_failed_runs": "Failed runs of the reaper.",
    "reaper_skipped_runs": "Runs of the reaper skipped because the clock has jumped.",
    "reaper_marked": "Links that the reaper marked as expired.",
    "reaper_trashed": "Links that the reaper moved to the trash.",
    "reaper_archived": "Links that the reaper archived and purged.",
    "reaper_purged": "Links that the reaper purged without archiving.",
    "screen_refused": "URLs refused because of lists or bans.",
    "screen_held": "URLs that could not be screened, so visitors of their links see a warning.",
    "screening_runs": "Screenings of existing links.",
    "screening_failed_runs": "Failed screenings of existing links.",
    "screening_banned": "Links banned by screening.",
    "screening_unbanned": "Links unbanned by screening because no list covers them any more.",
    "screening_released": "Links released by screening, so visitors no longer see a warning.",
    "checks_runs": "Successful runs of the destination checks.",
    "checks_failed_runs": "Failed runs of the destination checks.",
    "checks_skipped_runs": "Runs of the destination checks skipped because the clock has jumped.",
    "checks_ok": "Checks that found the destination working.",
    "checks_broken": "Checks that found the destination broken.",
    "checks_unknown": "Checks without a clear result.",
    "checks_not_checked": "Checks not made because the destination is not public.",
    "backup_runs": "Scheduled backups made.",
    "backup_failed_runs": "Scheduled backups that failed.",
    "cache_hits": "Codes found in Redis.",
    "cache_misses": "Codes not found in Redis, or not looked up because Redis is unavailable.",
    "cache_errors": "Redis failures: timeouts and errors.",
    "cache_refused": "Values in Redis that were rejected: unreadable, or stored for another key.",
    "cache_writes": "Values written to Redis.",
    "cache_dropped": "Values not written because Redis is unavailable or too slow.",
    "replica_answers": "Codes and lists answered by a replica.",
    "replica_behind": "Times the primary was used because a replica lagged or had no such code.",
    "replica_errors": "Replica failures.",
    "database_writes": "Writes to the embedded database.",
    "database_commits": "Transactions that contained these writes.",
    "database_lookups": "Statements that looked up codes in PostgreSQL. One can cover many codes.",
    "database_timeouts": "PostgreSQL calls that timed out.",
    "connections_closed_early": "Idle or unfinished connections closed to make room for others.",
    "connections_refused": "Connections refused because all were in use.",
    "connections_failed": "Times no connection could be accepted because no files were left.",
    "creates_refused": "Creates refused with 503 because too many were in progress.",
    "transfers_refused": "Imports and exports refused with 503 because too many were in progress.",
    "requests_refused": "Other API requests refused with 503 because too many were in progress.",
    "feed_pauses": "Times a worker was paused and reread the change log before it answered.",
    "feed_wake_ups": "Notifications about changes by other processes.",
    "feed_lost_connections": "Times the notification connection was lost or could not be opened.",
}
# Of live workers.
GAUGES = {
    "hot_links": "Links in memory.",
    "hot_bytes": "Bytes used by links in memory.",
    "connections": "Open connections.",
    "connections_cap": "Maximum number of connections of all workers.",
    "journal_failing": "Workers that cannot record clicks.",
    "creates_in_flight": "Creates in progress.",
    "transfers_in_flight": "Imports and exports in progress.",
    "requests_in_flight": "Other API requests in progress.",
    "cache_out": "Workers that have stopped using Redis for now, because it does not answer.",
    "lists_unsure": "Workers that cannot use all lists, so visitors of new links see a warning.",
    "feed_stale": "Workers whose change feed is stale, so they look up links in memory again.",
    "database_connections": "Connections to PostgreSQL.",
    "database_in_use": "Connections to PostgreSQL in use.",
    "database_waiting": "Calls waiting for a connection to PostgreSQL.",
    "database_failing": "Workers whose last write to the embedded database failed.",
}
# Of the jobs process. If it does not run, they stay unchanged.
JOBS_GAUGES = {
    "clicks_backlog_bytes": "Bytes of journals not counted yet.",
    "clicks_backlog_segments": "Journal files not fully counted yet.",
    "checks_waiting": "Destinations due for a check. Counted up to 100,000.",
    "reaper_waiting": "Links due for the next run of the reaper.",
    "count_backlog": "Link changes not yet included in the number of active links.",
    "destinations_backlog": "Link changes not yet known to the destination checks.",
    "search_backlog": "Link changes not yet in the SQLite search index.",
    "backup_last_success_timestamp_seconds": "Unix time of the last scheduled backup; 0: none.",
    "backup_last_size_bytes": "Size of the last scheduled backup.",
    "backup_interval_seconds": "Time between two scheduled backups; 0: none are made.",
    "backup_damaged_links": "Links in the last scheduled backup that were damaged before.",
    "click_copies_waiting": "Links whose click count lags behind their statistics.",
}
ALIVE_AT = "alive_at_seconds"
CAUGHT_UP_AT = "caught_up_at_seconds"
JOBS_ALIVE_AT = "jobs_alive_at_seconds"
WAITING_SINCE = "clicks_waiting_since_seconds"  # 0: no click waits
LAST_RUN = "reaper_last_run_milliseconds"
LAST_CHECKS = "checks_last_run_milliseconds"
ALIVE_SECONDS = 5
RESIDENT_BYTES = "process_resident_bytes"
CPU_MILLISECONDS = "process_cpu_milliseconds"
DROPPED_BEFORE = "journal_dropped_before"  # of `journal_dropped`: before this instance started

# What starts at zero with every process; the rest continues from what the last one left in its row.
OF_THE_MOMENT = (
    ALIVE_AT,
    CAUGHT_UP_AT,
    JOBS_ALIVE_AT,
    WAITING_SINCE,
    LAST_RUN,
    LAST_CHECKS,
    RESIDENT_BYTES,
    CPU_MILLISECONDS,
    *GAUGES,
    *JOBS_GAUGES,
)
NAMES = (
    *OF_THE_MOMENT,
    DROPPED_BEFORE,
    *(f"outcome_{outcome}" for outcome in OUTCOMES),
    *(f"api_{status}" for status in STATUS_CLASSES),
    *(f"latency_{power}" for power in LATENCY_POWERS),
    "latency_ns",
    *COUNTERS,
)


def latency_counts(buckets: list[int]) -> dict[str, int]:
    """The cumulative counts of a histogram, from a list by bit lengths."""
    return {f"latency_{power}": sum(buckets[: power + 1]) for power in LATENCY_POWERS}


def render(
    rows: Iterable[Mapping[str, int]],
    version: str,
    now: int,
    supervisor: Mapping[str, int] | None = None,
) -> bytes:
    """The text that Prometheus reads. `rows` are those of all processes, including those that have
    ended. The supervisor has no row; its usage can be given separately."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(InstanceNumbers(rows, now), version, supervisor))
    return generate_latest(registry)


class InstanceNumbers:
    """The combined counts of an instance's processes. `rows` as for `render`."""

    def __init__(self, rows: Iterable[Mapping[str, int]], now: int) -> None:
        self._rows = list(rows)
        self._alive = [row for row in self._rows if now - row[ALIVE_AT] <= ALIVE_SECONDS]
        self._now = now

    @property
    def workers(self) -> int:
        """Live workers."""
        return len(self._alive)

    @property
    def jobs(self) -> int:
        """Live jobs processes."""
        return sum(self._now - row[JOBS_ALIVE_AT] <= ALIVE_SECONDS for row in self._rows)

    @property
    def feed_age_seconds(self) -> int:
        return max((self._now - row[CAUGHT_UP_AT] for row in self._alive), default=0)

    @property
    def clicks_age_seconds(self) -> int:
        waiting = [row[WAITING_SINCE] for row in self._rows if row[WAITING_SINCE]]
        return max(self._now - min(waiting), 0) if waiting else 0

    def processes(self) -> dict[str, Mapping[str, int]]:
        """The rows of live processes, by their names."""
        found = {f"worker-{number}": row for number, row in enumerate(self._alive, 1)}
        for row in self._rows:
            if self._now - row[JOBS_ALIVE_AT] <= ALIVE_SECONDS:
                found["jobs"] = row
        return found

    def total(self, name: str) -> int:
        """The sum over all processes, including those that have ended."""
        return sum(row[name] for row in self._rows)

    def sum_of_live_processes(self, name: str) -> int:
        return sum(row[name] for row in self._alive)


class _Collector:
    def __init__(
        self, numbers: InstanceNumbers, version: str, supervisor: Mapping[str, int] | None
    ) -> None:
        self._numbers = numbers
        self._supervisor = supervisor
        self._total = numbers.total
        self._version = version

    def collect(self) -> Iterable[Metric]:
        info = GaugeMetricFamily("kurz_info", "The running version.", labels=["version"])
        info.add_metric([self._version], 1)
        yield info
        yield GaugeMetricFamily("kurz_workers", "Running workers.", value=self._numbers.workers)
        redirects = CounterMetricFamily(
            "kurz_redirects", "Visits to short links, by outcome.", labels=["outcome"]
        )
        for outcome in OUTCOMES:
            redirects.add_metric([outcome], self._total(f"outcome_{outcome}"))
        yield redirects
        requests = CounterMetricFamily(
            "kurz_api_requests", "API requests, by status class.", labels=["status"]
        )
        for status in STATUS_CLASSES:
            requests.add_metric([status], self._total(f"api_{status}"))
        yield requests
        total = self._total("outcome_redirect")
        buckets = [
            (repr(2**power / 1e9), self._total(f"latency_{power}")) for power in LATENCY_POWERS
        ]
        yield HistogramMetricFamily(
            "kurz_redirect_seconds",
            "Time from the first byte of a visit to just before its redirect.",
            buckets=[*buckets, ("+Inf", total)],
            sum_value=self._total("latency_ns") / 1e9,
        )
        for name, meaning in COUNTERS.items():
            yield CounterMetricFamily(f"kurz_{name}", meaning, value=self._total(name))
        for name, meaning in GAUGES.items():
            now = self._numbers.sum_of_live_processes(name)
            yield GaugeMetricFamily(f"kurz_{name}", meaning, value=now)
        yield GaugeMetricFamily(
            "kurz_feed_age_seconds",
            "Time since the worker that is furthest behind has read the change log.",
            value=self._numbers.feed_age_seconds,
        )
        yield from self._of_jobs()
        yield from self._of_processes()

    def _of_processes(self) -> Iterable[Metric]:
        resident = GaugeMetricFamily(
            "kurz_process_resident_bytes", "Memory used by a process.", labels=["process"]
        )
        cpu = CounterMetricFamily(
            "kurz_process_cpu_seconds",
            "CPU time used by a process since it started.",
            labels=["process"],
        )
        processes = self._numbers.processes()
        if self._supervisor is not None:
            processes["supervisor"] = self._supervisor
        for name, row in processes.items():
            resident.add_metric([name], row[RESIDENT_BYTES])
            cpu.add_metric([name], row[CPU_MILLISECONDS] / 1000)
        yield resident
        yield cpu

    def _of_jobs(self) -> Iterable[Metric]:
        jobs = self._numbers.jobs
        yield GaugeMetricFamily("kurz_jobs", "Running jobs processes.", value=jobs)
        for name, meaning in JOBS_GAUGES.items():
            yield GaugeMetricFamily(f"kurz_{name}", meaning, value=self._total(name))
        yield GaugeMetricFamily(
            "kurz_reaper_last_run_seconds",
            "Duration of the last reaper run on this instance.",
            value=self._total(LAST_RUN) / 1000,
        )
        yield GaugeMetricFamily(
            "kurz_checks_last_run_seconds",
            "Duration of the last destination check run on this instance.",
            value=self._total(LAST_CHECKS) / 1000,
        )
        yield GaugeMetricFamily(
            "kurz_clicks_age_seconds",
            "Age of the oldest click that is not counted yet.",
            value=self._numbers.clicks_age_seconds,
        )
