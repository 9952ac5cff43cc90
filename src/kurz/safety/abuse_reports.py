"""Reports of abuse: their content, and their store."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from kurz.links.errors import FieldRefused

MAX_MESSAGE_LENGTH = 2000
MAX_CONTACT_LENGTH = 200
KEPT_REPORTS = timedelta(days=365)  # after the decision, because they may name people
_UNFIT = ("Cc", "Cf", "Cs", "Zl", "Zp")


class Category(StrEnum):
    PHISHING = "phishing"
    MALWARE = "malware"
    SPAM = "spam"
    ILLEGAL = "illegal"
    OTHER = "other"


class ReportState(StrEnum):
    OPEN = "open"
    UPHELD = "upheld"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a reporter says about a link."""

    category: Category
    message: str | None = None
    contact: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbuseReport:
    """`location` is where the link led when it was reported. `link_id` is the store's own."""

    id: int
    link_id: int
    workspace_id: int
    short_code: str
    short_url: str
    location: str
    category: Category
    message: str | None
    contact: str | None
    reporter: bytes
    reported_at: datetime
    state: ReportState = ReportState.OPEN
    decided_by: int | None = None
    decided_at: datetime | None = None
    note: str | None = None


class AbuseReportStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def add(self, report: AbuseReport) -> None:
        """Nothing happens if the same person has an open report of the same link."""

    async def find(self, report_id: int) -> AbuseReport | None: ...

    async def list(
        self, state: ReportState, *, after: tuple[datetime, int] | None = None, limit: int
    ) -> Sequence[AbuseReport]:
        """Open ones from the oldest on, decided ones from the newest on; after the one with this
        instant and id."""

    async def count(self, state: ReportState) -> int: ...

    async def decide(
        self,
        report: AbuseReport,
        state: ReportState,
        decided_by: int | None,
        note: str | None,
        now: datetime,
    ) -> int:
        """Decides the report if it is open, and, if it is upheld, all open ones of the same link;
        returns how many."""


def read_complaint(category: str, message: str | None, contact: str | None) -> Complaint:
    """What a form or a program has sent."""
    if category not in [*Category]:
        raise FieldRefused(f"`category` must be one of {', '.join(Category)}.", field="category")
    return Complaint(
        Category(category),
        clean("message", message),
        clean("contact", contact, MAX_CONTACT_LENGTH, breaks=""),
    )


def clean(
    field: str, text: str | None, longest: int = MAX_MESSAGE_LENGTH, breaks: str = "\n\t"
) -> str | None:
    """Text that both engines can store, and every page and terminal shows unchanged; None for empty
    text. Control characters and marks that change the text direction are removed."""
    text = (text or "").replace("\r\n", "\n")
    kept = "".join(it for it in text if it in breaks or unicodedata.category(it) not in _UNFIT)
    kept = kept.strip()
    if len(kept) > longest:
        raise FieldRefused(f"`{field}` can have at most {longest} characters.", field=field)
    return kept or None
