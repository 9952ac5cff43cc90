"""Reads the clicks of a segment, many at once: whole records only, in order."""

import os
from pathlib import Path
from typing import NamedTuple

from kurz.clicks.record import FRAME_BYTES, MAX_RECORD_BYTES, Fields, end_of, fields_of
from kurz.clicks.segments import CHUNK_BYTES, find_start, is_end

USUAL_BYTES = 256  # of a record


class Chunk(NamedTuple):
    records: list[Fields]
    end: int  # the offset after the last one; the requested offset if there are none


def read_chunk(path: Path, offset: int, max_records: int, until: int | None = None) -> Chunk:
    """The clicks from that offset on, up to the last whole record, or to the last before damage,
    and not beyond the offset `until`. No records: there is nothing, or nothing yet. Raises
    `Corrupt` only for damage at the offset itself that is followed by more data.

    A torn end is not a click: in a segment that is being written it is not complete yet, in another
    it never was, and no answer was sent for it."""
    records: list[Fields] = []
    with path.open("rb", buffering=0) as file:
        fd = file.fileno()
        start = find_start(path, fd, offset)
        if start is None:
            return Chunk(records, offset)
        end = start
        size_of_chunk = min(MAX_RECORD_BYTES + max_records * USUAL_BYTES, CHUNK_BYTES)
        while len(records) < max_records:
            left = size_of_chunk if until is None else min(size_of_chunk, until - end)
            data = os.pread(fd, left, end) if left > 0 else b""
            if not data:
                break
            size = _take(data, records, max_records)
            end += size
            if size == 0 and (records or is_end(path, fd, end)):
                break
    return Chunk(records, end if records else offset)


def _take(data: bytes, records: list[Fields], max_records: int) -> int:
    """Adds the whole records at the beginning of the data; returns how many bytes they are."""
    start = 0
    try:
        while len(records) < max_records and (end := end_of(data, start)) is not None:
            records.append(fields_of(data[start + FRAME_BYTES : end]))
            start = end
    except ValueError:  # not a record: whether it is damage is decided when it comes first
        return start
    return start
