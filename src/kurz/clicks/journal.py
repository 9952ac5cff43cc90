"""The journal of clicks: one worker's own files, written before a redirect is answered.

`segments` reads them. The lock of a file shows that its writer is running. Forked processes inherit
locks, so a worker creates its `Journal` after the fork.
"""

import contextlib
import errno
import os
import threading
import time
from collections import deque
from pathlib import Path

import structlog

from kurz.clicks.dropped import DroppedClicks
from kurz.clicks.segment_file import SegmentFile

MAX_BYTES = 64 * 1024 * 1024
MAX_SECONDS = 3600.0
SYNC_SECONDS = 1.0  # what a loss of power may cost
# While writing fails, creating a file at every click would slow redirects down.
RETRY_SECONDS = 0.1
# A disk that is nearly full takes one write and refuses the next: that is one outage, not many.
RECOVERY_SECONDS = 1.0
FAILED_SECONDS = 60.0  # how long a failure is reported if there was no click since
CLOSE_SECONDS = 10.0  # for a running sync; a disk that is slower than this is broken
# The file itself is intact after one of these errors: there may be space again.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_log = structlog.get_logger(__name__)


class Journal:
    """Stores records, or counts them as `dropped`. `write` is called only by the thread of the
    event loop; files are synced and closed by the journal's own thread."""

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int = MAX_BYTES,
        max_seconds: float = MAX_SECONDS,
        sync_seconds: float = SYNC_SECONDS,
        min_free_bytes: int = 0,
        lost: DroppedClicks | None = None,
    ) -> None:
        """With less than `min_free_bytes` on the disk nothing is recorded, so that the database can
        use the rest. `lost` counts what is dropped. The thread adds to it, once a second and at the
        end: redirects must not wait for its lock."""
        self.records = 0
        self.bytes = 0
        self.dropped = 0
        self.segments = 0
        self.sync_errors = 0
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._sync_seconds = sync_seconds
        self._min_free_bytes = min_free_bytes
        self._lost = lost
        self._saved_lost = 0  # of `dropped`
        self._has_room = True
        self._segment: SegmentFile | None = None
        self._retired: deque[SegmentFile] = deque()
        self._retry_at = 0.0
        self._failed_at = 0.0
        self._is_open = False
        self._is_failing = False
        self._is_sync_failing = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_synced, name="journal", daemon=True)

    def start(self) -> None:
        """Opens the first segment. If that fails, writes try again: redirects must not wait."""
        self._is_open = True
        self._look_for_room()
        self._open()
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """Why clicks are not recorded at the moment."""
        if not self._has_room:
            least = self._min_free_bytes // 1024**2
            return f"Less than {least} MiB are free on the disk of the data folder. Free up space."
        is_recent = time.monotonic() - self._failed_at < FAILED_SECONDS
        if self._is_failing and is_recent:
            return "The journal cannot be written. See the log for the reason."
        return None

    def write(self, records: list[bytes]) -> None:
        """Passes the records to the kernel in one write, and returns when it has them. Never
        raises: records that cannot be stored are counted."""
        segment = self._segment
        if segment is None or segment.size >= segment.limit:
            segment = self._renew()
            if segment is None:
                self.dropped += len(records)
                return
        data = b"".join(records)
        if segment.size == 0:
            data = segment.header + data
            segment.begun_at = time.monotonic()
        try:
            written = os.write(segment.fd, data)
        except OSError as error:
            self._fall_back(segment, records, 0, error)
            return
        if written != len(data):
            self._fall_back(segment, records, written, None)
            return
        segment.size += written
        self.bytes += written
        self.records += len(records)
        if self._is_failing:
            self._recover()

    def close(self) -> None:
        """Syncs and closes the files. Waits for the disk; later records are dropped."""
        if not self._is_open:
            return
        self._is_open = False
        self._stopping.set()
        self._thread.join(CLOSE_SECONDS)
        self._retire()
        if not self._thread.is_alive():
            self._let_go()

    def _renew(self) -> SegmentFile | None:
        """The next segment, instead of one that is full, old or lost; None if there is none."""
        self._retire()
        if self._is_open and time.monotonic() >= self._retry_at:
            self._open()
        return self._segment

    def _open(self) -> None:
        try:
            if not self._has_room:
                raise OSError(errno.ENOSPC, self.problem)
            self._segment = SegmentFile(self._folder, self._max_bytes)
            self.segments += 1
        except OSError as error:
            self._fail(error)
        if self._is_failing:
            self._retry_at = time.monotonic() + RETRY_SECONDS

    def _retire(self) -> None:
        """Leaves closing to the thread, which may be syncing this file."""
        if self._segment is not None:
            self._retired.append(self._segment)
            self._segment = None

    def _fall_back(
        self, segment: SegmentFile, records: list[bytes], written: int, error: OSError | None
    ) -> None:
        """After a write that failed or stored only a part. Whole records stay, because a reader may
        have seen them; the part of a torn one is cut off."""
        head = 0 if segment.size else len(segment.header)
        whole, length = _whole(records, written - head)
        size = segment.size + (head + length if whole else 0)
        self.records += whole
        self.bytes += size - segment.size
        self.dropped += len(records) - whole
        self._fail(error or OSError(errno.ENOSPC, "incomplete write"))
        is_sound = error is None or error.errno in _FULL
        if not segment.cut(size) or not is_sound:
            self._retire()

    def _fail(self, error: OSError) -> None:
        self._failed_at = time.monotonic()
        if not self._is_failing:
            self._is_failing = True
            _log.error("clicks cannot be recorded", folder=str(self._folder), error=str(error))

    def _recover(self) -> None:
        if time.monotonic() < self._failed_at + RECOVERY_SECONDS:
            return
        self._is_failing = False
        _log.warning("clicks are recorded again", dropped=self.dropped)

    def _keep_synced(self) -> None:
        while not self._stopping.wait(self._sync_seconds):
            self._let_go()
            self._look_for_room()
            segment = self._segment
            if segment is not None:
                self._sync(segment)
                self._look_after(segment)
            self._save_lost()
        self._save_lost()

    def _save_lost(self) -> None:
        number = self.dropped - self._saved_lost
        if self._lost is not None and number and self._lost.add(number):
            self._saved_lost += number

    def _let_go(self) -> None:
        while self._retired:
            segment = self._retired.popleft()
            self._sync(segment)
            with contextlib.suppress(OSError):
                segment.close()

    def _sync(self, segment: SegmentFile) -> None:
        try:
            segment.sync()
        except OSError as error:
            self.sync_errors += 1
            if not self._is_sync_failing:
                self._is_sync_failing = True
                _log.error(
                    "clicks cannot be flushed to disk", path=str(segment.path), error=str(error)
                )
        else:
            self._is_sync_failing = False

    def _look_after(self, segment: SegmentFile) -> None:
        """Sends the next write to a new segment if this one is old, or was removed."""
        is_old = segment.size > 0 and time.monotonic() - segment.begun_at >= self._max_seconds
        with contextlib.suppress(OSError):
            if is_old or not self._has_room or segment.is_lost():
                segment.limit = 0

    def _look_for_room(self) -> None:
        with contextlib.suppress(OSError):
            found = os.statvfs(self._folder)
            self._has_room = found.f_bavail * found.f_frsize >= self._min_free_bytes


def _whole(records: list[bytes], stored: int) -> tuple[int, int]:
    """How many of the records are complete in that many bytes, and their length."""
    size = 0
    for count, record in enumerate(records):
        if size + len(record) > stored:
            return count, size
        size += len(record)
    return len(records), size
