"""What reports read: days, totals, and the clicks themselves. Nothing here reads all links, or all
clicks at once."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import Event, Subject, SubjectKind
from kurz.clicks.moments import Moments
from kurz.clicks.months import Month, month_of, months_of
from kurz.clicks.series import Day
from kurz.clicks.stats import About
from kurz.links.model import Link
from kurz.storage.clicks.event_reader import KEYS_AT_ONCE, ROWS_AT_ONCE, read_events
from kurz.storage.clicks.events import COLUMNS
from kurz.storage.engine.batches import among
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS
from kurz.storage.engine.store import SqlStore, reads
from kurz.storage.schema.clicks import click_days, click_events, click_months, click_totals
from kurz.storage.schema.link_rows import select_links, to_link
from kurz.storage.schema.links import link_tags, links

LOOKED_AT = 2_000  # clicks, for the newest of a subject

_EVENT = [click_events.c[name] for name in COLUMNS]


def find_days(
    connection: sa.Connection, subject: Subject, days: range, *, with_counts: bool = True
) -> list[Day]:
    of = click_days.c
    counts = of.counts if with_counts else sa.literal(b"", sa.LargeBinary)
    rows = sa.select(of.day, of.clicks, of.people, of.visitors, counts, of.month)
    rows = rows.where(of.kind == int(subject.kind), of.subject == subject.id)
    inside = rows.where(of.day >= days.start, of.day < days.stop)
    first = month_of(days.start).start
    if first == days.start:
        return [Day(*row) for row in connection.execute(inside.order_by(of.day))]
    # One statement: it sees a month as days, or as folded, but never both.
    folded = rows.where(of.day == first, of.month.is_not(None))
    return [Day(*row) for row in connection.execute(folded.union_all(inside).order_by("day"))]


def find_months(connection: sa.Connection, subject: Subject, days: range) -> list[Month]:
    whole = months_of(days)
    if not whole:
        return []
    of = click_months.c
    query = (
        sa.select(of.first_day, of.clicks, of.counts, of.hours)
        .where(of.kind == int(subject.kind), of.subject == subject.id)
        .where(of.first_day >= whole[0].start, of.first_day <= whole[-1].start)
        .order_by(of.first_day)
    )
    return [Month(*row) for row in connection.execute(query)]


def find_totals(connection: sa.Connection, subject: Subject) -> tuple[int, Moments]:
    of = click_totals.c
    query = sa.select(of.clicks, of.timed, of.mean_ms, of.m2)
    query = query.where(of.kind == int(subject.kind), of.subject == subject.id)
    row = connection.execute(query).one_or_none()
    return (0, Moments()) if row is None else (row[0], Moments(*row[1:]))


def find_links(
    connection: sa.Connection, link_ids: Collection[int], space: int | None
) -> dict[int, Link]:
    query = select_links().where(links.c.id.in_(link_ids))
    if space is not None:
        query = query.where(links.c.space == space)
    return {row["id"]: to_link(row) for row in connection.execute(query).mappings()}


def find_codes(
    connection: sa.Connection, link_ids: Collection[int], space: int | None
) -> dict[int, str]:
    query = sa.select(links.c.id, links.c.short_code)
    query = query.where(among(connection, links.c.id, [*link_ids]))
    if space is not None:
        query = query.where(links.c.space == space)
    return {row[0]: row[1] for row in connection.execute(query)}


def has_tag(connection: sa.Connection, space: int, tag: str) -> bool:
    found = sa.select(link_tags.c.link_id).where(link_tags.c.space == space, link_tags.c.tag == tag)
    return connection.execute(found.limit(1)).first() is not None


def find_newest(connection: sa.Connection, about: About, today: int, limit: int) -> list[Event]:
    """Clicks of yesterday may be loaded today."""
    last = (
        sa.select(click_events)
        .where(click_events.c.day >= today - 1)
        .order_by(click_events.c.day.desc(), click_events.c.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    columns = [last.c[column.name] for column in _EVENT]
    query = sa.select(*columns).where(*_conditions(about, last.c))
    query = query.order_by(last.c.day.desc(), last.c.id.desc()).limit(limit)
    return [Event(*row) for row in connection.execute(query)]


def _conditions(about: About, of: Any) -> list[sa.ColumnElement[bool]]:
    kind, number = about.subject
    if kind is SubjectKind.LINK:
        return [of.link_id == number]
    if kind is SubjectKind.SPACE:
        return [of.space == number]
    if kind is SubjectKind.TAG:
        tagged = sa.select(link_tags.c.link_id)
        tagged = tagged.where(link_tags.c.space == about.space, link_tags.c.tag == about.tag)
        return [of.space == about.space, of.link_id.in_(tagged)]
    return []


class SqlStatsStore(SqlStore):
    """The `StatsStore` of both engines."""

    def __init__(
        self,
        database: Database,
        *,
        keys_at_once: int = KEYS_AT_ONCE,
        rows_at_once: int = ROWS_AT_ONCE,
    ) -> None:
        super().__init__(database)
        self._keys_at_once = keys_at_once
        self._rows_at_once = rows_at_once

    days = reads(find_days, LIST_SECONDS)
    months = reads(find_months)
    totals = reads(find_totals)

    async def links(self, link_ids: Collection[int], space: int | None) -> Mapping[int, Link]:
        return await self._database.read(find_links, link_ids, space) if link_ids else {}

    async def short_codes(self, link_ids: Collection[int], space: int | None) -> Mapping[int, str]:
        return await self._database.read(find_codes, link_ids, space) if link_ids else {}

    has_tag = reads(has_tag)
    newest = reads(find_newest)

    def events(self, about: About, days: range) -> AsyncIterator[Sequence[Event]]:
        return read_events(self._database, about, days, self._keys_at_once, self._rows_at_once)
