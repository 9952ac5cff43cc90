"""Reports of abuse: what they say, and what a store of them can do."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from kurz.links.errors import FieldRefused

MAX_MESSAGE_LENGTH = 2000
MAX_CONTACT_LENGTH = 200
KEPT_REPORTS = timedelta(days=365)  # when they are decided: they name people at times
_UNFIT = ("Cc", "Cf", "Cs", "Zl", "Zp")


class Category(StrEnum):
    PHISHING = "phishing"
    MALWARE = "malware"
    SPAM = "spam"
    ILLEGAL = "illegal"
    OTHER = "other"


class State(StrEnum):
    OPEN = "open"
    UPHELD = "upheld"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class Complaint:
    """What somebody says of a link."""

    category: Category
    message: str | None = None
    contact: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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
    state: State = State.OPEN
    decided_by: int | None = None
    decided_at: datetime | None = None
    note: str | None = None


class ReportStore(Protocol):
    """An outage raises `StoreUnavailable`."""

    async def add(self, report: Report) -> None:
        """Nothing happens if the same person has an open report of the same link."""

    async def find(self, report_id: int) -> Report | None: ...

    async def list(
        self, state: State, *, after: tuple[datetime, int] | None = None, limit: int
    ) -> Sequence[Report]:
        """Open ones from the oldest on, decided ones from the newest on; behind the one that was
        reported at an instant, with an id."""

    async def count(self, state: State) -> int: ...

    async def decide(
        self, report: Report, state: State, decided_by: int | None, note: str | None, now: datetime
    ) -> int:
        """Decides the report if it is open, and if it is upheld all open ones of the same link;
        tells how many."""


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
    """Text that both engines store, and every page and terminal shows as it is; None for nothing.
    Controls and marks that turn the direction of reading are left out."""
    text = (text or "").replace("\r\n", "\n")
    kept = "".join(it for it in text if it in breaks or unicodedata.category(it) not in _UNFIT)
    kept = kept.strip()
    if len(kept) > longest:
        raise FieldRefused(f"`{field}` can have at most {longest} characters.", field=field)
    return kept or None
