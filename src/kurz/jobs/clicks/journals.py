"""Folders of journals as a loader sees them: their owner, and the end of their segments.

A segment that is counted to its end gets an empty file `ID.counted` with that time. The
segment is removed a day later; that file and the position in the database a week after that. A
segment that is put back before then is not counted again.
"""

import contextlib
import os
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from struct import Struct

from kurz.clicks.header import HEADER_BYTES, SUFFIX, is_segment
from kurz.clicks.record import END_OF_TIME, FRAME_BYTES
from kurz.clicks.segments import list_segments
from kurz.clock import MICROSECOND
from kurz.errors import SettingRefused
from kurz.files import open_new

OWNER = "installation"  # a file with the identity of the installation
COUNTED_SUFFIX = ".counted"
KEPT = timedelta(hours=24)  # a database restored from a younger backup gets its clicks again
REMEMBERED = KEPT + timedelta(days=7)

_INSTANT = Struct("<Q")


@dataclass(eq=False, slots=True)
class Segment:
    """`offset` is how far it is counted, as far as known; None: the database must be asked.
    `read_to` is ahead of it by what is being counted."""

    path: Path
    offset: int | None = None
    begun_end: int | None = None  # of a batch from `offset` that is partly counted
    read_to: int = 0
    size: int = 0
    is_held: bool = True
    is_settled: bool = False  # nobody holds it, and it is counted to its end
    is_failing: bool = False
    turn: int = 0  # of the loader, when it had its last one

    @property
    def id(self) -> bytes:
        return bytes.fromhex(self.path.stem)

    @property
    def counted_file(self) -> Path:
        return self.path.with_suffix(COUNTED_SUFFIX)

    @property
    def backlog(self) -> int:
        return 0 if self.is_settled else max(self.size - (self.offset or 0), 0)

    def doubt(self) -> None:
        """What was read ahead was not counted, or not by this loader."""
        self.offset = None


class JournalFolder:
    """The journals in a folder. A folder without an owner gets one only from the instance that
    writes there (`is_own`)."""

    def __init__(self, path: Path, installation: str, *, is_own: bool) -> None:
        self.path = path
        self._installation = installation
        self._is_own = is_own

    def check(self) -> bool:
        """False while there is no folder. Raises `SettingRefused` if it is another installation's:
        ids of links there mean other links."""
        try:
            owner = (self.path / OWNER).read_text().strip()
        except FileNotFoundError:
            return self.path.is_dir() and self._claim()
        except UnicodeDecodeError:
            owner = "?"
        if owner != self._installation:
            raise SettingRefused(
                f"The journals in {self.path} belong to another installation, because the file"
                f" {OWNER} there does not contain {self._installation}. They are not counted."
            )
        return True

    def create(self) -> None:
        """Creates the folder with its owner, so that it can always be attributed, whatever happens
        to the machine. If that fails, the writer will report it."""
        with contextlib.suppress(OSError, SettingRefused):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.check()

    def list_lone_counted_files(self) -> list[Path]:
        """Those whose segments are removed."""
        segments = {path.stem for path in list_segments(self.path)}
        return [path for path in self.path.glob(f"*{COUNTED_SUFFIX}") if _is_lone(path, segments)]

    def _claim(self) -> bool:
        if not self._is_own:
            raise SettingRefused(
                f"It is unclear which installation the journals in {self.path} belong to. If"
                f" they belong to this one, write {self._installation} to a file named {OWNER}"
                " in that folder."
            )
        fresh = self.path / f".{OWNER}-{secrets.token_hex(8)}"
        try:
            with open_new(fresh) as file:
                file.write(f"{self._installation}\n".encode())
            # Complete or not at all; the first one stays the owner.
            with contextlib.suppress(FileExistsError):
                (self.path / OWNER).hardlink_to(fresh)
        finally:
            fresh.unlink(missing_ok=True)
        return self.check()


def mark_counted(segment: Segment, now_micros: int) -> None:
    """Notes when the segment was counted, unless that is noted already."""
    with contextlib.suppress(FileExistsError):
        segment.counted_file.touch(mode=0o600, exist_ok=False)
        os.utime(segment.counted_file, ns=(now_micros * 1000, now_micros * 1000))


def is_older(file: Path, than: timedelta, now_micros: int) -> bool:
    """Whether its segment was counted that long ago; False if there is no such file."""
    try:
        counted_at = file.stat().st_mtime_ns // 1000
    except FileNotFoundError:
        return False
    return (now_micros - counted_at) * MICROSECOND >= than


def _is_lone(file: Path, segments: Collection[str]) -> bool:
    return is_segment(f"{file.stem}{SUFFIX}") and file.stem not in segments


def find_instant(path: Path, offset: int) -> int | None:
    """When the click at that offset was made, if there is one."""
    with path.open("rb", buffering=0) as file:
        data = os.pread(file.fileno(), FRAME_BYTES + _INSTANT.size, max(offset, HEADER_BYTES))
    if len(data) < FRAME_BYTES + _INSTANT.size:
        return None
    instant: int = _INSTANT.unpack_from(data, FRAME_BYTES)[0]
    return instant if instant < END_OF_TIME else None
