"""Queries about links, and the store the core works with."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, to_micros
from kurz.links.model import Filter, Link, LinkType, Scope, Status, Strategy
from kurz.storage.changes import record_change
from kurz.storage.database import Database, HotStatement
from kurz.storage.schema import links

_INSERTED = (
    "workspace_id",
    "short_code",
    "version",
    "strategy",
    "original_url",
    "canonical_url",
    "canonical_hash",
    "location",
    "owner_id",
    "link_type",
    "status",
    "created_at",
    "updated_at",
    "starts_at",
    "expires_at",
    "redirect_status",
    "title",
    "tags",
    "notes",
    "forward_query",
    "max_clicks",
    "clicks_used",
    "redirect_count",
    "claim_hash",
)
# PostgreSQL's insert: SQLite's dialect compiles it to the same ON CONFLICT DO NOTHING.
_INSERT = HotStatement(insert(links).on_conflict_do_nothing().returning(links.c.id), _INSERTED)


def insert_link(
    connection: sa.Connection, link: Link, claim_hash: bytes | None = None
) -> int | None:
    created_at = to_micros(link.created_at)
    link_id: int | None = _INSERT.scalar(
        connection,
        (
            link.workspace_id,
            link.short_code,
            link.version,
            link.strategy,
            link.original_url,
            link.canonical_url,
            canonical_hash(link.canonical_url) if link.strategy is Strategy.DETERMINISTIC else None,
            None if link.location == link.original_url else link.location,
            link.owner_id,
            link.link_type,
            link.status,
            created_at,
            to_micros(link.updated_at),
            _to_micros_or_none(link.starts_at),
            _to_micros_or_none(link.expires_at),
            link.redirect_status,
            link.title,
            _to_json(link.tags),
            link.notes,
            link.forward_query,
            link.max_clicks,
            link.clicks_used,
            link.redirect_count,
            claim_hash,
        ),
    )
    if link_id is not None:
        record_change(
            connection, link_id, link.workspace_id, link.short_code, link.version, created_at
        )
    return link_id


def find_link(connection: sa.Connection, link_id: int, scope: Scope) -> Link | None:
    return _one(connection, links.c.id == link_id, *_within(scope))


def find_link_by_code(connection: sa.Connection, workspace_id: int, short_code: str) -> Link | None:
    return _one(connection, links.c.workspace_id == workspace_id, links.c.short_code == short_code)


def find_deterministic_link(
    connection: sa.Connection, workspace_id: int, canonical_url: str
) -> Link | None:
    return _one(
        connection,
        links.c.workspace_id == workspace_id,
        links.c.canonical_hash == canonical_hash(canonical_url),
    )


def list_links(
    connection: sa.Connection,
    scope: Scope,
    wanted: Filter,
    now: datetime,
    before_id: int | None,
    limit: int,
) -> tuple[list[Link], int]:
    conditions = [*_within(scope), *_wanted(wanted, to_micros(now))]
    total = connection.execute(sa.select(sa.func.count()).select_from(links).where(*conditions))
    page = sa.select(links).where(*conditions).order_by(links.c.id.desc()).limit(limit)
    if before_id is not None:
        page = page.where(links.c.id < before_id)
    return [_link(row) for row in connection.execute(page).mappings()], total.scalar_one()


def update_link(
    connection: sa.Connection, link: Link, changes: Mapping[str, Any], updated_at: datetime
) -> Link | None:
    """The link with its next version, or None if the stored version is another."""
    values = _columns(link, changes)
    values |= {"version": link.version + 1, "updated_at": to_micros(updated_at)}
    statement = (
        sa.update(links)
        .where(links.c.id == link.id, links.c.version == link.version)
        .values(values)
        .returning(*links.c)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        return None
    for code in sorted({link.short_code, row["short_code"]}):
        record_change(
            connection, link.id, link.workspace_id, code, row["version"], row["updated_at"]
        )
    return _link(row)


def spend_click(connection: sa.Connection, link_id: int) -> bool:
    statement = (
        sa.update(links)
        .where(links.c.id == link_id, links.c.clicks_used < links.c.max_clicks)
        .values(clicks_used=links.c.clicks_used + 1)
    )
    return connection.execute(statement).rowcount == 1


class SqlLinkStore:
    """The `LinkStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, link: Link, claim_hash: bytes | None = None) -> int | None:
        return await self._database.write(insert_link, link, claim_hash)

    async def find(self, link_id: int, scope: Scope) -> Link | None:
        return await self._database.read(find_link, link_id, scope)

    async def find_by_code(self, workspace_id: int, short_code: str) -> Link | None:
        return await self._database.read(find_link_by_code, workspace_id, short_code)

    async def find_deterministic(self, workspace_id: int, canonical_url: str) -> Link | None:
        return await self._database.read(find_deterministic_link, workspace_id, canonical_url)

    async def list(
        self, scope: Scope, wanted: Filter, now: datetime, *, before_id: int | None, limit: int
    ) -> tuple[list[Link], int]:
        return await self._database.read(list_links, scope, wanted, now, before_id, limit)

    async def update(
        self, link: Link, changes: Mapping[str, Any], updated_at: datetime
    ) -> Link | None:
        try:
            return await self._database.write(update_link, link, changes, updated_at)
        except sa.exc.IntegrityError:  # the only one an update can meet: the new code is taken
            return None

    async def spend_click(self, link_id: int) -> bool:
        return await self._database.write(spend_click, link_id)


def canonical_hash(canonical_url: str) -> bytes:
    return hashlib.sha256(canonical_url.encode()).digest()


def _one(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Link | None:
    row = connection.execute(sa.select(links).where(*conditions)).mappings().first()
    return None if row is None else _link(row)


def _within(scope: Scope) -> list[sa.ColumnElement[bool]]:
    conditions = []
    if scope.workspace_id is not None:
        conditions.append(links.c.workspace_id == scope.workspace_id)
    if scope.owner_id is not None:
        conditions.append(links.c.owner_id == scope.owner_id)
    return conditions


def _wanted(wanted: Filter, now: int) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if wanted.status is not None:
        conditions.append(_status(now) == wanted.status)
    if wanted.search is not None:
        conditions.append(
            sa.or_(
                *(
                    column.icontains(wanted.search, autoescape=True)
                    for column in (links.c.short_code, links.c.original_url, links.c.title)
                )
            )
        )
    return conditions


def _status(now: int) -> sa.ColumnElement[str]:
    """`lifecycle.status` as SQL."""
    return sa.case(
        (links.c.status.in_([Status.BANNED, Status.DELETED]), links.c.status),
        (links.c.expires_at <= now, Status.EXPIRED),
        (links.c.status == Status.PAUSED, Status.PAUSED),
        (links.c.clicks_used >= links.c.max_clicks, Status.EXHAUSTED),
        else_=Status.ACTIVE,
    )


def _columns(link: Link, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changed fields of `link` as the table keeps them."""
    values = dict(changes)
    for name in _INSTANTS & values.keys():
        values[name] = _to_micros_or_none(values[name])
    if "tags" in values:
        values["tags"] = _to_json(values["tags"])
    original = values.get("original_url", link.original_url)
    if values.get("location") == original:
        values["location"] = None
    if values.get("strategy", link.strategy) is not Strategy.DETERMINISTIC:
        values["canonical_hash"] = None
    return values


def _link(row: sa.RowMapping) -> Link:
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
        starts_at=_from_micros_or_none(row["starts_at"]),
        expires_at=_from_micros_or_none(row["expires_at"]),
        deleted_at=_from_micros_or_none(row["deleted_at"]),
        redirect_status=row["redirect_status"],
        title=row["title"],
        tags=tuple(json.loads(row["tags"])) if row["tags"] else (),
        notes=row["notes"],
        forward_query=row["forward_query"],
        max_clicks=row["max_clicks"],
        clicks_used=row["clicks_used"],
        redirect_count=row["redirect_count"],
        avg_redirect_ms=row["avg_redirect_ms"],
        destination_status=row["destination_status"],
        last_checked_at=_from_micros_or_none(row["last_checked_at"]),
    )


_INSTANTS = frozenset({"starts_at", "expires_at", "deleted_at"})


def _to_micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def _from_micros_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def _to_json(tags: tuple[str, ...]) -> str | None:
    return json.dumps(tags, ensure_ascii=False) if tags else None
