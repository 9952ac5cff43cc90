"""Records redirects as clicks, for the lane and the ASGI path alike."""

import time
from collections.abc import Sequence

from kurz.clicks.journal import Journal
from kurz.clicks.record import COUNT_ONLY, PREFETCH, encode
from kurz.clicks.visitors import Visitors
from kurz.clock import Clock
from kurz.links.lifecycle import Outcome
from kurz.redirect.counters import RedirectCounters
from kurz.redirect.preview_bots import Header, is_prefetch

# A redirect to record: the link's tag, the description of the visitor, and when the request's
# first byte came, by `time.perf_counter_ns`.
Visit = tuple[bytes, bytes, int]


class Visits:
    def __init__(
        self, journal: Journal, visitors: Visitors, clock: Clock, counters: RedirectCounters
    ) -> None:
        self.journal = journal
        self.counters = counters
        self._visitors = visitors
        self._micros = clock.micros

    @property
    def generation(self) -> int:
        """Changes with the salt of the day: what `describe` returned before is out of date."""
        return self._visitors.generation

    def describe(self, client: str, header: Header) -> bytes:
        """The visitor's part of a record, by their address and by the request's header fields,
        which `header` returns by name."""
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

    def describe_trimmed(
        self, address: bytes, user_agent: bytes, origin: bytes, tag: bytes, flags: int
    ) -> bytes:
        """Like `describe`. Only the address and the user agent are as they were sent."""
        return self._visitors.trimmed_visit(address, user_agent, origin, tag, flags)

    def record(self, visits: Sequence[Visit]) -> None:
        """Writes redirects to the journal, in one write; to be called just before they are sent."""
        at, now = self._micros(), time.perf_counter_ns()
        if at >= self._visitors.ends_at_micros:
            self._visitors.switch(at)
        counters = self.counters
        records = []
        for link_tag, description, began_ns in visits:
            latency_ns = now - began_ns
            records.append(encode(at, latency_ns, link_tag, description))
            counters.time(latency_ns)
        counters.outcomes[Outcome.REDIRECT] += len(records)
        self.journal.write(records)
