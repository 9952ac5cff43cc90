"""Counts of a worker's answers: plain integers, because a hit must be cheap."""

from kurz.links.lifecycle import Outcome

BUCKETS = 40  # of latencies, by powers of two of nanoseconds: up to 9 minutes


class RedirectCounters:
    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(Outcome, 0)
        self.limited = 0  # refused, after many misses
        self.unavailable = 0
        self.lane_answers = 0
        self.latencies = [0] * BUCKETS
        self.latency_ns = 0

    def time(self, latency_ns: int) -> None:
        self.latencies[min(latency_ns.bit_length(), BUCKETS - 1)] += 1
        self.latency_ns += latency_ns
