"""Queries about custom domains and their proof."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import from_micros, from_micros_or_none, to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.caps import UNCAPPED
from kurz.people.custom_domains import QUARANTINE, Domain
from kurz.people.errors import DomainNotFound
from kurz.people.receipts import Receipt
from kurz.people.workspaces import GRACE
from kurz.storage.caps import lock_workspace, require_domain
from kurz.storage.changes import record_move
from kurz.storage.database import Database
from kurz.storage.pages import part_of
from kurz.storage.patience import LIST_SECONDS, patience
from kurz.storage.receipts import keep_receipt
from kurz.storage.schema import domains, workspaces


def insert_domain(
    connection: sa.Connection, domain: Domain, receipt: Receipt | None, at_most: int
) -> Domain | None:
    lock_workspace(connection, domain.workspace_id)
    if _is_taken(connection, domain, domain.created_at):
        return None
    _forget_given_up(connection, domain)
    if find_domain(connection, domain.workspace_id, domain.host) is None:
        require_domain(connection, domain.workspace_id, at_most)
    waits_again = sa.case((domains.c.removed_at.is_(None), domains.c.verified_at), else_=sa.null())
    statement = (
        insert(domains)
        .values(
            host=domain.host,
            workspace_id=domain.workspace_id,
            created_at=to_micros(domain.created_at),
        )
        .on_conflict_do_update(
            index_elements=[domains.c.host, domains.c.workspace_id],
            set_={"verified_at": waits_again},
        )
        .returning(*domains.c)
    )
    made = _domain(connection.execute(statement).mappings().one())
    record_move(connection, made.workspace_id)
    keep_receipt(connection, receipt, made)
    return made


def find_domain(connection: sa.Connection, workspace_id: int, host: str) -> Domain | None:
    row = connection.execute(sa.select(domains).where(_is(workspace_id, host))).mappings().first()
    return None if row is None else _domain(row)


def confirm_domain(connection: sa.Connection, seen: Domain, now: datetime) -> Domain | None:
    # Of two workspaces that prove the same host at once, one waits here, and sees the other.
    rows = sa.select(domains.c.workspace_id).where(domains.c.host == seen.host)
    connection.execute(rows.order_by(domains.c.workspace_id).with_for_update())
    if _is_taken(connection, seen, now):
        return None
    verified_at = seen.verified_at if seen.is_active else now
    statement = (
        sa.update(domains)
        .where(_is_still(seen))
        .values(
            checked_at=to_micros(now),
            verified_at=to_micros_or_none(verified_at),
            removed_at=None,
            missing_since=None,
        )
        .returning(*domains.c)
    )
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise DomainNotFound("This domain was removed in the meantime.")
    if not seen.is_active:  # else nothing has changed that others would have to know
        record_move(connection, seen.workspace_id)
    return _domain(row)


def doubt_domain(connection: sa.Connection, seen: Domain, now: datetime) -> None:
    at = to_micros(now)
    statement = sa.update(domains).where(_is_still(seen)).values(checked_at=at)
    if not seen.is_given_up:
        statement = statement.values(verified_at=None)
    if seen.is_active:
        since = sa.func.coalesce(domains.c.missing_since, at)
        statement = statement.values(missing_since=since)
    connection.execute(statement)
    record_move(connection, seen.workspace_id)


def miss_domain(connection: sa.Connection, seen: Domain, now: datetime, *, is_lost: bool) -> bool:
    at, checked_at = to_micros(now), to_micros_or_none(seen.checked_at)
    since = sa.func.coalesce(domains.c.missing_since, at)
    statement = (
        sa.update(domains)
        .where(_is_still(seen), domains.c.checked_at.is_not_distinct_from(checked_at))
        .values(checked_at=at, missing_since=since)
    )
    if is_lost:
        statement = statement.values(verified_at=None)
    is_noted = connection.execute(statement).rowcount == 1
    if is_noted and is_lost and seen.is_active:
        record_move(connection, seen.workspace_id)
    return is_noted


def remove_domain(connection: sa.Connection, workspace_id: int, host: str, now: datetime) -> bool:
    query = sa.select(domains).where(_is(workspace_id, host)).with_for_update()
    row = connection.execute(query).mappings().first()
    found = None if row is None else _domain(row)
    if found is None or found.is_given_up:
        return False
    record_move(connection, workspace_id)
    if found.verified_at is None and found.removed_at is None:
        connection.execute(sa.delete(domains).where(_is(workspace_id, host)))
        return True
    # One that was wanted back and never proved again is given up since the first time.
    removed_at = to_micros(found.removed_at or now)
    verified_at = sa.func.coalesce(domains.c.verified_at, removed_at)
    statement = sa.update(domains).where(_is(workspace_id, host))
    connection.execute(statement.values(removed_at=removed_at, verified_at=verified_at))
    return True


def list_domains(connection: sa.Connection, workspace_id: int, part: Part) -> list[Domain]:
    query = (
        sa.select(domains)
        .where(domains.c.workspace_id == workspace_id)
        .where(domains.c.removed_at.is_(None) | domains.c.verified_at.is_(None))
    )
    ordered = part_of(query, part, domains.c.host)
    return [_domain(row) for row in connection.execute(ordered).mappings()]


def list_unchecked_domains(
    connection: sa.Connection, since: datetime, lost_since: datetime
) -> list[Domain]:
    seen_at = sa.func.coalesce(domains.c.checked_at, domains.c.verified_at)
    is_sought = domains.c.missing_since >= to_micros(lost_since)
    query = (
        sa.select(domains)
        .join(workspaces, workspaces.c.id == domains.c.workspace_id)
        .where(domains.c.removed_at.is_(None), domains.c.verified_at.is_not(None) | is_sought)
        .where(workspaces.c.deleted_at.is_(None), seen_at < to_micros(since))
        .order_by(seen_at, domains.c.host)
    )
    return [_domain(row) for row in connection.execute(query).mappings()]


class SqlDomainStore:
    """The `DomainStore` of both engines."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(
        self, domain: Domain, receipt: Receipt | None = None, *, at_most: int = UNCAPPED
    ) -> Domain | None:
        return await self._database.write(insert_domain, domain, receipt, at_most)

    async def find(self, workspace_id: int, host: str) -> Domain | None:
        return await self._database.read(find_domain, workspace_id, host)

    async def confirm(self, seen: Domain, now: datetime) -> Domain | None:
        return await self._database.write(confirm_domain, seen, now)

    async def doubt(self, seen: Domain, now: datetime) -> None:
        await self._database.write(doubt_domain, seen, now)

    async def miss(self, seen: Domain, now: datetime, *, is_lost: bool) -> bool:
        return await self._database.write(miss_domain, seen, now, is_lost=is_lost)

    async def remove(self, workspace_id: int, host: str, now: datetime) -> bool:
        return await self._database.write(remove_domain, workspace_id, host, now)

    async def list(self, workspace_id: int, part: Part = WHOLE) -> list[Domain]:
        return await self._database.read(list_domains, workspace_id, part)

    async def list_unchecked(self, since: datetime, lost_since: datetime) -> Sequence[Domain]:
        with patience(LIST_SECONDS):
            return await self._database.read(list_unchecked_domains, since, lost_since)


