"""The files that journals wrote: which there are, who holds them, torn ends and damage.

An offset that comes from here is a position between two records. A loader that stores it in the
transaction of its counts continues there, and counts everything once.
"""

import fcntl
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from kurz.clicks.header import HEADER_BYTES, Header, is_segment
from kurz.clicks.record import FRAME_BYTES, MAX_RECORD_BYTES, end_of, fields_of

CHUNK_BYTES = 1024 * 1024

# Where a record may begin: its length (44 to 460, `MIN_BODY_BYTES` and `MAX_BODY_BYTES`) and its
# instant are possible. This saves computing a checksum at every byte.
_BEGINNING = re.compile(rb"(?=(?:[\x2c-\xff]\x00|[\x00-\xcc]\x01).{11}\x00)", re.DOTALL)


class Corrupt(Exception):
    """At this offset is something that no journal wrote, and more data follows."""

    def __init__(self, path: Path, offset: int) -> None:
        super().__init__(f"{path} is damaged at {offset}")
        self.path = path
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Damage:
    kept: Path  # the whole segment, for a person to inspect
    next_offset: int  # where to continue reading
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
    """True while the worker that writes the segment lives. To finish a segment, check this first
    and read it afterwards: then nothing more is added."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def find_start(path: Path, fd: int, offset: int) -> int | None:
    """The offset of the first record at or after this one, if there is one; None while no header is
    written. Raises `Corrupt` if the header is damaged."""
    if offset >= HEADER_BYTES:
        return offset
    return None if _header(path, os.pread(fd, HEADER_BYTES, 0)) is None else HEADER_BYTES


def is_end(path: Path, fd: int, offset: int) -> bool:
    """For an offset where no whole record was found: True if there is nothing yet, False if a
    record has come meanwhile. Raises `Corrupt` at damage that is followed by more data."""
    # Read again, in one read: the writer may have cut off a torn record and written another there,
    # and may be writing now. Two reads would see two states.
    data = os.pread(fd, MAX_RECORD_BYTES + 1, offset)
    if _starts_record(data, 0):
        return False
    if _is_damage(data):
        raise Corrupt(path, offset)
    return True


def check_end(path: Path, offset: int) -> None:
    """For a segment without a writer, where nothing more can be read. Raises `Corrupt` unless the
    rest is the beginning of one unfinished record."""
    with path.open("rb", buffering=0) as file:
        start = find_start(path, file.fileno(), offset)
        if start is not None and not _is_torn(os.pread(file.fileno(), MAX_RECORD_BYTES, start)):
            raise Corrupt(path, start)


def quarantine(path: Path, offset: int) -> Damage:
    """Finds the next whole record after the damage, and keeps a copy of the segment as `….corrupt`,
    whatever happens to it later. The segment itself stays, and is read from there. If there is a
    record at the offset by now, nothing is skipped or copied: it was being written."""
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size  # first, so that later writes count
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


def _is_damage(data: bytes) -> bool:
    """True unless this can be the torn end of a segment: less than a record, with none behind
    it."""
    return len(data) > MAX_RECORD_BYTES or _find_in(data, 1) is not None


def _is_torn(data: bytes) -> bool:
    """Whether these are the first bytes of a record, or no bytes."""
    try:
        return end_of(data, 0) is None
    except ValueError:
        return False


def _find_record(fd: int, offset: int) -> int | None:
    """The offset of the first whole record at or after this one."""
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
        fields_of(data[start + FRAME_BYTES : end])
    except ValueError:
        return False
    return True
