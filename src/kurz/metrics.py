"""The numbers that kurz tells Prometheus: their names, what they mean, and how they are written.

A worker keeps them as plain integers and copies them into a row that all workers can read. Labels
have a closed set of values: nobody can make up new ones by asking for something.
"""

from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

OUTCOMES = ("redirect", "missing", "expired", "exhausted", "banned", "limited", "unavailable")
STATUS_CLASSES = ("2xx", "3xx", "4xx", "5xx")
# Upper bounds of latencies: powers of two of nanoseconds, 8 µs to 8.6 s.
LATENCY_POWERS = tuple(range(13, 34))

COUNTERS = {
    "lane_answers": "Answers that the fast lane gave.",
    "look_ups": "Codes that were not in memory, and were looked up.",
    "journal_records": "Clicks that were recorded.",
    "journal_bytes": "Bytes written to the journal of clicks.",
    "journal_dropped": "Clicks that could not be recorded.",
    "journal_sync_errors": "Times that the journal could not be brought to the disk.",
    "cache_hits": "Codes that Redis knew.",
    "cache_misses": "Codes that Redis did not know, or was not asked for while it is out.",
    "cache_errors": "Failures of Redis: no answer in time, or an error.",
    "cache_refused": "Values in Redis that were not believed: of another key, or unreadable.",
    "cache_writes": "Values written to Redis.",
    "cache_dropped": "Values that were not written, because Redis is out or too slow.",
    "replica_answers": "Codes and lists that a replica answered.",
    "replica_behind": "Times that a replica did not have what was heard of, or knew no such code.",
    "replica_errors": "Failures of replicas.",
    "database_writes": "Writes to the embedded database.",
    "database_commits": "Transactions that carried them.",
    "database_look_ups": "Statements by which PostgreSQL was asked for codes; one may be for many.",
    "database_timeouts": "Calls of PostgreSQL that were given up.",
    "feed_wake_ups": "Times that others said that there are changes.",
    "feed_lost_connections": "Times that the connection for that was lost, or could not be made.",
}
# Of the workers that live.
GAUGES = {
    "hot_links": "Links in memory.",
    "hot_bytes": "Bytes that links in memory take.",
    "connections": "Open connections.",
    "cache_out": "Workers that leave Redis alone for the moment, because it does not answer.",
    "feed_deaf": "Workers that hear of no changes, and look up again what they have in memory.",
    "database_connections": "Connections to PostgreSQL.",
    "database_in_use": "Those of them that are in use.",
    "database_waiting": "Calls that wait for a connection to PostgreSQL.",
}
ALIVE_AT = "alive_at_seconds"
HEARD_AT = "heard_at_seconds"
ALIVE_SECONDS = 5

NAMES = (
    ALIVE_AT,
    HEARD_AT,
    *(f"outcome_{outcome}" for outcome in OUTCOMES),
    *(f"api_{status}" for status in STATUS_CLASSES),
    *(f"latency_{power}" for power in LATENCY_POWERS),
    "latency_ns",
    *COUNTERS,
    *GAUGES,
)
# What starts at zero with every worker; the rest goes on from what the last one left in its row.
OF_THE_MOMENT = (ALIVE_AT, HEARD_AT, *GAUGES)


def latency_counts(buckets: list[int]) -> dict[str, int]:
    """Of a list by bit lengths, cumulated as a histogram has them."""
    return {f"latency_{power}": sum(buckets[: power + 1]) for power in LATENCY_POWERS}


def render(rows: Iterable[Mapping[str, int]], version: str, now: int) -> bytes:
    """The text that Prometheus reads. `rows` are the workers', also of those that have ended."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(list(rows), version, now))
    return generate_latest(registry)


class _Collector:
    def __init__(self, rows: list[Mapping[str, int]], version: str, now: int) -> None:
        self._rows = rows
        self._alive = [row for row in rows if now - row[ALIVE_AT] <= ALIVE_SECONDS]
        self._version = version
        self._now = now

    def collect(self) -> Iterable[Metric]:
        info = GaugeMetricFamily("kurz_info", "The version that runs.", labels=["version"])
        info.add_metric([self._version], 1)
        yield info
        yield GaugeMetricFamily("kurz_workers", "Workers that live.", value=len(self._alive))
        redirects = CounterMetricFamily(
            "kurz_redirects", "Visits of short links, by what came of them.", labels=["outcome"]
        )
        for outcome in OUTCOMES:
            redirects.add_metric([outcome], self._total(f"outcome_{outcome}"))
        yield redirects
        requests = CounterMetricFamily(
            "kurz_api_requests", "Requests to the API, by class of status.", labels=["status"]
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
            "From the first byte of a visit to just before its redirect.",
            buckets=[*buckets, ("+Inf", total)],
            sum_value=self._total("latency_ns") / 1e9,
        )
        for name, meaning in COUNTERS.items():
            yield CounterMetricFamily(f"kurz_{name}", meaning, value=self._total(name))
        for name, meaning in GAUGES.items():
            now = sum(row[name] for row in self._alive)
            yield GaugeMetricFamily(f"kurz_{name}", meaning, value=now)
        yield GaugeMetricFamily(
            "kurz_feed_age_seconds",
            "Since the worker that is furthest behind has read the change log.",
            value=max((self._now - row[HEARD_AT] for row in self._alive), default=0),
        )

    def _total(self, name: str) -> int:
        return sum(row[name] for row in self._rows)
