"""Queries about custom domains and their proof."""

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import to_micros, to_micros_or_none
from kurz.paging import WHOLE, Part
from kurz.people.caps import UNCAPPED
from kurz.people.custom_domains import QUARANTINE, Domain
from kurz.people.errors import DomainNotFound
from kurz.people.receipts import Receipt
from kurz.people.workspaces import GRACE
from kurz.storage.engine.changes import record_move
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.pages import part_of
from kurz.storage.engine.rows import find_all, find_one, to_object
from kurz.storage.engine.store import SqlStore, reads, writes
from kurz.storage.links.receipts import save_receipt
from kurz.storage.people.caps import lock_workspace, require_domain
from kurz.storage.schema.people import domains, workspaces


def insert_domain(
    connection: sa.Connection,
    domain: Domain,
    receipt: Receipt | None = None,
    at_most: int = UNCAPPED,
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
    made = to_object(Domain, connection.execute(statement).mappings().one())
    record_move(connection, made.workspace_id)
    save_receipt(connection, receipt, made)
    return made


def find_domain(connection: sa.Connection, workspace_id: int, host: str) -> Domain | None:
    return find_one(connection, sa.select(domains).where(_is(workspace_id, host)), Domain)


def confirm_domain(connection: sa.Connection, seen: Domain, now: datetime) -> Domain | None:
    # If two workspaces verify the same host at once, one waits here, and then sees the other.
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
    confirmed = find_one(connection, statement, Domain)
    if confirmed is None:
        raise DomainNotFound("This domain was removed in the meantime.")
    if not seen.is_active:  # otherwise nothing has changed that other processes need to know
        record_move(connection, seen.workspace_id)
    return confirmed


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
    found = find_one(connection, query, Domain)
    if found is None or found.is_given_up:
        return False
    record_move(connection, workspace_id)
    if found.verified_at is None and found.removed_at is None:
        connection.execute(sa.delete(domains).where(_is(workspace_id, host)))
        return True
    # A domain that was added again but never verified again counts as removed since the first time.
    removed_at = to_micros(found.removed_at or now)
    verified_at = sa.func.coalesce(domains.c.verified_at, removed_at)
    statement = sa.update(domains).where(_is(workspace_id, host))
    connection.execute(statement.values(removed_at=removed_at, verified_at=verified_at))
    return True


def list_domains(connection: sa.Connection, workspace_id: int, part: Part = WHOLE) -> list[Domain]:
    query = (
        sa.select(domains)
        .where(domains.c.workspace_id == workspace_id)
        .where(domains.c.removed_at.is_(None) | domains.c.verified_at.is_(None))
    )
    ordered = part_of(query, part, domains.c.host)
    return find_all(connection, ordered, Domain)


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
    return find_all(connection, query, Domain)


class SqlDomainStore(SqlStore):
    """The `DomainStore` of both engines."""

    insert = writes(insert_domain)
    find = reads(find_domain)
    confirm = writes(confirm_domain)
    doubt = writes(doubt_domain)
    miss = writes(miss_domain)
    remove = writes(remove_domain)
    list = reads(list_domains)
    list_unchecked = reads(list_unchecked_domains, LIST_SECONDS)


def _is(workspace_id: int, host: str) -> sa.ColumnElement[bool]:
    return sa.and_(domains.c.host == host, domains.c.workspace_id == workspace_id)


def _is_still(seen: Domain) -> sa.ColumnElement[bool]:
    """A lookup takes seconds: its answer must not bring back a domain that was removed
    meanwhile."""
    removed_at = to_micros_or_none(seen.removed_at)
    return _is(seen.workspace_id, seen.host) & domains.c.removed_at.is_not_distinct_from(removed_at)


def _is_taken(connection: sa.Connection, domain: Domain, now: datetime) -> bool:
    """Used by another workspace: active there, or removed recently."""
    of_others = sa.and_(
        domains.c.host == domain.host, domains.c.workspace_id != domain.workspace_id
    )
    _release(connection, of_others, now)
    is_active = domains.c.verified_at.is_not(None) & domains.c.removed_at.is_(None)
    is_in_quarantine = domains.c.removed_at > to_micros(now - QUARANTINE)
    query = sa.select(domains.c.host).where(of_others, is_active | is_in_quarantine).limit(1)
    return connection.execute(query).first() is not None


def _forget_given_up(connection: sa.Connection, wanted: Domain) -> None:
    """Deletes the workspace's other domains whose quarantine is over: they no longer count. The
    requested one stays, so that adding it again gives the same domain."""
    is_given_up = domains.c.verified_at.is_not(None) & domains.c.removed_at.is_not(None)
    is_over = domains.c.removed_at <= to_micros(wanted.created_at - QUARANTINE)
    others = (domains.c.workspace_id == wanted.workspace_id) & (domains.c.host != wanted.host)
    connection.execute(sa.delete(domains).where(others, is_given_up, is_over))


def _release(connection: sa.Connection, chosen: sa.ColumnElement[bool], now: datetime) -> None:
    """Deletes the domains of workspaces that cannot be restored any more."""
    can_be_used = workspaces.c.deleted_at.is_(None) | (
        workspaces.c.deleted_at > to_micros(now - GRACE)
    )
    is_used = sa.exists().where(workspaces.c.id == domains.c.workspace_id, can_be_used)
    connection.execute(sa.delete(domains).where(chosen, ~is_used))
