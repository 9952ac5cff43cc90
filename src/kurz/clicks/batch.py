"""What a stretch of a journal adds to the numbers, and what is kept of them."""

from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from kurz.clicks.moments import Moments
from kurz.clicks.segments import Damage


class Kind(IntEnum):
    """What numbers are about. Rows are locked in this order: those that every batch touches last,
    and for the shortest time."""

    LINK = 0
    TAG = 1
    SPACE = 2
    INSTALLATION = 3


class Subject(NamedTuple):
    kind: Kind
    id: int  # of a link; of a space, as `links.space`; of a tag, as `tag_subject` makes it; else 0


INSTALLATION = Subject(Kind.INSTALLATION, 0)


def tag_subject(space: int, tag: str) -> Subject:
    """A tag of a space. Its id is a hash: no two tags of an installation will ever share one."""
    digest = blake2b(f"{space}/{tag}".encode(), digest_size=8).digest()
    return Subject(Kind.TAG, int.from_bytes(digest) >> 1)


class Home(NamedTuple):
    """Where a link's clicks count besides the link itself."""

    space: int
    tags: tuple[str, ...]


class Position(NamedTuple):
    segment: bytes  # its id
    offset: int  # everything before it is counted; 0: nothing is


class Event(NamedTuple):
    """One click, as it is kept for 90 days. No address, not even a network."""

    day: int  # since 1970, UTC
    at_micros: int
    link_id: int
    space: int
    latency_micros: float
    sort: str  # see `Sort`
    country: str  # two capital letters; "" where it is not known, as for all that follow
    referrer: str  # a host
    browser: str  # a bot's name, if it is one
    system: str
    device: str
    language: str
    visitor: bytes  # 8 bytes, zeros for nobody


@dataclass(slots=True)
class DayTally:
    """What is added to one subject's day. `counts` is keyed as `clicks/counts` says."""

    clicks: int = 0
    people: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    visitors: set[bytes] = field(default_factory=set)


@dataclass(slots=True)
class Batch:
    """All that one transaction adds. `start` and `end` are of one segment; the store refuses a
    batch that does not start where that segment's clicks are counted to. One that passes damage by
    adds nothing, and tells of it."""

    start: Position
    end: Position
    clicks: int = 0
    days: dict[tuple[Subject, int], DayTally] = field(default_factory=dict)
    moments: dict[Subject, Moments] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    damage: Damage | None = None
