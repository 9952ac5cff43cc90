"""Deletes links with everything that is only about them. What was counted for the workspace, the
tags and the installation stays."""

from collections.abc import Awaitable, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from kurz.clicks.batch import SubjectKind
from kurz.clock import MICROSECOND, to_micros
from kurz.links.ending.retention import EndedKind
from kurz.links.model import Scope, Status, space_of
from kurz.storage.clicks.store import lock_counting
from kurz.storage.ending.conditions import Condition, Order, are_ended, still
from kurz.storage.engine.batches import among, at_once, in_batches
from kurz.storage.engine.changes import record_changes
from kurz.storage.engine.database import Database
from kurz.storage.engine.store import SqlStore
from kurz.storage.links.quarantine import quarantine
from kurz.storage.links.store import within
from kurz.storage.schema.clicks import click_days, click_months, click_totals
from kurz.storage.schema.links import history, link_tags, links

COUNTED = click_days, click_months, click_totals  # counts of links and other subjects
# Rows of clicks that are deleted in one transaction: a link has one row a day, however old it is.
# On SQLite, other writers wait for it.
MOST_DAYS = {"sqlite": 1000, "postgresql": 10_000}
FIRST_LOOK = 10  # links whose days are counted; then twice as many, and so on

# The text of an index: an engine does not use a partial index for parameters.
_IN_TRASH = sa.text("space <> 0 AND status = 'DELETED'")


def lock_next(
    connection: sa.Connection,
    condition: Condition,
    order: Order,
    limit: int,
) -> Sequence[int]:
    """Locks the first links that match a condition, until the transaction ends. Links that another
    transaction is writing are left out."""
    query = sa.select(links.c.id).where(condition).order_by(*order).limit(limit)
    return connection.execute(query.with_for_update(skip_locked=True)).scalars().all()


def purge_next(
    connection: sa.Connection,
    condition: Condition,
    order: Order,
    limit: int,
    now: int,
    kept_until: int,
) -> int:
    """Purges the first links that match a condition, as many as one transaction may; returns how
    many. 0 only if none is left, except links that another transaction is writing."""
    ids = lock_next(connection, condition, order, at_once(connection, limit))
    ids = few_enough(connection, ids, MOST_DAYS[connection.dialect.name])
    return purge_links(connection, ids, condition, now, kept_until)


def few_enough(connection: sa.Connection, link_ids: Sequence[int], most: int) -> Sequence[int]:
    """The first of the links, up to this many days of clicks in total; at least one. It counts few
    more than it chooses."""
    room, chosen, step = most, 0, FIRST_LOOK
    while chosen < len(link_ids):
        some = link_ids[chosen : chosen + step]
        query = (
            sa.select(click_days.c.subject, sa.func.count().label("days"))
            .where(click_days.c.kind == SubjectKind.LINK.value)
            .where(among(connection, click_days.c.subject, some))
            .group_by(click_days.c.subject)
        )
        days = {row.subject: row.days for row in connection.execute(query)}
        for link_id in some:
            room -= days.get(link_id, 0)
            if chosen and room < 0:
                return link_ids[:chosen]
            chosen += 1
        step *= 2
    return link_ids


def purge_links(
    connection: sa.Connection,
    link_ids: Sequence[int],
    condition: Condition,
    now: int,
    kept_until: int,
) -> int:
    """Purges those of the links that match the condition; returns how many. Their codes are
    reserved until `kept_until`."""
    if not link_ids:
        return 0
    statement = (
        sa.delete(links)
        .where(among(connection, links.c.id, link_ids), still(condition))
        .returning(
            links.c.id,
            links.c.workspace_id,
            links.c.short_code,
            links.c.version + 1,
            links.c.owner_id,
            links.c.link_type,
        )
    )
    gone = connection.execute(statement).all()
    if not gone:
        return 0
    record_changes(connection, (row[:4] for row in gone), now)
    quarantine(connection, gone, kept_until)
    ids = [row.id for row in gone]
    for table in link_tags, history:
        connection.execute(sa.delete(table).where(among(connection, table.c.link_id, ids)))
    forget_clicks(connection, ids)
    return len(gone)


def forget_clicks(connection: sa.Connection, link_ids: Sequence[int]) -> None:
    """Deletes the counts of these links. To be called last: loaders wait for it."""
    lock_counting(connection)
    for table in COUNTED:
        is_gone = among(connection, table.c.subject, link_ids)
        connection.execute(sa.delete(table).where(table.c.kind == SubjectKind.LINK.value, is_gone))


def purge_one(
    connection: sa.Connection, scope: Scope, link_id: int, version: int, now: int, kept_until: int
) -> bool:
    condition = sa.and_(
        links.c.status == Status.DELETED, links.c.version == version, *within(scope)
    )
    return purge_links(connection, [link_id], condition, now, kept_until) == 1


def empty_some(
    connection: sa.Connection, scope: Scope, now: int, kept_until: int, limit: int
) -> int:
    if scope.workspace_id is None:
        return _empty_everywhere(connection, scope, now, kept_until, limit)
    space = space_of(scope.workspace_id, scope.owner_id)
    condition = sa.and_(_IN_TRASH, links.c.space == space, *within(scope))
    order = links.c.updated_at, links.c.id
    return purge_next(connection, condition, order, limit, now, kept_until)


def _empty_everywhere(
    connection: sa.Connection, scope: Scope, now: int, kept_until: int, limit: int
) -> int:
    """For the operator. Each way into the trash has its own index."""
    for ended in EndedKind.SWEPT, EndedKind.DELETED:
        condition, order = are_ended(ended, now)
        condition = sa.and_(condition, *within(scope))
        if purged := purge_next(connection, condition, order, limit, now, kept_until):
            return purged
    return 0


class PurgingStore(SqlStore):
    """The code of a purged link is reserved for its owner for the time `kept`."""

    def __init__(self, database: Database, kept: timedelta) -> None:
        super().__init__(database)
        self._kept_micros = kept // MICROSECOND


class SqlTrashStore(PurgingStore):
    """The `TrashStore` of both engines."""

    async def purge(self, scope: Scope, link_id: int, version: int, now: datetime) -> bool:
        at = to_micros(now)
        return await self._database.write(
            purge_one, scope, link_id, version, at, at + self._kept_micros
        )

    async def empty(self, scope: Scope, now: datetime, limit: int) -> int:
        at = to_micros(now)

        def empty(limit: int) -> Awaitable[int]:
            return self._database.write(empty_some, scope, at, at + self._kept_micros, limit)

        return await in_batches(empty, limit)
