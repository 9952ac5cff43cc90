"""Reads what journals wrote: whole records only, in order, past torn ends and damage.

An offset that comes from here is a position between two records. A loader that stores it in the
transaction of what it counted goes on there, and counts everything once.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kurz.clicks.header import HEADER_BYTES, Header, is_segment
from kurz.clicks.record import FRAME_BYTES, MAX_RECORD_BYTES, Click, decode, end_of

CHUNK_BYTES = 1024 * 1024

# Where a record may begin: its length is possible (44 to 460, `MIN_BODY_BYTES` and
# `MAX_BODY_BYTES`), and so is its instant. Saves computing checksums at every byte.
_BEGINNING = re.compile(rb"(?=(?:[\x2c-\xff]\x00|[\x00-\xcc]\x01).{11}\x00)", re.DOTALL)


class Corrupt(Exception):
    """At this offset stands something that no journal wrote, and more follows."""

    def __init__(self, path: Path, offset: int) -> None:
        super().__init__(f"{path} is damaged at {offset}")
        self.path = path
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Damage:
    kept: Path  # all of the segment, for a person to look at
    next_offset: int  # where to read on
    skipped: int  # bytes that could not be read


def list_segments(folder: Path) -> list[Path]:
    """The segments in the folder, by name; none if there is no folder."""
    try:
        return sorted(path for path in folder.iterdir() if is_segment(path.name))
    except FileNotFoundError:
        return []


def find_header(path: Path) -> Header | None:
    """The segment's header; None while nothing is written. Raises `Corrupt` if it is damaged."""
    with path.open("rb") as file:
        data = file.read(HEADER_BYTES)
    return _header(path, data)


def is_held(path: Path) -> bool:
    """True while the worker that writes the segment lives. Whoever wants to finish a segment asks
    this first and reads it then: afterwards nothing is added any more."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def read(path: Path, offset: int = 0) -> Iterator[tuple[Click, int]]:
    """The clicks from that offset on, each with the offset behind it, up to the last whole record.

    A torn end is no click: of a segment that is held it is not yet whole, of another one it never
    was, and nobody got an answer for it. Raises `Corrupt` at damage with something behind it; the
    clicks before it have been given by then."""
    with path.open("rb", buffering=0) as file:
        start = find_start(path, file.fileno(), offset)
        if start is not None:
            yield from _read(path, file.fileno(), start)


def find_start(path: Path, fd: int, offset: int) -> int | None:
    """Where the first record at or behind the offset stands, if there is one; None while no header
    is written. Raises `Corrupt` if the header is damaged."""
    if offset >= HEADER_BYTES:
        return offset
    return None if _header(path, os.pread(fd, HEADER_BYTES, 0)) is None else HEADER_BYTES


def is_end(path: Path, fd: int, offset: int) -> bool:
    """To be asked where what was read held no whole record: True if nothing is to be had there yet,
    False if a record has come. Raises `Corrupt` at damage with something behind it."""
    # Looked at again, and once: the writer may have cut off a torn record and written another one
    # there, and is perhaps writing now. Two readings would be of two states.
    data = os.pread(fd, MAX_RECORD_BYTES + 1, offset)
    if _starts_record(data, 0):
        return False
    if _is_damage(data):
        raise Corrupt(path, offset)
    return True


def check_end(path: Path, offset: int) -> None:
    """To be asked of a segment that nobody holds, where nothing more can be read. Raises `Corrupt`
    unless what is left there is the beginning of one record, that its writer did not finish."""
    with path.open("rb", buffering=0) as file:
        start = find_start(path, file.fileno(), offset)
        if start is not None and not _is_torn(os.pread(file.fileno(), MAX_RECORD_BYTES, start)):
            raise Corrupt(path, start)


def quarantine(path: Path, offset: int) -> Damage:
    """Finds the next whole record behind the damage, and keeps the segment aside as `….corrupt`,
    whatever happens to it later. It stays, to be read on from there. Nothing is skipped or kept if
    a record stands at the offset by now: it was being written."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size  # first: what is written meanwhile is not skipped
        found = _find_record(file.fileno(), offset)
    next_offset = max(size, offset) if found is None else found
    kept = path.with_suffix(".corrupt")
    if next_offset > offset:
        _keep(path, kept)
    return Damage(kept, next_offset, next_offset - offset)


def _keep(path: Path, kept: Path) -> None:
    try:
        kept.hardlink_to(path)
    except FileExistsError:  # it was damaged elsewhere, too
        pass
    except OSError:  # a file system without links
        shutil.copy2(path, kept)


def _header(path: Path, data: bytes) -> Header | None:
    if len(data) < HEADER_BYTES:
        return None
    try:
        return Header.decode(data)
    except ValueError as error:
        raise Corrupt(path, 0) from error


def _read(path: Path, fd: int, offset: int) -> Iterator[tuple[Click, int]]:
    while chunk := os.pread(fd, CHUNK_BYTES, offset):
        end = 0
        for click, end in _whole_records(chunk):
            yield click, offset + end
        offset += end
        if end == 0 and is_end(path, fd, offset):
            return


def _whole_records(data: bytes) -> Iterator[tuple[Click, int]]:
    start = 0
    try:
        while (end := end_of(data, start)) is not None:
            yield decode(data[start + FRAME_BYTES : end]), end
            start = end
    except ValueError:
        return


def _is_damage(data: bytes) -> bool:
    """True unless this can be the torn end of a segment: less than a record, with none behind
    it."""
    return len(data) > MAX_RECORD_BYTES or _find_in(data, 1) is not None


def _is_torn(data: bytes) -> bool:
    """Whether these are the first bytes of a record, or none."""
    try:
        return end_of(data, 0) is None
    except ValueError:
        return False


def _find_record(fd: int, offset: int) -> int | None:
    """Where the first whole record begins at or behind the offset."""
    while chunk := os.pread(fd, CHUNK_BYTES, offset):
        found = _find_in(chunk, 0)
        if found is not None:
            return offset + found
        # A record that begins in this chunk and ends in the next is found when its beginning is
        # read again.
        offset += max(len(chunk) - MAX_RECORD_BYTES, 0) if len(chunk) == CHUNK_BYTES else len(chunk)
    return None


def _find_in(data: bytes, start: int) -> int | None:
    for match in _BEGINNING.finditer(data, start):
        if _starts_record(data, match.start()):
            return match.start()
    return None


def _starts_record(data: bytes, start: int) -> bool:
    try:
        end = end_of(data, start)
        if end is None:
            return False
        decode(data[start + FRAME_BYTES : end])
    except ValueError:
        return False
    return True
