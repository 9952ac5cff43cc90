"""An entry as it is kept in memory: one bytes object. There may be a million links, and an object
with a field for each of these values takes 200 bytes more.

It starts with `_FIXED`. If any instant is set, `_INSTANTS` follow. The rest is `Entry.tail`.
"""

from struct import Struct
from typing import Final

from kurz.links.fields import REDIRECT_STATUSES
from kurz.links.lifecycle import Outcome
from kurz.redirect.entry import END, KEEP_MICROS, PERMANENT, Entry

# What it takes without its key and itself: the headers of two bytes objects and what rounding their
# sizes up adds (80), a place in a dict that is neither full nor just enlarged (50), and its slot.
OWN_BYTES: Final = 140

# In the flags. Without any, the lane may send the redirect at any time, as it is.
ASGI_ONLY: Final = 1  # the lane may not send it as a redirect
ENDS: Final = 2  # the lane may send it until `servable_until`
FORWARDS_QUERY: Final = 4
_LIMITED: Final = 8
_INSTANTS_FOLLOW: Final = 16

# Flags, number of the status, slot, link tag; version, space, created_at, settled.
_FIXED = Struct("<BBI12sQqqB")
_LANE = Struct("<BBI12s")  # its first part
_IDENTITY = Struct("<Q4xQ")  # link id and version
_IDENTITY_AT = 6
_SPACE = Struct("<q")
SPACE: Final = slice(26, 34)
_INSTANTS = Struct("<qqq")  # servable_until, starts_at, stale_at
_UNTIL = Struct("<q")  # its first part
_NONE = -(2**63)  # no instant

UNTIL_AT: Final = _FIXED.size
# The rest, without and with instants. A slice that exists already takes half the time.
TAIL: Final = slice(UNTIL_AT, None)
LATE_TAIL: Final = slice(UNTIL_AT + _INSTANTS.size, None)
_OUTCOMES = tuple(Outcome)
_POSITIONS = {outcome: number for number, outcome in enumerate(_OUTCOMES)}

# What the lane reads: flags, the number of the status in `REDIRECT_STATUSES`, slot and link tag.
# Of an entry with `ENDS` also `servable_until`, which is at `UNTIL_AT`.
lane_part = _LANE.unpack_from
until_part = _UNTIL.unpack_from


def pack(entry: Entry, slot: int) -> bytes:
    """`slot` is its place in the order of eviction."""
    flags = 0 if entry.is_lane_servable else ASGI_ONLY
    if entry.is_limited:
        flags |= _LIMITED
    if entry.forward_query:
        flags |= FORWARDS_QUERY
    instants = b""
    if entry.starts_at is not None or entry.expires_at is not None or entry.stale_at is not None:
        until = entry.servable_until
        flags |= _INSTANTS_FOLLOW if until is None else _INSTANTS_FOLLOW | ENDS
        set_at = (until, entry.starts_at, entry.stale_at)
        instants = _INSTANTS.pack(*[_NONE if at is None else at for at in set_at])
    fixed = _FIXED.pack(
        flags,
        REDIRECT_STATUSES.index(entry.redirect_status),
        slot,
        entry.link_tag,
        entry.version,
        entry.space,
        entry.created_at,
        _POSITIONS[entry.settled],
    )
    return b"".join((fixed, instants, entry.tail))


def unpack(key: bytes, packed: bytes) -> Entry:
    flags, number, _, link_tag, version, space, created_at, settled = _FIXED.unpack_from(packed)
    status = REDIRECT_STATUSES[number]
    starts_at = expires_at = stale_at = None
    tail = TAIL
    if flags & _INSTANTS_FOLLOW:
        tail = LATE_TAIL
        until, starts_at, stale_at = (
            None if at == _NONE else at for at in _INSTANTS.unpack_from(packed, UNTIL_AT)
        )
        if until is not None:  # see `Entry.servable_until`
            expires_at = until + (KEEP_MICROS if status in PERMANENT else 0)
    return Entry(
        key=key,
        link_tag=link_tag,
        version=version,
        space=space,
        settled=_OUTCOMES[settled],
        location=packed[tail][: -len(END)].decode(),
        redirect_status=status,
        forward_query=bool(flags & FORWARDS_QUERY),
        is_limited=bool(flags & _LIMITED),
        created_at=created_at,
        starts_at=starts_at,
        expires_at=expires_at,
        stale_at=stale_at,
    )


def slot_of(packed: bytes) -> int:
    slot: int = lane_part(packed)[2]
    return slot


def identity_of(packed: bytes) -> tuple[int, int]:
    """The link's id and its version."""
    link_id, version = _IDENTITY.unpack_from(packed, _IDENTITY_AT)
    return link_id, version


def pack_space(space: int) -> bytes:
    """What is at `SPACE` in all links of a space."""
    return _SPACE.pack(space)


def size_of(key: bytes, packed: bytes) -> int:
    """What a link takes in memory, in bytes."""
    return OWN_BYTES + len(key) + len(packed)
