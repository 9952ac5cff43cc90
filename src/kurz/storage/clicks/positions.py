"""How far segments are counted, and which slices of a batch that is written in slices."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clicks.batch import SegmentProgress
from kurz.storage.schema.clicks import journal_position

_position = journal_position.c


class CountedSlices(NamedTuple):
    """A row of `journal_position`. Everything before `offset` is counted. A batch from there to
    `slices_end` may be partly counted: its links up to `counted_link` are counted, and its first
    `stored_events` clicks are stored. Tags, spaces and the installation come last."""

    offset: int
    slices_end: int | None = None
    counted_link: int | None = None
    stored_events: int | None = None


def find_progress(connection: sa.Connection, segment: bytes) -> CountedSlices:
    query = sa.select(*(_position[name] for name in CountedSlices._fields))
    row = connection.execute(query.where(_position.segment == segment)).first()
    return CountedSlices(0) if row is None else CountedSlices(*row)


def move(
    connection: sa.Connection, segment: bytes, before: CountedSlices, after: CountedSlices, now: int
) -> bool:
    """False, without any change: another loader was faster, so the segment is not at `before`."""
    moved = {**after._asdict(), "moved_at": now}
    if before == CountedSlices(0):
        first = insert(journal_position).values(segment=segment, **moved)
        return connection.execute(first.on_conflict_do_nothing()).rowcount == 1
    is_here = [_position[name].is_not_distinct_from(it) for name, it in before._asdict().items()]
    update = sa.update(journal_position).where(_position.segment == segment, *is_here)
    return connection.execute(update.values(moved)).rowcount == 1


def find_positions(
    connection: sa.Connection, segments: Collection[bytes]
) -> dict[bytes, SegmentProgress]:
    query = sa.select(_position.segment, _position.offset, _position.slices_end)
    rows = connection.execute(query.where(_position.segment.in_(segments)))
    return {segment: SegmentProgress(offset, end) for segment, offset, end in rows}


def forget_positions(connection: sa.Connection, segments: Collection[bytes]) -> None:
    gone = _position.segment.in_(segments)
    connection.execute(sa.delete(journal_position).where(gone))
