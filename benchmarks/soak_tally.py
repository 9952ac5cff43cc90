"""What `soak_load.py` knows of its links, and what it counts."""

import statistics
from array import array
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Link:
    """`locations` has two of them while it is being edited."""

    id: int
    code: str
    locations: set[str]
    expires_at: float
    token: str | None
    is_being_changed: bool = False
    is_being_deleted: bool = False
    is_deleted: bool = False

    def statuses(self, sent_at: float, received_at: float, kept_seconds: float) -> set[int]:
        """That are right for a visit at that time, if it was not deleted before."""
        right = {404} if self.is_being_deleted or self.is_deleted else set()
        if sent_at < self.expires_at:
            right.add(302)
        if received_at >= self.expires_at:
            right.add(410)
        if received_at >= self.expires_at + kept_seconds:  # it may be purged
            right.add(404)
        return right


@dataclass
class Tally:
    sent: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)  # no answer, or 503
    examples: list[str] = field(default_factory=list)
    redirects: int = 0  # answers with a destination: each is a click
    perhaps_redirects: int = 0  # requests whose answer nobody has read
    unsent: int = 0  # because too many were in flight
    latencies_ms: "array[float]" = field(default_factory=lambda: array("f"))

    def told(self, seconds: float) -> dict[str, Any]:
        ordered = sorted(self.latencies_ms) or [0.0]
        return {
            "seconds": seconds,
            "per_second": sum(self.sent.values()) / seconds,
            "sent": dict(self.sent),
            "wrong": dict(self.wrong),
            "failed": dict(self.failed),
            "examples": self.examples,
            "redirects": self.redirects,
            "perhaps_redirects": self.perhaps_redirects,
            "unsent": self.unsent,
            "redirect_p50_ms": statistics.median(ordered),
            "redirect_p99_ms": ordered[len(ordered) * 99 // 100],
        }
