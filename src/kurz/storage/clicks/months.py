"""Which months of which subjects must be added up, and where the sums are kept."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.months import Month, clicks_by_month
from kurz.storage.clicks.stats import find_days
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.clicks import click_months, click_totals, late_clicks, month_position


class Stretch(NamedTuple):
    busy: list[Subject]
    end: Subject | None  # continue after it; None: that was all


class MonthPosition(NamedTuple):
    before: int  # subjects are checked for months that ended before this day
    after: Subject | None  # the last subject that is checked; None: all are


class LateSubject(NamedTuple):
    subject: Subject
    times: int
    clicks: int  # in total


def find_busy(
    connection: sa.Connection, after: Subject | None, limit: int, least_clicks: int
) -> Stretch:
    """Of a range of all subjects, in order: this takes the same time however few are busy."""
    of = click_totals.c
    query = sa.select(of.kind, of.subject, of.clicks).order_by(of.kind, of.subject).limit(limit)
    if after is not None:
        key = sa.tuple_(of.kind, of.subject)
        query = query.where(key > sa.tuple_(int(after.kind), after.id))
    rows = connection.execute(query).all()
    end = _subject(*rows[-1][:2]) if len(rows) == limit else None
    return Stretch([_subject(*row[:2]) for row in rows if row[2] >= least_clicks], end)


def find_stale(connection: sa.Connection, subject: Subject, before: int) -> list[int]:
    """The first days of months that end before that day and whose stored sums are missing or out of
    date. Folded months need no sums."""
    of = click_months.c
    query = sa.select(of.first_day, of.clicks)
    query = query.where(of.kind == int(subject.kind), of.subject == subject.id)
    kept = {row[0]: row[1] for row in connection.execute(query)}
    rows = find_days(connection, subject, range(before), with_counts=False)
    clicks = clicks_by_month(rows)
    for row in rows:
        if row.month is not None:
            del clicks[row.day]
    return [first for first, number in clicks.items() if kept.get(first) != number]


def keep_month(connection: sa.Connection, subject: Subject, month: Month) -> None:
    row = {"kind": int(subject.kind), "subject": subject.id, **month._asdict()}
    connection.execute(upsert(click_months, "clicks", "counts", "hours"), row)


def find_position(connection: sa.Connection) -> MonthPosition:
    row = connection.execute(sa.select(month_position)).one_or_none()
    if row is None:
        return MonthPosition(0, None)
    after = None if row.kind is None else _subject(row.kind, row.subject)
    return MonthPosition(row.before, after)


def move_position(connection: sa.Connection, before: int, after: Subject | None) -> None:
    kind, subject = (None, None) if after is None else (int(after.kind), after.id)
    row = {"id": 1, "before": before, "kind": kind, "subject": subject}
    connection.execute(upsert(month_position, "before", "kind", "subject"), row)


def note_late(connection: sa.Connection, subjects: Collection[Subject]) -> None:
    """Notes that these subjects got clicks in months that may already be added up."""
    if not subjects:
        return
    made = insert(late_clicks)
    noted = made.on_conflict_do_update(
        index_elements=[*late_clicks.primary_key], set_={"times": late_clicks.c.times + 1}
    )
    rows = [{"kind": int(kind), "subject": of, "times": 1} for kind, of in sorted(subjects)]
    connection.execute(noted, rows)


def find_late(connection: sa.Connection, limit: int) -> list[LateSubject]:
    late, totals = late_clicks.c, click_totals.c
    is_same = sa.and_(totals.kind == late.kind, totals.subject == late.subject)
    # Not a join, for which PostgreSQL might read all totals.
    clicks = sa.func.coalesce(sa.select(totals.clicks).where(is_same).scalar_subquery(), 0)
    query = sa.select(late.kind, late.subject, late.times, clicks)
    query = query.order_by(late.kind, late.subject).limit(limit)
    rows = connection.execute(query)
    return [LateSubject(_subject(kind, of), times, total) for kind, of, times, total in rows]


def forget_late(connection: sa.Connection, found: Collection[LateSubject]) -> None:
    """Removes their notes, except for subjects that have got more late clicks since then."""
    for (kind, subject), times, _ in found:
        of = late_clicks.c
        is_same = sa.and_(of.kind == int(kind), of.subject == subject, of.times == times)
        connection.execute(sa.delete(late_clicks).where(is_same))


def _subject(kind: int, number: int) -> Subject:
    return Subject(SubjectKind(kind), number)
