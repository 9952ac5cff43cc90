"""What a check of a destination finds, and what checks need from outside. Nothing here calls
anybody."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from kurz.errors import Kind, KurzError
from kurz.links.model import DestinationStatus

JOB = "checks"
KEPT_CHECKS = 100  # of a destination


class ChecksOff(KurzError):
    kind = Kind.CONFLICT
    code = "checks-off"
    title = "Destination checks are off"


class LinkNotChecked(KurzError):
    kind = Kind.CONFLICT
    code = "link-not-checked"
    title = "Destination of this link is not checked"


class Reason(StrEnum):
    """Why a check found what it found. None of them tells anything about networks that are not
    public: what cannot be reached for any reason is one and the same."""

    ANSWERED = "answered"  # the HTTP status says the rest
    NO_ANSWER = "no-answer"  # refused, reset, too slow, no TLS that can be trusted
    NO_NAME = "no-name"  # the name server of a destination that was there says it is gone
    TOO_MANY_REDIRECTS = "too-many-redirects"
    LEADS_BACK = "leads-back"  # to this shortener
    NOT_PUBLIC = "not-public"  # no public address, port or URL: nobody was called
    NAME_SERVERS = "name-servers"  # they gave no answer


@dataclass(frozen=True, slots=True)
class Finding:
    """`http_status` is that of the last answer, if there was one."""

    result: DestinationStatus
    reason: Reason
    http_status: int | None = None

    @property
    def is_final(self) -> bool:
        """It says what a destination is, whatever was found before."""
        is_broken = self.result is DestinationStatus.BROKEN
        return not is_broken and self.reason is not Reason.NAME_SERVERS


NOT_PUBLIC = Finding(DestinationStatus.NOT_CHECKED, Reason.NOT_PUBLIC)


class NoTurn(Exception):
    """A site that a check came to is called by so many that it would wait for too long."""


class Checker(Protocol):
    async def check(self, location: str, *, was_ok: bool, is_asked: bool = False) -> Finding:
        """Calls a destination, politely: each request waits for the turn of its site. `was_ok`:
        it has answered before. `is_asked`: somebody waits for it, so all requests to a site follow
        each other in one turn. Takes seconds, and as long as the turns take. Raises `NoTurn`."""


class Turns(Protocol):
    """When sites may be called. `waiting` is how many checks wait for that."""

    @property
    def waiting(self) -> int: ...

    def rest(self, seconds_ago: float) -> None:
        """Another process may have called any site until so many seconds ago."""

    def is_open(self, site: str, *, is_asked: bool = False) -> bool:
        """Whether a check of it may begin; one that somebody asks for waits for no others."""


@dataclass(frozen=True, slots=True)
class Check:
    """One of a destination's last checks. `is_asked`: somebody asked for it."""

    checked_at: datetime
    finding: Finding
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """What all checks of a destination say together. `failures` are those in a row that found it
    broken, `unanswered` those in a row that no name server answered."""

    status: DestinationStatus | None = None
    http_status: int | None = None
    was_ok: bool = False
    failures: int = 0
    failing_since: datetime | None = None
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class Clicks:
    """Of all links to a destination: how many when it was checked last (or made known), how many
    now, and when a check last saw more."""

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
    asked_at: int | None = None  # as `Waiting.due_at`


class Waiting(NamedTuple):
    """A destination that waits for its check."""

    due_at: int  # in microseconds; since when somebody asks for it, if somebody does
    id: int
    site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a destination by a check that ended at `concluded_at`. `asked_at` is who it
    answers: whoever asks later wants another one."""

    check: Check
    standing: Standing
    clicks: int
    clicked_at: datetime
    concluded_at: datetime
    asked_at: int | None
    due_at: datetime


class CheckStore(Protocol):
    """Destinations and their checks. An outage raises `StoreUnavailable`."""

    async def find_asked(
        self, now: datetime, after: Waiting | None, limit: int
    ) -> Sequence[Waiting]:
        """The next that somebody wants to know about, in the order in which that was asked for,
        behind one of them."""

    async def find_due(self, now: datetime, after: Waiting | None, limit: int) -> Sequence[Waiting]:
        """The next that are due, in the order in which they came to be, behind one of them."""

    async def load(self, ids: Sequence[int], now: datetime) -> Sequence[Destination]:
        """Those that still wait, and that an active link leads to. If none does, they are not due
        any more."""

    async def record(self, destination_id: int, verdict: Verdict) -> None:
        """Keeps it, once however often it is told, and tells it to all links. If that is
        interrupted, the destination is due soon."""

    async def defer(self, destination_id: int, until: datetime) -> None:
        """Nobody was called: it waits until then, whether it was due or asked for."""

    async def count_due(self, now: datetime, limit: int) -> int: ...

    async def has_asked(self, now: datetime) -> bool: ...

    async def ask(self, link_id: int, now: datetime) -> bool:
        """Has its destination checked as soon as possible. False: no active link leads there."""

    async def last_checks(self, link_id: int) -> Sequence[Check]:
        """Since the link leads there, the newest first."""


def key_of(location: str) -> bytes:
    """What stands for a URL, however long it is."""
    return hashlib.sha256(location.encode()).digest()
