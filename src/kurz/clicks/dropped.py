"""How many clicks could not be recorded, in a file that outlives the processes."""

import contextlib
import fcntl
import os
from pathlib import Path
from struct import Struct

_NUMBER = Struct("<Q")


class DroppedClicks:
    """All workers of an instance add to the same file. It has its final size from the start, so
    that it can be written to when the disk is full. Never raises: what cannot be written is lost
    with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def add(self, number: int) -> None:
        with contextlib.suppress(OSError):
            fd = self._open()
            fcntl.flock(fd, fcntl.LOCK_EX)
            try:
                os.pwrite(fd, _NUMBER.pack(_read(fd) + number), 0)
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)

    def read(self) -> int:
        """0 where there is no file."""
        try:
            fd = os.open(self._path, os.O_RDONLY)
        except OSError:
            return 0
        try:
            return _read(fd)
        finally:
            os.close(fd)

    def prepare(self) -> None:
        """Makes the file while there is room for it."""
        with contextlib.suppress(OSError):
            fd = self._open()
            if os.fstat(fd).st_size < _NUMBER.size:
                os.pwrite(fd, _NUMBER.pack(0), 0)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd


def _read(fd: int) -> int:
    data = os.pread(fd, _NUMBER.size, 0)
    number: int = _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else 0
    return number
