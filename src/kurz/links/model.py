"""What a link is. Nothing here reads a clock, a database or a request."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict

ROOT_WORKSPACE_ID = 0  # anonymous and personal links, at the root of the base URL


def space_of(workspace_id: int, owner_id: int | None) -> int:
    """Whose list a link is in: the workspace's id, or minus the owner's; 0 is nobody's."""
    return workspace_id or -(owner_id or 0)


class LinkType(StrEnum):
    TEMPORARY = "TEMPORARY"
    PERMANENT = "PERMANENT"


class Status(StrEnum):
    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"
    DELETED = "DELETED"
    PAUSED = "PAUSED"
    EXHAUSTED = "EXHAUSTED"
    BANNED = "BANNED"


class DestinationStatus(StrEnum):
    """What checks found about the destination of a link."""

    OK = "ok"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    NOT_CHECKED = "not_checked"  # kurz does not request this destination


class Strategy(StrEnum):
    """How a link got its code."""

    RANDOM = "random"
    COUNTER = "counter"
    DETERMINISTIC = "deterministic"
    CUSTOM = "custom"


@dataclass(slots=True, kw_only=True)  # not frozen: that costs 20 µs of every create
class Link:
    """A link as it is stored. `status` may lag behind; `lifecycle.status` is correct. A stored link
    is never changed in place: an edit makes a new object."""

    id: int
    workspace_id: int
    short_code: str
    version: int
    strategy: Strategy
    original_url: str
    canonical_url: str
    location: str
    owner_id: int | None
    link_type: LinkType
    status: Status
    created_at: datetime
    updated_at: datetime
    starts_at: datetime | None = None
    expires_at: datetime | None = None
    deleted_at: datetime | None = None
    redirect_status: int = 302
    title: str | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    forward_query: bool = False
    max_clicks: int | None = None
    clicks_used: int = 0
    redirect_count: int = 0
    avg_redirect_ms: float | None = None
    destination_status: DestinationStatus | None = None
    destination_http_status: int | None = None
    last_checked_at: datetime | None = None
    swept_at: datetime | None = None  # the reaper moved it to the trash, not its owner
    held_at: datetime | None = None  # since when visitors are warned: it could not be screened


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller asks for when creating a link. `owner_id` None and `is_anonymous` False: the
    link belongs to its workspace, or at the root to the installation's operator. The defaults are
    those of the workspace, if it has any."""

    original_url: str
    workspace_id: int = ROOT_WORKSPACE_ID
    owner_id: int | None = None
    is_anonymous: bool = False
    custom_code: str | None = None
    strategy: Strategy | None = None
    default_strategy: Strategy | None = None
    default_expiry_days: int | None = None
    starts_at: datetime | None = None
    expires_at: datetime | None = None
    expires_in_seconds: int | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    notes: str | None = None
    redirect_status: int | None = None
    forward_query: bool = False
    max_clicks: int | None = None


@dataclass(frozen=True, slots=True)
class LinkAction:
    """An action on a link, for its history. No account: the operator."""

    name: str
    account_id: int | None = None


OPERATORS_EDIT = LinkAction("edit")


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One line of a link's history: field → value before and after."""

    action: str
    account_id: int | None
    version: int
    changed_at: datetime
    changes: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Created:
    """The result of a draft: the link, whether it is new, and the claim token of an anonymous
    link."""

    link: Link
    is_new: bool
    claim_token: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose links a caller may see: None means any. At the root an owner is always named, except
    by the operator, whose scope is `Scope()`."""

    workspace_id: int | None = None
    owner_id: int | None = None


class Sort(StrEnum):
    """The orders of a list. Links with equal values are sorted by ID, in the same direction. Links
    that never expire count as expiring last."""

    CREATED = "created_at"
    CREATED_DOWN = "-created_at"
    UPDATED = "updated_at"
    UPDATED_DOWN = "-updated_at"
    CLICKS = "redirect_count"
    CLICKS_DOWN = "-redirect_count"
    EXPIRY = "expires_at"
    EXPIRY_DOWN = "-expires_at"

    @property
    def field(self) -> str:
        return self.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.startswith("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What a list shows, and in which order. The trash is left out unless asked for: by its status,
    or with everything else by `with_deleted`."""

    search: str | None = None
    status: Status | None = None
    tag: str | None = None
    owner_id: int | None = None
    destination_status: DestinationStatus | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None
    sort: Sort = Sort.CREATED_DOWN
    with_deleted: bool = False


@dataclass(frozen=True, slots=True)
class PageEnd:
    """Where a page ended: its last link, and that link's value in the order of the list (an instant
    in microseconds; None for no expiry)."""

    value: int | None
    link_id: int


COUNTED_LINKS = 10_000  # more are not counted, because that takes longer the more there are
# Where no index leads to the matches, the links themselves are read in the order of the list: up to
# this many for a page, and as many for its total. 10,000 would take longer than 20 ms.
READ_LINKS = 5_000


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """A part of a list. `values`: by what the links are sorted, as in `PageEnd`. `stopped_at`: the
    last link that was read, if there are more to read and fewer matches than requested were
    found."""

    links: list[Link]
    values: list[int | None]
    total: int
    is_total_exact: bool = True
    stopped_at: PageEnd | None = None


@dataclass(frozen=True, slots=True)
class LinkPage:
    """`total` is a minimum unless it is exact. A page that is not complete has fewer links than
    requested, or none, but more may follow after its cursor."""

    links: tuple[Link, ...]
    total: int
    next_cursor: str | None
    is_total_exact: bool = True
    is_complete: bool = True


class Edit(TypedDict, total=False):
    """What to change: an absent field stays as it is, None clears it."""

    original_url: str
    custom_code: str
    starts_at: datetime | None
    expires_at: datetime | None
    title: str | None
    tags: tuple[str, ...]
    notes: str | None
    redirect_status: int
    forward_query: bool
    max_clicks: int | None
    is_paused: bool
