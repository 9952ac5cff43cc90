"""Which months of which subjects must be added up, and where the sums are kept."""

from typing import NamedTuple

import sqlalchemy as sa

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.months import Month, clicks_by_month
from kurz.storage.clicks.stats import find_days
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.clicks import click_months, click_totals


class Stretch(NamedTuple):
    busy: list[tuple[Subject, int]]  # and how many clicks they have had
    end: Subject | None  # continue after it; None: that was all


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
    end = Subject(SubjectKind(rows[-1][0]), rows[-1][1]) if len(rows) == limit else None
    busy = [row for row in rows if row[2] >= least_clicks]
    return Stretch(
        [(Subject(SubjectKind(kind), number), clicks) for kind, number, clicks in busy], end
    )


def find_stale(connection: sa.Connection, subject: Subject, before: int) -> list[int]:
    """The first days of months that end before that day and whose stored sums are missing or out of
    date."""
    of = click_months.c
    query = sa.select(of.first_day, of.clicks)
    query = query.where(of.kind == int(subject.kind), of.subject == subject.id)
    kept = {row[0]: row[1] for row in connection.execute(query)}
    days = find_days(connection, subject, range(before), with_counts=False)
    return [first for first, clicks in clicks_by_month(days).items() if kept.get(first) != clicks]


def keep_month(connection: sa.Connection, subject: Subject, month: Month) -> None:
    row = {"kind": int(subject.kind), "subject": subject.id, **month._asdict()}
    connection.execute(upsert(click_months, "clicks", "counts", "hours"), row)
