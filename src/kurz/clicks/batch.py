"""What a stretch of a journal adds to the numbers, and what is stored."""

from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from kurz.clicks.moments import Moments
from kurz.clicks.segments import Damage


class SubjectKind(IntEnum):
    """What numbers are about. Rows are locked in this order: those that every batch writes come
    last, and are locked for the shortest time."""

    LINK = 0
    TAG = 1
    SPACE = 2
    INSTALLATION = 3


class Subject(NamedTuple):
    kind: SubjectKind
    id: int  # of a link; of a space (`links.space`); of a tag (`tag_subject`); otherwise 0


INSTALLATION = Subject(SubjectKind.INSTALLATION, 0)


def tag_subject(space: int, tag: str) -> Subject:
    """A tag of a space. Its id is a hash: two tags of an installation will not share one."""
    digest = blake2b(f"{space}/{tag}".encode(), digest_size=8).digest()
    return Subject(SubjectKind.TAG, int.from_bytes(digest) >> 1)


class LinkOwner(NamedTuple):
    """What a link's clicks count for besides the link itself."""

    space: int
    tags: tuple[str, ...]


class JournalPosition(NamedTuple):
    segment: bytes  # its id
    offset: int  # everything before it is counted; 0: nothing is


class SegmentProgress(NamedTuple):
    """How far a segment is counted."""

    offset: int  # everything before it is counted
    begun_end: int | None = None  # of a batch from there that is partly counted


class Event(NamedTuple):
    """One click as it is stored for 90 days. No address, not even a network."""

    day: int  # since 1970, UTC
    at_micros: int
    link_id: int
    space: int
    latency_micros: float
    sort: str  # see `VisitKind`
    country: str  # two capital letters; "" if unknown, as for all fields below
    referrer: str  # a host
    browser: str  # a bot's name, if it is one
    system: str
    device: str
    language: str
    visitor: bytes  # 8 bytes, zeros for nobody


@dataclass(slots=True)
class DayCounts:
    """What is added to one subject's day. `counts` has the keys of `clicks/counts`."""

    clicks: int = 0
    people: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    visitors: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Batch:
    """What a stretch of a segment adds, from `start` to `end`. The store refuses a batch that does
    not start at the segment's counted position. A batch that skips damage has `damage`."""

    start: JournalPosition
    end: JournalPosition
    clicks: int = 0
    days: dict[tuple[Subject, int], DayCounts] = field(default_factory=dict)
    moments: dict[Subject, Moments] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    damage: Damage | None = None
