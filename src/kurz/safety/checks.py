"""What a check of a destination finds, and what checks need from outside. Nothing here makes
calls."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from kurz.errors import Conflict
from kurz.links.model import DestinationStatus

JOB = "checks"
KEPT_CHECKS = 100  # of a destination


class ChecksOff(Conflict):
    title = "Destination checks are off"


class LinkNotChecked(Conflict):
    title = "Destination of this link is not checked"


class Reason(StrEnum):
    """The reason for the result of a check. Everything that cannot be reached has the same one,
    so that checks reveal nothing about networks that are not public."""

    ANSWERED = "answered"  # the HTTP status says the rest
    NO_ANSWER = "no-answer"  # refused, reset, too slow, no TLS that can be trusted
    NO_NAME = "no-name"  # the name server says that a known name is gone
    TOO_MANY_REDIRECTS = "too-many-redirects"
    LEADS_BACK = "leads-back"  # to this shortener
    NOT_PUBLIC = "not-public"  # no public address, port or URL: no call was made
    NAME_SERVERS = "name-servers"  # they gave no answer


@dataclass(frozen=True, slots=True)
class Finding:
    """`http_status` is that of the last answer, if there was one."""

    result: DestinationStatus
    reason: Reason
    http_status: int | None = None

    @property
    def is_final(self) -> bool:
        """Whether this result counts whatever was found before."""
        is_broken = self.result is DestinationStatus.BROKEN
        return not is_broken and self.reason is not Reason.NAME_SERVERS


NOT_PUBLIC = Finding(DestinationStatus.NOT_CHECKED, Reason.NOT_PUBLIC)


class NoTurn(Exception):
    """Too many checks wait for a site that this check was led to."""


class Checker(Protocol):
    async def check(self, location: str, *, was_ok: bool, is_requested: bool = False) -> Finding:
        """Calls a destination; each request waits until its site may be called. `was_ok`: it has
        answered before. `is_requested`: somebody waits for it, so all requests to a site are made
        in one turn. Takes seconds, plus the waiting time. Raises `NoTurn`."""


class SiteTurns(Protocol):
    """When sites may be called. `waiting` is how many checks wait for that."""

    @property
    def waiting(self) -> int: ...

    def rest(self, seconds_ago: float) -> None:
        """Another process may have called any site until this many seconds ago."""

    def is_open(self, site: str, *, is_requested: bool = False) -> bool:
        """Whether a check of it may start; a requested check does not wait for others."""


@dataclass(frozen=True, slots=True)
class Check:
    """One of a destination's last checks. `is_requested`: somebody asked for it."""

    checked_at: datetime
    finding: Finding
    is_requested: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The combined result of a destination's checks. `failures` counts those in a row that found it
    broken, `unanswered` those in a row that no name server answered."""

    status: DestinationStatus | None = None
    http_status: int | None = None
    was_ok: bool = False
    failures: int = 0
    failing_since: datetime | None = None
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class Clicks:
    """The clicks of all links to a destination: how many at the last check (or when it was added),
    how many now, and when a check last saw more."""

    before: int
    now: int
    counted_at: datetime
    clicked_at: datetime


@dataclass(frozen=True, slots=True)
class Destination:
    """Where links lead: one for all links to the same URL."""

    id: int
    location: str
    standing: Standing
    clicks: Clicks
    requested_at: int | None = None  # as `Waiting.due_at`


class WaitingChecks(NamedTuple):
    """A destination that waits for its check."""

    due_at: int  # in microseconds; when its check was requested, if it was
    id: int
    site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckVerdict:
    """The result for a destination of a check that ended at `concluded_at`. `requested_at` is the
    request it answers: a later request needs another check."""

    check: Check
    standing: Standing
    clicks: int
    clicked_at: datetime
    concluded_at: datetime
    requested_at: int | None
    due_at: datetime


class CheckStore(Protocol):
    """Destinations and their checks. An outage raises `StoreUnavailable`."""

    async def find_requested(
        self, now: datetime, after: WaitingChecks | None, limit: int
    ) -> Sequence[WaitingChecks]:
        """The next requested ones, in the order of the requests, after one of them."""

    async def find_due(
        self, now: datetime, after: WaitingChecks | None, limit: int
    ) -> Sequence[WaitingChecks]:
        """The next that are due, in the order of their due time, after one of them."""

    async def load(self, ids: Sequence[int], now: datetime) -> Sequence[Destination]:
        """Those that still wait and have an active link. The others are not due any more."""

    async def record(self, destination_id: int, verdict: CheckVerdict) -> None:
        """Stores it, once even if called again, and writes it to all links. If that is interrupted,
        the destination is due soon."""

    async def defer(self, destination_id: int, until: datetime) -> None:
        """No call was made: it waits until then, whether it was due or requested."""

    async def count_due(self, now: datetime, limit: int) -> int: ...

    async def has_requested(self, now: datetime) -> bool: ...

    async def ask(self, link_id: int, now: datetime) -> bool:
        """Requests a check of its destination as soon as possible. False: no active link leads
        there."""

    async def last_checks(self, link_id: int) -> Sequence[Check]:
        """The checks since the link leads there, newest first."""


def key_of(location: str) -> bytes:
    """A short key for a URL of any length."""
    return hashlib.sha256(location.encode()).digest()
