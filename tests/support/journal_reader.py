"""Reads journals click by click, with what the loader reads them with."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kurz.clicks.chunks import read_chunk
from kurz.clicks.record import COUNT_ONLY, FRAME_BYTES, MIN_BODY_BYTES, PREFETCH, fields_of
from kurz.clicks.segments import list_segments

AT_A_TIME = 1000


@dataclass(frozen=True, slots=True)
class Click:
    """The fields of a record, by name."""

    at_micros: int
    latency_ns: int  # in steps of 100
    link_id: int
    workspace_id: int
    flags: int
    network: bytes  # 3 bytes of IPv4, 6 of IPv6, or none
    visitor: bytes
    language: bytes
    referrer: bytes
    user_agent: bytes

    @property
    def is_prefetch(self) -> bool:
        return bool(self.flags & PREFETCH)

    @property
    def is_count_only(self) -> bool:
        return bool(self.flags & COUNT_ONLY)

    @property
    def size(self) -> int:
        text = len(self.language) + len(self.referrer) + len(self.user_agent)
        return FRAME_BYTES + MIN_BODY_BYTES + text


def decode(body: bytes) -> Click:
    return Click(*fields_of(body))


def read_all(folder: Path) -> Iterator[Click]:
    """The clicks of all segments of a journal."""
    return (click for path in list_segments(folder) for click, _ in read(path))


def read(path: Path, offset: int = 0) -> Iterator[tuple[Click, int]]:
    """The clicks from that offset on, each with the offset after it."""
    while (chunk := read_chunk(path, offset, AT_A_TIME)).records:
        clicks = [Click(*fields) for fields in chunk.records]
        offset = chunk.end - sum(click.size for click in clicks)
        for click in clicks:
            offset += click.size
            yield click, offset
