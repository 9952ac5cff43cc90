"""The file a worker writes clicks to: created, locked, truncated, synced, closed."""

import contextlib
import fcntl
import os
import secrets
import time
from pathlib import Path

from kurz.clicks.header import Header, path_of
from kurz.files import sync_folder


class SegmentFile:
    """One segment, for its writer. The event loop writes and changes `size`; the journal's thread
    syncs, closes, and sets `limit` to 0 when the next write must go to another file."""

    __slots__ = ("begun_at", "fd", "header", "is_entered", "limit", "path", "size", "synced")

    def __init__(self, folder: Path, limit: int) -> None:
        """Creates the file. Its name appears only when it is locked, so that it does not look like
        one of a dead worker. The header is written with the first records."""
        header = Header(secrets.token_bytes(16), time.time_ns() // 1000)
        self.header = header.encode()
        self.path = path_of(folder, header.id)
        self.size = 0
        self.synced = 0
        self.limit = limit
        self.begun_at = 0.0  # of the first write, by the monotonic clock
        self.is_entered = False  # the folder's entry is on the disk
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        nameless = self.path.with_suffix(".new")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self.fd = os.open(nameless, flags, 0o600)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            nameless.rename(self.path)
        except BaseException:
            os.close(self.fd)
            with contextlib.suppress(OSError):
                nameless.unlink()
            raise

    def cut(self, size: int) -> bool:
        """Truncates the file to that size; False if that fails."""
        self.size = size
        self.synced = -1  # what is written there must be synced again
        try:
            os.ftruncate(self.fd, size)
        except OSError:
            return False
        return True

    def sync(self) -> None:
        """Syncs what was written so far to the disk."""
        size = self.size
        if size != self.synced:
            os.fdatasync(self.fd)
            self.synced = size
        if size and not self.is_entered:
            with contextlib.suppress(FileNotFoundError):  # one that was removed has no entries
                sync_folder(self.path.parent)
            self.is_entered = True

    def is_lost(self) -> bool:
        """True if the file was removed or replaced: nobody would ever read it."""
        try:
            return not os.path.samestat(self.path.stat(), os.fstat(self.fd))
        except (FileNotFoundError, NotADirectoryError):
            return True

    def close(self) -> None:
        """Closes the file; an empty one is removed."""
        if self.size == 0:
            with contextlib.suppress(OSError):
                if not self.is_lost():
                    self.path.unlink()
        os.close(self.fd)
