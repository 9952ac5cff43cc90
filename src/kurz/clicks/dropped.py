"""How many clicks could not be recorded, in a file that outlives the processes."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from struct import Struct

_NUMBER = Struct("<Q")
# Adding takes microseconds.
_LOCK_TRIES = 20
_LOCK_PAUSE_SECONDS = 0.005


class DroppedClicks:
    """All workers of an instance add to the same file. It has its final size from the start, so
    that it can be written to when the disk is full. Never raises."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, number: int) -> bool:
        """Whether it was written. Waits while others add, but not for a process that is paused."""
        try:
            with self._open() as fd:
                _lock(fd)
                os.pwrite(fd, _NUMBER.pack(_read(fd) + number), 0)
        except OSError:
            return False
        return True

    def read(self) -> int:
        """0 where there is no file, or it cannot be read."""
        try:
            with _closing(os.open(self._path, os.O_RDONLY)) as fd:
                return _read(fd)
        except OSError:
            return 0

    def prepare(self) -> None:
        """Creates the file while there is space for it."""
        with contextlib.suppress(OSError), self._open() as fd:
            if os.fstat(fd).st_size < _NUMBER.size:
                os.pwrite(fd, _NUMBER.pack(0), 0)

    def _open(self) -> contextlib.AbstractContextManager[int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return _closing(os.open(self._path, flags, 0o600))


def _lock(fd: int) -> None:
    """Locks the file until it is closed."""
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(_LOCK_PAUSE_SECONDS)
    raise BlockingIOError


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _read(fd: int) -> int:
    data = os.pread(fd, _NUMBER.size, 0)
    number: int = _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else 0
    return number
