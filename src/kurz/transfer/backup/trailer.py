"""The digest at the end of a backup, of all bytes before it.

It is itself a gzip member, always the same bytes for the same digest. Programs that unpack the
archive have reached its end by then and ignore it.
"""

import zlib
from hashlib import sha256
from typing import BinaryIO, Protocol

_HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_STORED = b"\x01"  # one block that is not compressed, the last one
CHUNK_BYTES = 256 * 1024


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


def trailer_of(digest: bytes) -> bytes:
    text = b"sha256 " + digest.hex().encode() + b"\n"
    length = len(text).to_bytes(2, "little")
    inverted = (len(text) ^ 0xFFFF).to_bytes(2, "little")
    checks = zlib.crc32(text).to_bytes(4, "little") + len(text).to_bytes(4, "little")
    return _HEADER + _STORED + length + inverted + text + checks


TRAILER_BYTES = len(trailer_of(bytes(32)))


class DigestWriter:
    """Adds the trailer to what is written."""

    def __init__(self, file: Writable) -> None:
        self._file = file
        self._digest = sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        self._file.write(data)
        return len(data)

    def flush(self) -> None:
        """For `GzipFile`: the caller, who opened the file, flushes it."""

    def end(self) -> None:
        self._file.write(trailer_of(self._digest.digest()))


class DigestReader:
    """Reads what comes before the trailer."""

    def __init__(self, file: Readable | BinaryIO) -> None:
        self._file = file
        self._digest = sha256()
        self._waiting = bytearray()
        self._is_at_end = False

    def read(self, size: int = -1) -> bytes:
        while not self._is_at_end and (size < 0 or len(self._waiting) < size + TRAILER_BYTES):
            chunk = self._file.read(CHUNK_BYTES)
            self._waiting += chunk
            self._is_at_end = not chunk
        there = max(len(self._waiting) - TRAILER_BYTES, 0)
        taken = there if size < 0 else min(size, there)
        data = bytes(self._waiting[:taken])
        del self._waiting[:taken]
        self._digest.update(data)
        return data

    def is_intact(self) -> bool:
        """Reads what is left. False: some byte was changed, added or is missing."""
        while self.read(CHUNK_BYTES):
            pass
        return bytes(self._waiting) == trailer_of(self._digest.digest())
