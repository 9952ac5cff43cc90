"""Queries about links, and the store the core works with."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros
from kurz.links.model import (
    OPERATORS_EDIT,
    ROOT_WORKSPACE_ID,
    Act,
    Deed,
    Filter,
    Link,
    LinkType,
    PageEnd,
    Scope,
    Status,
    space_of,
)
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt
from kurz.storage.changes import record_change
from kurz.storage.database import Database, HotStatement
from kurz.storage.history import list_deeds, record_deed
from kurz.storage.link_rows import INSERTED, canonical_hash, changed_columns, to_link, to_row
from kurz.storage.listing import list_links
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.receipts import keep_receipt
from kurz.storage.schema import links
from kurz.storage.tags import add_tags, follow_tags
from kurz.storage.usage import spend

if TYPE_CHECKING:  # its driver is not needed on SQLite
    from kurz.storage.replicas import Replicas

# PostgreSQL's insert: SQLite's dialect compiles it to the same ON CONFLICT DO NOTHING.
_INSERT = HotStatement(insert(links).on_conflict_do_nothing().returning(links.c.id), INSERTED)


def insert_link(
    connection: sa.Connection,
    link: Link,
    claim_hash: bytes | None = None,
    allowances: tuple[Allowance, ...] = (),
    receipt: Receipt | None = None,
) -> int | None:
    link_id: int | None = _INSERT.scalar(connection, to_row(link, claim_hash))
    if link_id is None:
        return None
    created_at = to_micros(link.created_at)
    record_change(connection, link_id, link.workspace_id, link.short_code, link.version, created_at)
    if link.tags:
        add_tags(connection, link, link_id)
    if allowances:
        spend(connection, allowances, to_micros(link.updated_at))
    keep_receipt(connection, receipt, link_id)
    return link_id


def find_link(connection: sa.Connection, link_id: int, scope: Scope) -> Link | None:
    return _one(connection, links.c.id == link_id, *_within(scope))


def find_link_by_code(connection: sa.Connection, workspace_id: int, short_code: str) -> Link | None:
    return _one(connection, links.c.workspace_id == workspace_id, links.c.short_code == short_code)


def claim_link(
    connection: sa.Connection,
    short_code: str,
    claim_hash: bytes,
    account_id: int,
    now: datetime,
    allowances: tuple[Allowance, ...],
) -> Link | None:
    """One guarded statement decides. Its owner finds it again by `find_claimed_link`."""
    statement = (
        sa.update(links)
        .where(
            links.c.workspace_id == ROOT_WORKSPACE_ID,
            links.c.short_code == short_code,
            links.c.claim_hash == claim_hash,
            links.c.owner_id.is_(None),
            links.c.status == Status.ACTIVE,
            links.c.expires_at > to_micros(now),
        )
        .values(
            owner_id=account_id,
            space=space_of(ROOT_WORKSPACE_ID, account_id),
            link_type=LinkType.PERMANENT,
            expires_at=None,
            version=links.c.version + 1,
            updated_at=to_micros(now),
        )
        .returning(*links.c)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        return None
    link = to_link(row)
    record_change(
        connection, link.id, link.workspace_id, short_code, link.version, row["updated_at"]
    )
    record_deed(connection, None, link, Act("claim", account_id))
    spend(connection, allowances, row["updated_at"])
    return link


def find_claimed_link(connection: sa.Connection, account_id: int, claim_hash: bytes) -> Link | None:
    space = space_of(ROOT_WORKSPACE_ID, account_id)
    return _one(connection, links.c.space == space, links.c.claim_hash == claim_hash)


def find_deterministic_link(
    connection: sa.Connection, workspace_id: int, canonical_url: str
) -> Link | None:
    return _one(
        connection,
        links.c.workspace_id == workspace_id,
        links.c.canonical_hash == canonical_hash(canonical_url),
    )


def update_link(
    connection: sa.Connection,
    link: Link,
    changes: Mapping[str, Any],
    updated_at: datetime,
    act: Act,
    receipt: Receipt | None = None,
) -> Link | None:
    """The link with its next version, or None if the stored version is another."""
    values = changed_columns(link, changes)
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
    edited = to_link(row)
    record_deed(connection, link, edited, act)
    follow_tags(connection, link, edited)
    keep_receipt(connection, receipt, edited)
    return edited


def spend_click(connection: sa.Connection, link_id: int) -> bool:
    statement = (
        sa.update(links)
        .where(links.c.id == link_id, links.c.clicks_used < links.c.max_clicks)
        .values(clicks_used=links.c.clicks_used + 1)
    )
    return connection.execute(statement).rowcount == 1


class SqlLinkStore:
    """The `LinkStore` of both engines. Lists are read on replicas, where those are whole."""

    def __init__(self, database: Database, replicas: "Replicas | None" = None) -> None:
        self._database = database
        self._replicas = replicas

    async def insert(
        self,
        link: Link,
        claim_hash: bytes | None = None,
        *,
        allowances: tuple[Allowance, ...] = (),
        receipt: Receipt | None = None,
    ) -> int | None:
        return await self._database.write(insert_link, link, claim_hash, allowances, receipt)

    async def find(self, link_id: int, scope: Scope) -> Link | None:
        return await self._database.read(find_link, link_id, scope)

    async def find_by_code(self, workspace_id: int, short_code: str) -> Link | None:
        return await self._database.read(find_link_by_code, workspace_id, short_code)

    async def find_deterministic(self, workspace_id: int, canonical_url: str) -> Link | None:
        return await self._database.read(find_deterministic_link, workspace_id, canonical_url)

    async def list(
        self,
        scope: Scope,
        wanted: Filter,
        now: datetime,
        *,
        after: PageEnd | None = None,
        limit: int,
    ) -> tuple[list[Link], int]:
        if self._replicas is not None and scope.workspace_id is not None:
            found = await self._replicas.read(
                scope.workspace_id, list_links, scope, wanted, now, after, limit
            )
            if found is not None:
                return found
        with patience(LIST_SECONDS):
            return await self._database.read(list_links, scope, wanted, now, after, limit)

    async def update(
        self,
        link: Link,
        changes: Mapping[str, Any],
        updated_at: datetime,
        act: Act = OPERATORS_EDIT,
        *,
        receipt: Receipt | None = None,
    ) -> Link | None:
        try:
            return await self._database.write(update_link, link, changes, updated_at, act, receipt)
        except sa.exc.IntegrityError:  # the only one an update can meet: the new code is taken
            return None

    async def history(self, link_id: int) -> Sequence[Deed]:
        return await self._database.read(list_deeds, link_id)

    async def claim(
        self,
        short_code: str,
        claim_hash: bytes,
        account_id: int,
        now: datetime,
        allowances: tuple[Allowance, ...] = (),
    ) -> Link | None:
        return await self._database.write(
            claim_link, short_code, claim_hash, account_id, now, allowances
        )

    async def find_claimed(self, account_id: int, claim_hash: bytes) -> Link | None:
        return await self._database.read(find_claimed_link, account_id, claim_hash)

    async def spend_click(self, link_id: int) -> bool:
        return await self._database.write(spend_click, link_id)


def _one(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Link | None:
    row = connection.execute(sa.select(links).where(*conditions)).mappings().first()
    return None if row is None else to_link(row)


def _within(scope: Scope) -> list[sa.ColumnElement[bool]]:
    conditions = []
    if scope.workspace_id is not None:
        conditions.append(links.c.workspace_id == scope.workspace_id)
    if scope.owner_id is not None:
        conditions.append(links.c.owner_id == scope.owner_id)
    return conditions
