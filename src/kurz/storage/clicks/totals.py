"""All clicks of a subject, and the moments of their latencies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from kurz.clicks.batch import INSTALLATION, DayCounts, Subject, SubjectKind
from kurz.clicks.moments import Moments

_Row = tuple[int, int, int, int, float, float]

_NONE = Moments()
# What a JavaScript number holds exactly. An import may bring any numbers: a sum that does not fit
# its column would stop the counting for everyone.
MOST_CLICKS = 2**53
# Chan's parallel form, as in `Moments.merge`.
_MERGE = """
ON CONFLICT (kind, subject) DO UPDATE SET
  clicks = {least}(click_totals.clicks + excluded.clicks, {most}),
  timed = click_totals.timed + excluded.timed,
  mean_ms = click_totals.mean_ms + coalesce(
    (excluded.mean_ms - click_totals.mean_ms) * excluded.timed
    / nullif(click_totals.timed + excluded.timed, 0), 0),
  m2 = click_totals.m2 + excluded.m2 + coalesce(
    (excluded.mean_ms - click_totals.mean_ms) * (excluded.mean_ms - click_totals.mean_ms)
    * click_totals.timed * excluded.timed
    / nullif(click_totals.timed + excluded.timed, 0), 0)
"""
_COLUMNS = "kind, subject, clicks, timed, mean_ms, m2"
_SQLITE_ADD = (
    f"INSERT INTO click_totals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608
    + _MERGE.format(least="min", most=MOST_CLICKS)
)
_POSTGRES_ADD = (
    f"INSERT INTO click_totals ({_COLUMNS})"  # noqa: S608
    " SELECT * FROM unnest($1::smallint[], $2::bigint[], $3::bigint[], $4::bigint[],"
    " $5::double precision[], $6::double precision[])"
    + _MERGE.format(least="least", most=MOST_CLICKS)
)


def total_rows(
    days: Mapping[tuple[Subject, int], DayCounts], moments: Mapping[Subject, Moments]
) -> list[_Row]:
    """What these clicks add, in the order in which rows are locked."""
    clicks = dict.fromkeys(moments, 0)
    for (subject, _), aggregate in days.items():
        clicks[subject] = clicks.get(subject, 0) + aggregate.clicks
    find = moments.get
    return [
        (int(subject.kind), subject.id, clicks[subject], *find(subject, _NONE))
        for subject in sorted(clicks)
    ]


def add_totals(connection: sa.Connection, rows: Sequence[_Row]) -> None:
    """Rows in the order of their keys, so that parallel transactions cannot deadlock."""
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        driver.executemany(_SQLITE_ADD, rows)
        return
    columns = tuple(map(list, zip(*rows, strict=True)))
    connection.exec_driver_sql(_POSTGRES_ADD, columns)


def add_imported(connection: sa.Connection, links: Iterable[tuple[int, int, int]]) -> None:
    """Adds the clicks that imported links bring: rows of id, space and clicks. Their latencies were
    not measured here and are not counted."""
    clicks: dict[Subject, int] = {}
    for link_id, space, number in links:
        if number:
            for subject in (
                Subject(SubjectKind.LINK, link_id),
                Subject(SubjectKind.SPACE, space),
                INSTALLATION,
            ):
                clicks[subject] = clicks.get(subject, 0) + number
    rows = [
        (int(subject.kind), subject.id, min(clicks[subject], MOST_CLICKS), *_NONE)
        for subject in sorted(clicks)
    ]
    add_totals(connection, rows)
