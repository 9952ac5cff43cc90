"""Unpacks gzip into lines, in bounded pieces: the unpacked size is only known by unpacking."""

import zlib
from collections.abc import Iterator
from io import BytesIO

from kurz.links.errors import ArchiveFileBroken

PIECE_BYTES = 64 * 1024
# A single link may have many days: one that has as many counts as a day can have takes this much
# in 7 years. Reading a line takes twice its size.
MAX_LINE_BYTES = 24 * 1024 * 1024
# JSON of links is compressed 5 to 30 times; zeros, 1000 times.
MAX_RATIO = 100
FREE_BYTES = 8 * 1024 * 1024  # that may be compressed at any ratio


class Unpacker:
    """Raises `ArchiveFileBroken` for a file that is not gzip, ends too early or continues after its
    end and, if `most_bytes` is given, for more bytes or a higher ratio. A line that is too long is
    None, and never held in memory."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._inflating = zlib.decompressobj(wbits=31)
        self._most_bytes = most_bytes
        self._packed = self._unpacked = 0
        self._line = BytesIO()
        self._line_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """The lines that are complete now, without their ends."""
        for start in range(0, len(chunk), PIECE_BYTES):
            piece = chunk[start : start + PIECE_BYTES]
            self._packed += len(piece)
            found = b"more"
            while piece or len(found) == PIECE_BYTES:
                found = self._inflate(piece)
                yield from self._cut(found)
                piece = self._inflating.unconsumed_tail
            if self._inflating.unused_data:
                raise ArchiveFileBroken("There is more data after the end of the file.")

    def end(self) -> Iterator[bytes | None]:
        """What is left: a last line without an end."""
        if not self._inflating.eof:
            raise ArchiveFileBroken("The file ends too early.")
        if self._line_bytes:
            yield self._take()

    def _inflate(self, piece: bytes) -> bytes:
        try:
            found = self._inflating.decompress(piece, PIECE_BYTES)
        except zlib.error as error:
            raise ArchiveFileBroken(
                f"The file is not gzip-compressed, or is damaged: {error}."
            ) from None
        self._unpacked += len(found)
        if self._most_bytes is not None:
            most = min(self._most_bytes, FREE_BYTES + MAX_RATIO * self._packed)
            if self._unpacked > most:
                raise ArchiveFileBroken("The file is too large when unpacked.")
        return found

    def _cut(self, found: bytes) -> Iterator[bytes | None]:
        first, *more = found.split(b"\n")
        self._keep(first)
        if more:
            yield self._take()
            *whole, last = more
            yield from whole
            self._keep(last)

    def _keep(self, part: bytes) -> None:
        self._line_bytes += len(part)
        if self._line_bytes <= MAX_LINE_BYTES:
            self._line.write(part)
        else:
            self._line = BytesIO()

    def _take(self) -> bytes | None:
        """The line, without a copy of it here."""
        line = None if self._line_bytes > MAX_LINE_BYTES else self._line.getvalue()
        self._line, self._line_bytes = BytesIO(), 0
        return line
