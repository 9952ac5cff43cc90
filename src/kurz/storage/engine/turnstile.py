"""A queue for the processes that write to one SQLite database.

SQLite has no queue. A process that finds the database locked tries again after a pause, which grows
to 100 ms, and a process that writes all the time takes the lock again before that. Writers of kurz
therefore pass this turnstile one at a time, before they ask for the lock. A process that has just
written has to wait for the one in the turnstile. kurz waits for other programs as before.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.001


class Turnstile:
    """Locks the folder of the database, so it needs no file of its own. (Not the database file:
    closing it would release SQLite's own locks.) The system releases the lock if the process dies.
    On file systems without locks, SQLite's lock alone decides. For one thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None

    @contextmanager
    def front(self, ends_at: float) -> Iterator[None]:
        """Waits for its turn until `ends_at`, by `time.monotonic`, and continues in any case."""
        file = self._open()
        is_locked = file is not None and self._lock(file, ends_at)
        try:
            yield
        finally:
            if file is not None and is_locked:
                fcntl.flock(file, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int | None:
        if self._file is None:
            try:
                self._file = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return None
        return self._file

    def _lock(self, file: int, ends_at: float) -> bool:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= ends_at:
                    return False
                time.sleep(POLL_SECONDS)
            except OSError:  # a file system without locks
                return False
            else:
                return True
