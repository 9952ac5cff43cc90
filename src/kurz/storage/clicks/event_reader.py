"""Individual clicks for an export, in the order of their keys.

First an index gives the keys of a few thousand clicks. Then their rows are read, a few hundred at a
time. So the cost depends only on the clicks in the export, no query takes long, and the event loop
never waits for thousands of rows.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import sqlalchemy as sa

from kurz.clicks.batch import Event, SubjectKind
from kurz.clicks.stats import About
from kurz.storage.clicks.events import COLUMNS, stored_days
from kurz.storage.engine.database import Database
from kurz.storage.engine.deadlines import LIST_SECONDS, LONG_SECONDS, deadline

KEYS_AT_ONCE = 5_000
ROWS_AT_ONCE = 250
QUICK_SECONDS = 0.05  # if reading keys takes longer, fewer days are read at a time
GROWTH = 4

# The keys of a tag are sorted by an expression. Sorted by the key itself, an engine would walk
# along the key through all clicks, because it expects to find enough of the tag's clicks early.
_BY_KEY, _FOUND_FIRST = "day, id", "day + 0, id + 0"
_LINKS_OF_TAG = "SELECT link_id FROM link_tags WHERE space = :space AND tag = :tag"
_TAGGED = f"link_id IN ({_LINKS_OF_TAG})"
# PostgreSQL joins both tables if a tag has a thousand links, and reads all clicks of the days. It
# looks up the elements of an array in the index, however many there are.
_LOOKED_UP = f"link_id = ANY(ARRAY({_LINKS_OF_TAG}))"
_COUNT_LINKS = f"SELECT count(*) FROM ({_LINKS_OF_TAG} LIMIT :limit) AS counted"  # noqa: S608
MANY_LINKS = 10_000  # of a tag: from here, reading all clicks of a day takes less


class DayKeys(NamedTuple):
    """Clicks of a day, by their numbers, in order."""

    day: int
    ids: Sequence[int]


async def read_events(
    database: Database, about: About, days: range, keys_at_once: int, rows_at_once: int
) -> AsyncIterator[Sequence[Event]]:
    """Clicks that are stored when this begins, once each. Later ones may be missing."""
    with deadline(LIST_SECONDS):
        left = await database.read(stored_days, days)
    span, after = 1, -1
    while left:
        started = time.monotonic()
        with deadline(LONG_SECONDS):
            found = await database.read(find_keys, about, left[:span], after, keys_at_once)
        is_quick = time.monotonic() - started < QUICK_SECONDS
        for part in in_parts(found, rows_at_once):
            with deadline(LIST_SECONDS):
                events = await database.read(find_rows, about, part)
            yield events
        number = sum(len(keys.ids) for keys in found)
        if number >= keys_at_once:  # the last day may have more clicks; it is read alone next
            left, after = left[left.index(found[-1].day) :], found[-1].ids[-1]
            span = 1
            continue
        left, after = left[span:], -1
        if not is_quick:
            span = 1
        elif number * 2 * GROWTH < keys_at_once:
            span *= GROWTH


def find_keys(
    connection: sa.Connection, about: About, days: Sequence[int], after: int, limit: int
) -> list[DayKeys]:
    """The first clicks of these days. `after`, for a single day: those with higher numbers. The
    days are in the statement's text, so PostgreSQL plans for their partitions and locks no
    others."""
    condition, order, values = _condition(connection, about)
    if len(days) == 1:
        inside = f"day = {days[0]} AND id > :after"
        values["after"] = after
    else:
        inside = f"day IN ({', '.join(map(str, days))})"
    text = (
        f"SELECT day, id FROM click_events WHERE {inside} AND {condition}"  # noqa: S608  no values
        f" ORDER BY {order} LIMIT :limit"
    )
    rows = connection.execute(sa.text(text), values | {"limit": limit})
    by_day = groupby(rows, itemgetter(0))
    return [DayKeys(day, [row[1] for row in of_day]) for day, of_day in by_day]


def _condition(connection: sa.Connection, about: About) -> tuple[str, str, dict[str, Any]]:
    """The condition for the clicks, the order in which they are found, and the values."""
    kind, number = about.subject
    if kind is SubjectKind.LINK:
        return "link_id = :link_id", _BY_KEY, {"link_id": number}
    if kind is SubjectKind.SPACE:
        return "space = :space", _BY_KEY, {"space": number}
    if kind is SubjectKind.TAG:
        values = {"space": about.space, "tag": about.tag}
        is_looked_up = connection.dialect.name != "sqlite" and _has_few_links(connection, values)
        return _LOOKED_UP if is_looked_up else _TAGGED, _FOUND_FIRST, values
    return "true", _BY_KEY, {}


def _has_few_links(connection: sa.Connection, tag: dict[str, Any]) -> bool:
    number = connection.execute(sa.text(_COUNT_LINKS), tag | {"limit": MANY_LINKS}).scalar_one()
    return bool(number < MANY_LINKS)


def find_rows(connection: sa.Connection, about: About, part: Sequence[DayKeys]) -> list[Event]:
    """Those of these clicks that are still there. A tag has only clicks that were counted in its
    space: a link may have been in another one before."""
    is_sqlite = connection.dialect.name == "sqlite"
    values: list[Any] = []
    selects = []
    for day, ids in part:
        values.append(json.dumps(ids) if is_sqlite else ids)
        among = "IN (SELECT value FROM json_each(?))" if is_sqlite else f"= ANY(${len(values)})"
        selects.append(f"SELECT * FROM click_events WHERE day = {day} AND id {among}")  # noqa: S608
    text = f"SELECT {', '.join(COLUMNS)} FROM ({' UNION ALL '.join(selects)}) AS part"  # noqa: S608
    if about.subject.kind is SubjectKind.TAG:
        values.append(about.space)
        text += " WHERE space = " + ("?" if is_sqlite else f"${len(values)}")
    rows = connection.exec_driver_sql(text + " ORDER BY day, id", tuple(values))
    return [Event._make(row) for row in rows]


def in_parts(found: Sequence[DayKeys], size: int) -> Iterator[list[DayKeys]]:
    """Divides the clicks into parts of this size, in the same order."""
    part: list[DayKeys] = []
    room = size
    for day, ids in found:
        start = 0
        while start < len(ids):
            some = ids[start : start + room]
            part.append(DayKeys(day, some))
            start += len(some)
            room -= len(some)
            if not room:
                yield part
                part, room = [], size
    if part:
        yield part