def _is(workspace_id: int, host: str) -> sa.ColumnElement[bool]:
    return sa.and_(domains.c.host == host, domains.c.workspace_id == workspace_id)


def _is_still(seen: Domain) -> sa.ColumnElement[bool]:
    """A look-up takes seconds: what was removed meanwhile does not come back by its answer."""
    removed_at = to_micros_or_none(seen.removed_at)
    return _is(seen.workspace_id, seen.host) & domains.c.removed_at.is_not_distinct_from(removed_at)


def _is_taken(connection: sa.Connection, domain: Domain, now: datetime) -> bool:
    """By another workspace: active there, or given up lately."""
    of_others = sa.and_(
        domains.c.host == domain.host, domains.c.workspace_id != domain.workspace_id
    )
    _release(connection, of_others, now)
    is_active = domains.c.verified_at.is_not(None) & domains.c.removed_at.is_(None)
    is_in_quarantine = domains.c.removed_at > to_micros(now - QUARANTINE)
    query = sa.select(domains.c.host).where(of_others, is_active | is_in_quarantine).limit(1)
    return connection.execute(query).first() is not None


def _forget_given_up(connection: sa.Connection, wanted: Domain) -> None:
    """The other domains of the workspace whose quarantine is over: they no longer count. The wanted
    one stays, so that adding it again gives the same domain."""
    is_given_up = domains.c.verified_at.is_not(None) & domains.c.removed_at.is_not(None)
    is_over = domains.c.removed_at <= to_micros(wanted.created_at - QUARANTINE)
    others = (domains.c.workspace_id == wanted.workspace_id) & (domains.c.host != wanted.host)
    connection.execute(sa.delete(domains).where(others, is_given_up, is_over))


def _release(connection: sa.Connection, chosen: sa.ColumnElement[bool], now: datetime) -> None:
    """Forgets the chosen domains of workspaces that cannot be restored any more."""
    can_be_used = workspaces.c.deleted_at.is_(None) | (
        workspaces.c.deleted_at > to_micros(now - GRACE)
    )
    keeper = sa.exists().where(workspaces.c.id == domains.c.workspace_id, can_be_used)
    connection.execute(sa.delete(domains).where(chosen, ~keeper))


def _domain(row: sa.RowMapping) -> Domain:
    return Domain(
        host=row["host"],
        workspace_id=row["workspace_id"],
        created_at=from_micros(row["created_at"]),
        checked_at=from_micros_or_none(row["checked_at"]),
        verified_at=from_micros_or_none(row["verified_at"]),
        removed_at=from_micros_or_none(row["removed_at"]),
        missing_since=from_micros_or_none(row["missing_since"]),
    )
