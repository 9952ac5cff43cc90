"""The counts of a subject's day. Days are read and merged before the transaction that writes them;
`clicks`, which only grows, shows whether another loader has written meanwhile."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import sqlalchemy as sa

from kurz.clicks import sketch
from kurz.clicks.batch import DayCounts, Subject, SubjectKind
from kurz.clicks.counts import MAX_OF_LINK, MAX_OF_MANY, merge
from kurz.clicks.months import fold
from kurz.clicks.series import Day
from kurz.storage.clicks.folding import FoldedMonth, write_folded

Key = tuple[Subject, int]
_Row = tuple[Any, ...]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, int]).decode


_COLUMNS = "clicks, people, visitors, counts, sketch, kind, subject, day"
_NO_CLICKS: _Row = (0, 0, 0, b"{}", b"", None)


class Stale(Exception):
    """Another loader has written the same days since they were read."""


@dataclass(slots=True)
class MergedDays:
    """Whole rows in the order of `_COLUMNS`; a row that replaces another has that one's `clicks` at
    the end."""

    new: list[_Row] = field(default_factory=list)
    changed: list[_Row] = field(default_factory=list)
    # Months that got clicks of their first day.
    folded: list[FoldedMonth] = field(default_factory=list)


def merge_days(connection: sa.Connection, counts_of_days: Mapping[Key, DayCounts]) -> MergedDays:
    is_sqlite = connection.dialect.name == "sqlite"
    found = (_read_on_sqlite if is_sqlite else _read_on_postgres)(connection, counts_of_days)
    merged = MergedDays()
    for ((kind, subject), day), aggregate in counts_of_days.items():
        is_link = kind is SubjectKind.LINK
        max_values = MAX_OF_LINK if is_link else MAX_OF_MANY
        precision = sketch.PRECISION_OF_LINK if is_link else sketch.PRECISION_OF_MANY
        number = int(kind)
        known = found.get((number, subject, day))
        before, people, visitors, counts, data, month = known or _NO_CLICKS
        if month is not None:
            whole = Day(day, before, people, visitors, counts, month)
            merged.folded.append(_add_to_month(whole, kind, subject, aggregate))
            continue
        table = _decode(counts)
        merge(table, aggregate.counts, max_values)
        more = sketch.add(data, aggregate.visitors, precision)
        row = (
            before + aggregate.clicks,
            people + aggregate.people,
            visitors if more == data else sketch.estimate(more),
            _encode(table),
            more,
            number,
            subject,
            day,
        )
        if known:
            merged.changed.append((*row, before))
        else:
            merged.new.append(row)
    return merged


def _add_to_month(month: Day, kind: SubjectKind, subject: int, late: DayCounts) -> FoldedMonth:
    """The row of its first day is that of the whole month."""
    visitors = sketch.estimate(sketch.add(b"", late.visitors, sketch.PRECISION_OF_MANY))
    day = Day(month.day, late.clicks, late.people, visitors, _encode(late.counts))
    replaced = [(month.day, month.clicks)]
    return FoldedMonth(Subject(kind, subject), fold([month, day]), replaced)


def write_days(
    connection: sa.Connection, merged: MergedDays, counts_of_days: Mapping[Key, DayCounts]
) -> None:
    """No other loader writes days until the transaction ends. Days that another one has written
    since they were read are merged again; on SQLite, which has only one loader, `Stale` is
    raised."""
    if connection.dialect.name == "sqlite":
        _write_on_sqlite(connection, merged)
        return
    stale = _write_on_postgres(connection, merged)
    if stale:
        again = merge_days(connection, {key: counts_of_days[key] for key in stale})
        if _write_on_postgres(connection, again):
            raise RuntimeError("somebody counts without the loaders' lock")


def _read_on_sqlite(connection: sa.Connection, keys: Collection[Key]) -> dict[_Row, _Row]:
    driver: Any = connection.connection.driver_connection
    subjects: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (kind, subject), day in keys:
        subjects[int(kind), day].append(subject)
    found: dict[_Row, _Row] = {}
    for (of, day), ids in subjects.items():
        rows = driver.execute(_SQLITE_READ, (of, day, json.dumps(ids))).fetchall()
        found.update(((of, row[0], day), row[1:]) for row in rows)
    return found


_SQLITE_READ = (
    "SELECT subject, clicks, people, visitors, counts, sketch, month FROM click_days"
    " WHERE kind = ? AND day = ? AND subject IN (SELECT value FROM json_each(?))"
)


def _read_on_postgres(connection: sa.Connection, keys: Collection[Key]) -> dict[_Row, _Row]:
    columns = [*zip(*((int(kind), subject, day) for (kind, subject), day in keys), strict=True)]
    if not columns:
        return {}
    rows = connection.exec_driver_sql(_POSTGRES_READ, tuple(map(list, columns)))
    return {tuple(row[:3]): tuple(row[3:]) for row in rows}


_POSTGRES_READ = (
    "SELECT kind, subject, day, clicks, people, visitors, counts, sketch, month FROM click_days"
    " JOIN unnest($1::smallint[], $2::bigint[], $3::integer[]) AS wanted(kind, subject, day)"
    " USING (kind, subject, day)"
)


def _write_on_sqlite(connection: sa.Connection, merged: MergedDays) -> None:
    driver: Any = connection.connection.driver_connection
    written = 0
    for text, rows in (_SQLITE_UPDATE, merged.changed), (_SQLITE_INSERT, merged.new):
        if rows:
            written += driver.executemany(text, rows).rowcount
    if written != len(merged.changed) + len(merged.new):
        raise Stale
    if merged.folded and not write_folded(connection, merged.folded):
        raise Stale


_SQLITE_UPDATE = (
    "UPDATE click_days SET clicks = ?, people = ?, visitors = ?, counts = ?, sketch = ?"
    " WHERE kind = ? AND subject = ? AND day = ? AND clicks = ? AND month IS NULL"
)
_SQLITE_INSERT = (
    f"INSERT INTO click_days ({_COLUMNS})"  # noqa: S608
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)


def _write_on_postgres(connection: sa.Connection, merged: MergedDays) -> list[Key]:
    """Returns the days that could not be written."""
    stale: list[Key] = []
    for text, rows in (_POSTGRES_UPDATE, merged.changed), (_POSTGRES_INSERT, merged.new):
        if rows:
            columns = tuple(map(list, zip(*rows, strict=True)))
            written = {tuple(row) for row in connection.exec_driver_sql(text, columns)}
            if len(written) < len(rows):
                keys = [row[5:8] for row in rows if row[5:8] not in written]
                stale += [(Subject(SubjectKind(kind), subject), day) for kind, subject, day in keys]
    for folded in merged.folded:
        if not write_folded(connection, [folded]):
            stale.append((folded.subject, folded.month.day))
    return stale


_ARRAYS = (
    "$1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[],"
    " $6::smallint[], $7::bigint[], $8::integer[]"
)
_POSTGRES_UPDATE = (
    "UPDATE click_days AS old SET clicks = new.clicks, people = new.people,"  # noqa: S608
    " visitors = new.visitors, counts = new.counts, sketch = new.sketch"
    f" FROM unnest({_ARRAYS}, $9::bigint[]) AS new({_COLUMNS}, before)"
    " WHERE old.kind = new.kind AND old.subject = new.subject AND old.day = new.day"
    " AND old.clicks = new.before AND old.month IS NULL"
    " RETURNING old.kind, old.subject, old.day"
)
_POSTGRES_INSERT = (
    f"INSERT INTO click_days ({_COLUMNS})"  # noqa: S608
    f" SELECT * FROM unnest({_ARRAYS}) ON CONFLICT DO NOTHING RETURNING kind, subject, day"
)
