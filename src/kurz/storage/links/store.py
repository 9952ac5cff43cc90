"""Queries about links, and the `LinkStore` of the core."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import SystemClock, to_micros, to_micros_or_none
from kurz.links.model import (
    OPERATORS_EDIT,
    ROOT_WORKSPACE_ID,
    Filter,
    FoundLinks,
    Link,
    LinkAction,
    LinkType,
    PageEnd,
    Scope,
    Status,
    Strategy,
    space_of,
)
from kurz.people.errors import QuotaExceeded
from kurz.people.quotas import Allowance
from kurz.people.receipts import Receipt
from kurz.storage.engine.changes import record_change
from kurz.storage.engine.database import Database, HotStatement
from kurz.storage.engine.deadlines import LIST_SECONDS, deadline
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.checksums import changed_checksum, with_checksums
from kurz.storage.links.ended_accounts import as_ended
from kurz.storage.links.history import add_history_entry, list_history
from kurz.storage.links.inserting import HeldUp, insert_links, insert_many
from kurz.storage.links.listing import list_links
from kurz.storage.links.quarantine import (
    CodeReserved,
    holder_of,
    is_reserved,
    is_reserved_for_others,
    record_new,
)
from kurz.storage.links.quota_turns import QuotaTurns
from kurz.storage.links.quota_usage import spend
from kurz.storage.links.receipts import save_receipt
from kurz.storage.links.tags import add_tags, follow_tags
from kurz.storage.schema.link_rows import (
    STORED,
    canonical_hash,
    changed_columns,
    select_links,
    to_link,
    to_row,
)
from kurz.storage.schema.links import links

if TYPE_CHECKING:  # its driver is not needed on SQLite
    from kurz.storage.routes.replicas import Replicas

# PostgreSQL's insert: SQLite's dialect compiles it to the same ON CONFLICT DO NOTHING.
_INSERT = HotStatement(insert(links).on_conflict_do_nothing().returning(links.c.id), STORED)

_IS_LAST = links.c.clicks_used + 1 >= links.c.max_clicks
_SPEND = (
    sa.update(links)
    .where(links.c.id == sa.bindparam("link_id"), links.c.clicks_used < links.c.max_clicks)
    .values(
        clicks_used=links.c.clicks_used + 1,
        version=links.c.version + sa.case((_IS_LAST, 1), else_=0),
    )
    .returning(
        links.c.workspace_id,
        links.c.short_code,
        links.c.version,
        links.c.clicks_used >= links.c.max_clicks,
    )
)


def insert_link(
    connection: sa.Connection,
    link: Link,
    claim_hash: bytes | None = None,
    allowances: tuple[Allowance, ...] = (),
    receipt: Receipt | None = None,
) -> int | None:
    [row] = with_checksums(connection, [to_row(link, claim_hash)])
    link_id: int | None = _INSERT.scalar(connection, row)
    if link_id is None:
        return None
    if not record_new(connection, link, link_id):
        connection.execute(sa.delete(links).where(links.c.id == link_id))
        return None
    if link.tags:
        add_tags(connection, link, link_id)
    if allowances:
        spend(connection, allowances, to_micros(link.updated_at))
    save_receipt(connection, receipt, link_id)
    return link_id


def find_link(connection: sa.Connection, link_id: int, scope: Scope) -> Link | None:
    link = _one(connection, links.c.id == link_id, *within(scope))
    if link is None or scope.owner_id is not None:  # the caller has an account
        return link
    return as_ended(connection, link)


def find_link_by_code(connection: sa.Connection, workspace_id: int, short_code: str) -> Link | None:
    is_it = links.c.workspace_id == workspace_id, links.c.short_code == short_code
    link = _one(connection, *is_it)
    return None if link is None else as_ended(connection, link)


def claim_link(
    connection: sa.Connection,
    short_code: str,
    claim_hash: bytes,
    account_id: int,
    now: datetime,
    allowances: tuple[Allowance, ...],
    admit: Callable[[str], bool],
) -> Link | None:
    """One guarded statement decides. `find_claimed_link` finds it again for its owner."""
    statement = (
        sa.update(links)
        .where(
            links.c.workspace_id == ROOT_WORKSPACE_ID,
            links.c.short_code == short_code,
            links.c.claim_hash == claim_hash,
            links.c.owner_id.is_(None),
            # A link that was marked as expired while a clock was ahead is still active.
            links.c.status.in_((Status.ACTIVE, Status.EXPIRED)),
            links.c.expires_at > to_micros(now),
        )
        .values(
            owner_id=account_id,
            space=space_of(ROOT_WORKSPACE_ID, account_id),
            status=Status.ACTIVE,
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
    link = _counted(connection, to_link(row))
    _hold(connection, link, now if not admit(link.location) else None)
    record_change(
        connection, link.id, link.workspace_id, short_code, link.version, row["updated_at"]
    )
    add_history_entry(connection, None, link, LinkAction("claim", account_id))
    spend(connection, allowances, row["updated_at"])
    return link


def _hold(connection: sa.Connection, link: Link, since: datetime | None) -> None:
    """From now on visitors are warned about the link, or no longer."""
    if (since is None) == (link.held_at is None):
        return
    link.held_at = since
    values = {"held_at": to_micros_or_none(since)}
    connection.execute(sa.update(links).where(links.c.id == link.id).values(values))


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
    action: LinkAction,
    receipt: Receipt | None = None,
) -> Link | None:
    """The link with its next version, or None if the stored version differs."""
    values = changed_columns(link, changes)
    values |= changed_checksum(connection, link, values)
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
    codes = {link.short_code, row["short_code"]}
    if len(codes) > 1 and is_reserved(connection, link, row["short_code"], row["updated_at"]):
        raise CodeReserved
    for code in sorted(codes):
        record_change(
            connection, link.id, link.workspace_id, code, row["version"], row["updated_at"]
        )
    edited = to_link(row)
    edited.redirect_count, edited.avg_redirect_ms = link.redirect_count, link.avg_redirect_ms
    add_history_entry(connection, link, edited, action)
    follow_tags(connection, link, edited)
    save_receipt(connection, receipt, edited)
    return edited


def is_code_free(connection: sa.Connection, link: Link, short_code: str, now: datetime) -> bool:
    holder = find_link_by_code(connection, link.workspace_id, short_code)
    if holder is not None:
        return holder.id == link.id
    return not is_reserved(connection, link, short_code, to_micros(now))


def spend_click(connection: sa.Connection, link_id: int) -> bool:
    """One guarded statement decides. Only the last click is a change that other processes need."""
    row = connection.execute(_SPEND, {"link_id": link_id}).first()
    if row is None:
        return False
    workspace_id, short_code, version, is_last = row
    if is_last:
        now = SystemClock().micros()
        record_change(connection, link_id, workspace_id, short_code, version, now)
    return True


def within(scope: Scope) -> list[sa.ColumnElement[bool]]:
    conditions = []
    if scope.workspace_id is not None:
        conditions.append(links.c.workspace_id == scope.workspace_id)
    if scope.owner_id is not None:
        conditions.append(links.c.owner_id == scope.owner_id)
    return conditions


class SqlLinkStore(SqlStore):
    """The `LinkStore` of both engines. Lists are read from replicas that are up to date. `turns` is
    for engines on which the rows of quotas are locked."""

    def __init__(
        self,
        database: Database,
        replicas: "Replicas | None" = None,
        turns: QuotaTurns | None = None,
    ) -> None:
        super().__init__(database)
        self._replicas = replicas
        self._turns = turns

    async def insert(
        self,
        link: Link,
        claim_hash: bytes | None = None,
        *,
        allowances: tuple[Allowance, ...] = (),
        receipt: Receipt | None = None,
    ) -> int | None:
        # A code that somebody chose may be one that another transaction holds. Who waits for that
        # one must not make others wait, or hold codes that the other waits for.
        is_generated = link.strategy in (Strategy.RANDOM, Strategy.COUNTER)
        if is_generated and not (allowances or receipt or link.tags):
            return await self._database.write_together(insert_links, to_row(link, claim_hash))
        async with self._turn(allowances):
            return await self._database.write(insert_link, link, claim_hash, allowances, receipt)

    async def insert_many(
        self, links: Sequence[Link], allowances: tuple[Allowance, ...]
    ) -> list[int | None]:
        rows, now = [to_row(link) for link in links], to_micros(links[0].updated_at)
        try:
            with deadline(LIST_SECONDS):
                async with self._turn(allowances):
                    return await self._database.write(insert_many, rows, allowances, now)
        except (QuotaExceeded, HeldUp):
            return [None] * len(links)

    def _turn(self, allowances: tuple[Allowance, ...]) -> AbstractAsyncContextManager[None]:
        if self._turns is None or not allowances:
            return nullcontext()
        return self._turns.take(allowances)

    find = reads(find_link)
    find_by_code = reads(find_link_by_code)
    is_free = reads(is_code_free)

    async def is_reserved(
        self, workspace_id: int, short_code: str, owner_id: int | None, now: datetime
    ) -> bool:
        holder = holder_of(owner_id, LinkType.PERMANENT)
        at = to_micros(now)
        return await self._database.read(
            is_reserved_for_others, workspace_id, holder, short_code, at
        )

    find_deterministic = reads(find_deterministic_link)

    async def list(
        self,
        scope: Scope,
        wanted: Filter,
        now: datetime,
        *,
        after: PageEnd | None = None,
        limit: int,
    ) -> FoundLinks:
        if self._replicas is not None and scope.workspace_id is not None:
            found = await self._replicas.read(
                scope.workspace_id, list_links, scope, wanted, now, after, limit
            )
            if found is not None:
                return found
        with deadline(LIST_SECONDS):
            return await self._database.read(list_links, scope, wanted, now, after, limit)

    async def update(
        self,
        link: Link,
        changes: Mapping[str, Any],
        updated_at: datetime,
        action: LinkAction = OPERATORS_EDIT,
        *,
        receipt: Receipt | None = None,
    ) -> Link | None:
        try:
            return await self._database.write(
                update_link, link, changes, updated_at, action, receipt
            )
        # The only constraint that an update can violate: the new code is taken.
        except (sa.exc.IntegrityError, CodeReserved):
            return None

    history = reads(list_history)

    async def claim(
        self,
        short_code: str,
        claim_hash: bytes,
        account_id: int,
        now: datetime,
        allowances: tuple[Allowance, ...] = (),
        *,
        admit: Callable[[str], bool],
    ) -> Link | None:
        async with self._turn(allowances):
            return await self._database.write(
                claim_link, short_code, claim_hash, account_id, now, allowances, admit
            )

    find_claimed = reads(find_claimed_link)
    spend_click = writes(spend_click)


def _counted(connection: sa.Connection, link: Link) -> Link:
    """The link that an update returned, with its current clicks."""
    now = _one(connection, links.c.id == link.id)
    return link if now is None else now


def _one(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> Link | None:
    row = connection.execute(select_links().where(*conditions)).mappings().first()
    return None if row is None else to_link(row)
