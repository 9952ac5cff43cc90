"""What a link is. Nothing here reads a clock, a database or a request."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

ROOT_WORKSPACE_ID = 0  # anonymous and personal links, at the root of the base URL


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


class Strategy(StrEnum):
    """How a link got its code."""

    RANDOM = "random"
    COUNTER = "counter"
    DETERMINISTIC = "deterministic"
    CUSTOM = "custom"


@dataclass(slots=True, kw_only=True)  # not frozen: that costs 20 µs of every create
class Link:
    """A link as it is stored; `status` is bookkeeping, `lifecycle.status` is the truth. Nobody
    changes one that has been stored: an edit makes another."""

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
    destination_status: int | None = None
    last_checked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller asks for when a link is made. `owner_id` None and `is_anonymous` False: the
    link belongs to its workspace, or at the root to the installation's operator."""

    original_url: str
    workspace_id: int = ROOT_WORKSPACE_ID
    owner_id: int | None = None
    is_anonymous: bool = False
    custom_code: str | None = None
    strategy: Strategy | None = None
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
class Created:
    """The answer to a draft: the link, whether it is new, and an anonymous one's claim token."""

    link: Link
    is_new: bool
    claim_token: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose links a caller may see: None means any. At the root an owner is always named, except
    by the operator, whose scope is `Scope()`."""

    workspace_id: int | None = None
    owner_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    search: str | None = None
    status: Status | None = None


@dataclass(frozen=True, slots=True)
class LinkPage:
    links: tuple[Link, ...]
    total: int
    next_cursor: str | None


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
