"""Which days are old enough to be folded into months, and writing the folded months.

As when clicks are counted, days are read and added up before the transaction that writes them:
`clicks`, which only grows, shows whether a row has changed meanwhile."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import sqlalchemy as sa

from kurz.clicks.batch import Subject, SubjectKind
from kurz.clicks.months import fold, month_of
from kurz.clicks.series import Day
from kurz.storage.engine.batches import among
from kurz.storage.engine.rows import upsert
from kurz.storage.schema.clicks import click_days, click_months, click_totals, fold_position

_of = click_days.c
_ROW = (_of.subject, _of.day, _of.clicks, _of.people, _of.visitors, _of.counts, _of.month)


class FoldPosition(NamedTuple):
    since: int
    before: int  # days from `since` up to, not including, this one are being folded
    after: Subject | None  # of all subjects up to this one, they are; None: of all


class DueSubjects(NamedTuple):
    due: Sequence[Subject]
    end: Subject | None  # continue after it; None: that was all


class FoldedMonth(NamedTuple):
    subject: Subject
    month: Day
    replaced: Sequence[tuple[int, int]]  # the day and the clicks of each row that it replaces


class FoldSlice(NamedTuple):
    """Months that one transaction writes."""

    months: Sequence[FoldedMonth]

    @property
    def days(self) -> int:
        return sum(len(month.replaced) for month in self.months)


def find_fold_position(connection: sa.Connection) -> FoldPosition:
    row = connection.execute(sa.select(fold_position)).one_or_none()
    if row is None:
        return FoldPosition(0, 0, None)
    after = None if row.kind is None else Subject(SubjectKind(row.kind), row.subject)
    return FoldPosition(row.since, row.before, after)


def move_fold_position(connection: sa.Connection, position: FoldPosition) -> None:
    since, before, after = position
    kind, subject = (None, None) if after is None else (int(after.kind), after.id)
    row = {"id": 1, "since": since, "before": before, "kind": kind, "subject": subject}
    connection.execute(upsert(fold_position, "since", "before", "kind", "subject"), row)


def find_due(
    connection: sa.Connection, after: Subject | None, limit: int, days: range
) -> DueSubjects:
    """Of the next subjects, in order: those that have such days to fold."""
    of = click_totals.c
    query = sa.select(of.kind, of.subject).order_by(of.kind, of.subject).limit(limit)
    if after is not None:
        key = sa.tuple_(of.kind, of.subject)
        query = query.where(key > sa.tuple_(int(after.kind), after.id))
    subjects = [Subject(SubjectKind(kind), of) for kind, of in connection.execute(query)]
    due: list[Subject] = []
    for kind, some in groupby(subjects, key=lambda subject: subject.kind):
        have_days = sa.select(_of.subject).distinct().where(*_are_due(connection, kind, some, days))
        due += [Subject(kind, found) for found in sorted(connection.execute(have_days).scalars())]
    return DueSubjects(due, subjects[-1] if len(subjects) == limit else None)


def prepare_slice(
    connection: sa.Connection, subjects: Sequence[Subject], days: range, limit: int
) -> FoldSlice:
    """The first months of the first subjects, up to this many rows, which are those of a month or
    more. `subjects` are of one kind; `days` begin and end with a month."""
    kind = subjects[0].kind
    query = sa.select(*_ROW).where(*_are_due(connection, kind, subjects, days))
    rows = connection.execute(query.order_by(_of.subject, _of.day).limit(limit + 1)).all()
    by_month = {key: [*some] for key, some in groupby(rows, key=_month_of)}
    if len(rows) > limit and len(by_month) > 1:
        del by_month[_month_of(rows[-1])]  # it may be incomplete
    known = _find_folded(connection, kind, by_month)
    months = []
    for key, some in by_month.items():
        replaced = [*known.get(key, ()), *some]
        month = fold([Day(*row[1:]) for row in replaced])
        subject = Subject(kind, key[0])
        months.append(FoldedMonth(subject, month, [(row.day, row.clicks) for row in replaced]))
    return FoldSlice(months)


def _are_due(
    connection: sa.Connection, kind: SubjectKind, subjects: Iterable[Subject], days: range
) -> tuple[sa.ColumnElement[bool], ...]:
    ids = [subject.id for subject in subjects]
    is_one = among(connection, _of.subject, ids)
    is_old = _of.day.between(days.start, days.stop - 1)
    return _of.kind == int(kind), is_one, is_old, _of.month.is_(None)


def _month_of(row: Any) -> tuple[int, int]:
    return row.subject, month_of(row.day).start


def _find_folded(
    connection: sa.Connection, kind: SubjectKind, months: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], list[Any]]:
    """Months that late clicks are added to."""
    keys = {*months}
    query = sa.select(*_ROW).where(
        _of.kind == int(kind),
        among(connection, _of.subject, [*{subject for subject, _ in keys}]),
        among(connection, _of.day, [*{day for _, day in keys}]),
        _of.month.is_not(None),
    )
    rows = connection.execute(query).all() if keys else ()
    return {(row.subject, row.day): [row] for row in rows if (row.subject, row.day) in keys}


def write_folded(connection: sa.Connection, months: Sequence[FoldedMonth]) -> bool:
    """False: one of the rows has changed since it was read. The transaction must then be rolled
    back, unless it was the only one."""
    old = [
        (int(kind), subject, day, clicks)
        for (kind, subject), _, replaced in months
        for day, clicks in replaced
    ]
    if _delete(connection, old) < len(old):
        return False
    rows = [
        {
            "kind": int(subject.kind),
            "subject": subject.id,
            "sketch": b"",
            **month._asdict(),
        }
        for subject, month, _ in months
    ]
    connection.execute(sa.insert(click_days), rows)
    return True


def _delete(connection: sa.Connection, rows: Sequence[tuple[int, ...]]) -> int:
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        deleted: int = driver.executemany(_SQLITE_DELETE, rows).rowcount
        return deleted
    columns = tuple(map(list, zip(*rows, strict=True)))
    return connection.exec_driver_sql(_POSTGRES_DELETE, columns).rowcount


_SQLITE_DELETE = "DELETE FROM click_days WHERE kind = ? AND subject = ? AND day = ? AND clicks = ?"
_POSTGRES_DELETE = (
    "DELETE FROM click_days AS old"
    " USING unnest($1::smallint[], $2::bigint[], $3::integer[], $4::bigint[])"
    " AS known(kind, subject, day, clicks)"
    " WHERE old.kind = known.kind AND old.subject = known.subject AND old.day = known.day"
    " AND old.clicks = known.clicks"
)


def forget_sums(connection: sa.Connection, months: Sequence[FoldedMonth]) -> None:
    """The stored sums of these months, which reports no longer need. `months` are of one kind of
    subject. Sums of other months that are about to be folded may be among them."""
    of = click_months.c
    connection.execute(
        sa.delete(click_months).where(
            of.kind == int(months[0].subject.kind),
            among(connection, of.subject, [*{it.subject.id for it in months}]),
            among(connection, of.first_day, [*{it.month.day for it in months}]),
        )
    )
