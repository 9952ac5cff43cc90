"""gzip → lines, a bounded piece at a time: what a file unpacks to is only known by unpacking it."""

import zlib
from collections.abc import Iterator

from kurz.links.errors import ArchiveFileBroken

PIECE_BYTES = 64 * 1024
# A link alone may have many days: 20 years of a busy one's come to this.
MAX_LINE_BYTES = 64 * 1024 * 1024
# JSON of links is packed 5 to 30 times; zeros, 1000 times.
MAX_RATIO = 100
FREE_BYTES = 8 * 1024 * 1024  # that may be packed at any ratio


class Unpacker:
    """Raises `ArchiveFileBroken` for a file that is not gzip, ends too early or continues after its
    end, for a line that is too long and, if `most_bytes` is given, for more bytes or a higher
    ratio."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._inflating = zlib.decompressobj(wbits=31)
        self._most_bytes = most_bytes
        self._packed = self._unpacked = 0
        self._parts: list[bytes] = []
        self._line_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that are whole now, without their ends."""
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

    def end(self) -> Iterator[bytes]:
        """What is left: a last line without an end."""
        if not self._inflating.eof:
            raise ArchiveFileBroken("The file ends too early.")
        if self._line_bytes:
            yield b"".join(self._parts)

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

    def _cut(self, found: bytes) -> Iterator[bytes]:
        first, *more = found.split(b"\n")
        self._keep(first)
        if more:
            yield b"".join(self._parts)
            *whole, last = more
            yield from whole
            self._parts, self._line_bytes = [], 0
            self._keep(last)

    def _keep(self, part: bytes) -> None:
        if part:
            self._parts.append(part)
            self._line_bytes += len(part)
        if self._line_bytes > MAX_LINE_BYTES:
            raise ArchiveFileBroken(f"A line has more than {MAX_LINE_BYTES >> 20} MiB.")
