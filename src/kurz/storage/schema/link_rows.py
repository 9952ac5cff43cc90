"""Links as rows of their table."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy, space_of

# What an insert writes, in the order of the table.
INSERTED = (
    "workspace_id",
    "short_code",
    "version",
    "strategy",
    "original_url",
    "canonical_url",
    "canonical_hash",
    "location",
    "owner_id",
    "space",
    "link_type",
    "status",
    "created_at",
    "updated_at",
    "starts_at",
    "expires_at",
    "deleted_at",
    "redirect_status",
    "title",
    "tags",
    "notes",
    "forward_query",
    "max_clicks",
    "clicks_used",
    "redirect_count",
    "avg_redirect_ms",
    "claim_hash",
    "swept_at",
    "held_at",
)

# For links whose destination was never checked.
NOT_CHECKED = {
    "destination_status": None,
    "destination_http_status": None,
    "last_checked_at": None,
}


def to_row(link: Link, claim_hash: bytes | None = None) -> tuple[Any, ...]:
    """A new link's values for `INSERTED`; plain ones, because drivers are slow with enums."""
    is_deterministic = link.strategy is Strategy.DETERMINISTIC
    return (
        link.workspace_id,
        link.short_code,
        link.version,
        link.strategy.value,
        link.original_url,
        link.canonical_url,
        canonical_hash(link.canonical_url) if is_deterministic else None,
        None if link.location == link.original_url else link.location,
        link.owner_id,
        space_of(link.workspace_id, link.owner_id),
        link.link_type.value,
        link.status.value,
        to_micros(link.created_at),
        to_micros(link.updated_at),
        to_micros_or_none(link.starts_at),
        to_micros_or_none(link.expires_at),
        to_micros_or_none(link.deleted_at),
        link.redirect_status,
        link.title,
        _to_json(link.tags),
        link.notes,
        link.forward_query,
        link.max_clicks,
        link.clicks_used,
        link.redirect_count,
        link.avg_redirect_ms,
        claim_hash,
        to_micros_or_none(link.swept_at),
        to_micros_or_none(link.held_at),
    )


def changed_columns(link: Link, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changed fields of `link` as columns of the table."""
    values = dict(changes)
    for name in _INSTANTS & values.keys():
        values[name] = to_micros_or_none(values[name])
    if "tags" in values:
        values["tags"] = _to_json(values["tags"])
    original = values.get("original_url", link.original_url)
    if values.get("location") == original:
        values["location"] = None
    if values.get("strategy", link.strategy) is not Strategy.DETERMINISTIC:
        values["canonical_hash"] = None
    if changes.get("location", link.location) != link.location:
        values |= NOT_CHECKED
    return values


def to_link(row: sa.RowMapping) -> Link:
    return Link(
        id=row["id"],
        workspace_id=row["workspace_id"],
        short_code=row["short_code"],
        version=row["version"],
        strategy=Strategy(row["strategy"]),
        original_url=row["original_url"],
        canonical_url=row["canonical_url"],
        location=row["location"] or row["original_url"],
        owner_id=row["owner_id"],
        link_type=LinkType(row["link_type"]),
        status=Status(row["status"]),
        created_at=from_micros(row["created_at"]),
        updated_at=from_micros(row["updated_at"]),
        starts_at=from_micros_or_none(row["starts_at"]),
        expires_at=from_micros_or_none(row["expires_at"]),
        deleted_at=from_micros_or_none(row["deleted_at"]),
        redirect_status=row["redirect_status"],
        title=row["title"],
        tags=tuple(json.loads(row["tags"])) if row["tags"] else (),
        notes=row["notes"],
        forward_query=row["forward_query"],
        max_clicks=row["max_clicks"],
        clicks_used=row["clicks_used"],
        redirect_count=row["redirect_count"],
        avg_redirect_ms=row["avg_redirect_ms"],
        destination_status=_destination_status(row["destination_status"]),
        destination_http_status=row["destination_http_status"],
        last_checked_at=from_micros_or_none(row["last_checked_at"]),
        swept_at=from_micros_or_none(row["swept_at"]),
        held_at=from_micros_or_none(row["held_at"]),
    )


_INSTANTS = frozenset({"starts_at", "expires_at", "deleted_at", "swept_at", "held_at"})


def _destination_status(text: str | None) -> DestinationStatus | None:
    return None if text is None else DestinationStatus(text)


def _to_json(tags: tuple[str, ...]) -> str | None:
    return json.dumps(tags, ensure_ascii=False) if tags else None


def canonical_hash(canonical_url: str) -> bytes:
    return hashlib.sha256(canonical_url.encode()).digest()
