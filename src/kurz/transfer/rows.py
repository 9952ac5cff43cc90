"""Turns a record into a link, or raises the error that refuses it. The rules are those of a new
link, but its past is kept: dates, counts, and codes that could no longer be chosen."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from kurz.links import fields, lifecycle, urls
from kurz.links.codes import custom, deterministic
from kurz.links.codes.words import is_reserved
from kurz.links.errors import CustomCodeRefused, FieldRefused, InstantRefused
from kurz.links.model import ROOT_WORKSPACE_ID, Link, LinkType, Status, Strategy
from kurz.links.transfers import ImportTarget
from kurz.transfer.format import split_tags

MAX_COUNT = 2**53  # what a JavaScript number holds exactly
CLOCK_SKEW = timedelta(days=1)  # how far another machine may have been ahead
_STEPS = frozenset({".", ".."})
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})
_STATUSES = {status.value: status for status in Status}
_TYPES = {link_type.value: link_type for link_type in LinkType}

T = TypeVar("T")


def to_link(
    record: dict[str, Any], target: ImportTarget, url: urls.JudgedUrl, now: datetime
) -> Link:
    """The link, without an id, and without a code if the record has none."""
    get = record.get
    created_at = _past(record, "created_at", now) or now
    link = Link(
        id=0,
        workspace_id=target.workspace_id,
        short_code=_code(record),
        version=1,
        strategy=Strategy.CUSTOM,
        original_url=url.original,
        canonical_url=url.canonical,
        location=url.location,
        owner_id=target.owner_id,
        link_type=LinkType.PERMANENT,
        status=Status.ACTIVE,
        created_at=created_at,
        updated_at=_past(record, "updated_at", now) or created_at,
        starts_at=_instant(record, "starts_at"),
        expires_at=_instant(record, "expires_at"),
        deleted_at=_past(record, "deleted_at", now),
        swept_at=_past(record, "swept_at", now),
        redirect_status=_count(record, "redirect_status") or target.redirect_status,
        title=_text(record, "title"),
        tags=_tags(get("tags")),
        notes=_text(record, "notes"),
        forward_query=_is_true(record, "forward_query"),
        max_clicks=_count(record, "max_clicks"),
        clicks_used=_count(record, "clicks_used") or 0,
        redirect_count=_count(record, "redirect_count") or 0,
        avg_redirect_ms=_milliseconds(get("avg_redirect_ms")),
    )
    _check_fields(link)
    if link.starts_at and link.expires_at and link.starts_at >= link.expires_at:
        raise InstantRefused("`starts_at` must be before the link expires.", field="starts_at")
    _set_derived_fields(link, record, now)
    return link


def original_url(record: dict[str, Any]) -> str:
    found = _text(record, "original_url")
    if found is None:
        raise FieldRefused("The row has no `original_url`.", field="original_url")
    return found.strip(" \t")


def _check_fields(link: Link) -> None:
    """Text that is clearly fine is not checked letter by letter, which costs 10 µs."""
    is_titled = _is_plain(link.title, fields.MAX_TITLE_LENGTH)
    is_noted = _is_plain(link.notes, fields.MAX_NOTES_LENGTH)
    is_tagged = len(link.tags) <= fields.MAX_TAGS and all(
        _is_plain(tag, fields.MAX_TAG_LENGTH) for tag in link.tags
    )
    fields.check(
        title=None if is_titled else link.title,
        notes=None if is_noted else link.notes,
        tags=() if is_tagged else link.tags,
        redirect_status=link.redirect_status,
        max_clicks=link.max_clicks,
    )


def _is_plain(text: str | None, longest: int) -> bool:
    """True: `fields.check` would accept it. False: `fields.check` must decide."""
    if text is None:
        return True
    return text.isprintable() and len(text) <= longest and bool(text.strip())


def _set_derived_fields(link: Link, record: dict[str, Any], now: datetime) -> None:
    """Status, type and strategy, which follow from more than one field."""
    link.status = _status(_choice(record, "status", _STATUSES), link, now)
    _begin_trash(link, now)
    is_nobodys = link.workspace_id == ROOT_WORKSPACE_ID and link.owner_id is None
    if _choice(record, "link_type", _TYPES) is LinkType.TEMPORARY and is_nobodys:
        # One without an expiry would stay permanently without an owner.
        link.link_type = LinkType.TEMPORARY if link.expires_at else LinkType.PERMANENT
    if record.get("strategy") == Strategy.DETERMINISTIC and _is_deterministic(link):
        link.strategy = Strategy.DETERMINISTIC


def _begin_trash(link: Link, now: datetime) -> None:
    """Its time in the trash begins now, however long it was in another trash: otherwise it could be
    purged before anyone has seen it. A link that the reaper had swept stays swept."""
    is_deleted = link.status is Status.DELETED
    is_swept = is_deleted and link.swept_at is not None and lifecycle.is_expired(link, now)
    link.deleted_at = now if is_deleted else None
    link.swept_at = now if is_swept else None


def _status(status: Status | None, link: Link, now: datetime) -> Status:
    """The status to store: counts make a link exhausted, and its expiry makes it expired."""
    if status is None:
        return Status.DELETED if link.deleted_at else Status.ACTIVE
    if status is Status.EXPIRED and (link.expires_at is None or link.expires_at > now):
        raise FieldRefused(
            "`status` is EXPIRED, but `expires_at` is not in the past.", field="status"
        )
    if status is Status.EXHAUSTED:
        if link.max_clicks is None or link.clicks_used < link.max_clicks:
            raise FieldRefused(
                "`status` is EXHAUSTED, but `clicks_used` is below `max_clicks`.", field="status"
            )
        return Status.ACTIVE
    return status


def _is_deterministic(link: Link) -> bool:
    """True if the code is one that this URL gets in this workspace."""
    if link.workspace_id == ROOT_WORKSPACE_ID:
        return False
    return any(
        link.short_code == deterministic.generate(link.canonical_url, link.workspace_id, salt)
        for salt in range(deterministic.SALTS)
    )


def _code(record: dict[str, Any]) -> str:
    code = (_text(record, "short_code") or "").strip(" \t")
    if not code:
        return ""
    if not custom.is_possible(code):
        raise CustomCodeRefused(
            "A code must have 1 to 128 characters: letters, digits, “.”, “_”, “~” and “-”.",
            field="short_code",
        )
    if code in _STEPS:
        raise CustomCodeRefused(
            f"“{code}” cannot be a code: browsers remove it from URLs.", field="short_code"
        )
    if is_reserved(code):
        raise CustomCodeRefused(f"“{code}” is a reserved word.", field="short_code")
    return code


def _text(record: dict[str, Any], field: str) -> str | None:
    value = record.get(field)
    if value is not None and not isinstance(value, str):
        raise FieldRefused(f"`{field}` must be text.", field=field)
    return value


def _tags(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return split_tags(value)
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return tuple(value)
    raise FieldRefused("`tags` must be a list of texts.", field="tags")


def _count(record: dict[str, Any], field: str) -> int | None:
    value = record.get(field)
    if value is None:
        return None
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < 20:
        value = int(value)
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise FieldRefused(f"`{field}` must be a whole number, 0 or more.", field=field)
    return value


def _milliseconds(value: Any) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if isinstance(value, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise FieldRefused(
            "`avg_redirect_ms` must be a number, 0 or more.", field="avg_redirect_ms"
        )
    return number


def _is_true(record: dict[str, Any], field: str) -> bool:
    value = record.get(field)
    if value is None or value is False:
        return False
    word = value.lower() if isinstance(value, str) else None
    if value is True or word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise FieldRefused(f"`{field}` must be true or false.", field=field)


def _choice(record: dict[str, Any], field: str, choices: dict[str, T]) -> T | None:
    value = record.get(field)
    if value is None:
        return None
    if not isinstance(value, str) or value not in choices:
        raise FieldRefused(f"`{field}` must be one of {', '.join(choices)}.", field=field)
    return choices[value]


def _past(record: dict[str, Any], field: str, now: datetime) -> datetime | None:
    instant = _instant(record, field)
    if instant is not None and instant > now and instant > now + CLOCK_SKEW:
        raise InstantRefused(f"`{field}` is in the future.", field=field)
    return instant


def _instant(record: dict[str, Any], field: str) -> datetime | None:
    """ISO 8601; without a zone it is UTC."""
    value = record.get(field)
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(value)
        if instant.tzinfo is UTC:
            return instant
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError):
        raise InstantRefused(
            f"`{field}` must be a time such as 2030-01-31T18:00:00Z.", field=field
        ) from None
