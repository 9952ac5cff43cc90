"""Links as rows of their table."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.links.model import DestinationStatus, Link, LinkType, Status, Strategy, space_of
from kurz.storage.schema.clicks import click_totals
from kurz.storage.schema.links import links

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

STORED = (*INSERTED, "checksum")

# For links whose destination was never checked.
NOT_CHECKED = {
    "destination_status": None,
    "destination_http_status": None,
    "last_checked_at": None,
}

_counted = click_totals.c
_ARE_ITS = sa.and_(_counted.kind == SubjectKind.LINK.value, _counted.subject == links.c.id)
# The clicks as they are counted now. The link's own column, by which long lists are sorted, may be
# behind. Clicks never decrease.
_CLICKS: sa.ColumnElement[int] = sa.case(
    (_counted.clicks > links.c.redirect_count, _counted.clicks), else_=links.c.redirect_count
)
# Until a latency is measured here, the average of an import stays.
_AVERAGE = sa.case((_counted.timed > 0, _counted.mean_ms), else_=links.c.avg_redirect_ms)
_NOW = {"redirect_count": _CLICKS, "avg_redirect_ms": _AVERAGE}
# A link with its current clicks, from a source `with_totals`.
LINK = tuple(
    _NOW[column.name].label(column.name) if column.name in _NOW else column
    for column in links.c
    if column is not links.c.checksum
)


def select_links() -> sa.Select[Any]:
    """Links with their current clicks, for `to_link`."""
    return sa.select(*LINK).select_from(with_totals(links))


def with_totals(source: sa.FromClause) -> sa.Join:
    """A source that has `links`, and their totals. SQLite would read all links to join a source to
    links that are joined to their totals already."""
    return source.outerjoin(click_totals, _ARE_ITS)


def current_clicks(
    link_id: sa.ColumnElement[int], copied: sa.ColumnElement[int]
) -> sa.ColumnElement[int]:
    """The clicks of a link as they are counted now, looked up for each row of a query that has its
    id and its own copy."""
    newer = sa.select(_counted.clicks).where(
        _counted.kind == SubjectKind.LINK.value,
        _counted.subject == link_id,
        _counted.clicks > copied,
    )
    return sa.func.coalesce(newer.correlate_except(click_totals).scalar_subquery(), copied)


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
