"""Records what is about to be answered."""

import time

from kurz.clicks.journal import Journal
from kurz.clicks.record import COUNT_ONLY, PREFETCH, encode
from kurz.clicks.visitors import Visitors
from kurz.clock import Clock
from kurz.redirect.onlookers import Header, is_prefetch


class ClickWriter:
    def __init__(self, journal: Journal, visitors: Visitors, clock: Clock) -> None:
        self._journal = journal
        self._visitors = visitors
        self._clock = clock

    def describe(self, client: str, header: Header) -> bytes:
        """The visitor's part of a record, by their address and by the request's header fields,
        which `header` tells by name."""
        flags = PREFETCH if is_prefetch(header) else 0
        if header(b"sec-gpc") == b"1" or header(b"dnt") == b"1":
            flags |= COUNT_ONLY
        return self._visitors.visit(
            client,
            header(b"user-agent") or b"",
            header(b"referer") or b"",
            header(b"accept-language") or b"",
            flags,
        )

    def record(self, mark: bytes, visit: bytes, began_ns: int) -> int:
        """A redirect, just before its answer is handed over. `began_ns` is when its first byte
        came, by `time.perf_counter_ns`; gives how long that was ago."""
        latency_ns = time.perf_counter_ns() - began_ns
        record = encode(self._clock.micros(), latency_ns, mark, visit)
        self._journal.write([record])
        return latency_ns
