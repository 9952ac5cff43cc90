"""Writes and reads the record of one click. The format is described in
`docs/reference/journal-format.md`; a changed format needs another magic number."""

from struct import Struct
from struct import error as StructError  # noqa: N812  it is a class
from typing import Final
from zlib import crc32

from kurz.clicks.trimming import (
    MAX_LANGUAGE_BYTES,
    MAX_REFERRER_BYTES,
    MAX_USER_AGENT_BYTES,
    language_of,
    origin_of,
)

PREFETCH: Final = 1  # a browser prefetched it, or for a preview: it may never have been shown
COUNT_ONLY: Final = 2  # the visitor asked not to be tracked: nothing else is recorded

UNKNOWN_VISITOR: Final = bytes(8)

_FRAME = Struct("<HI")
_TIME = Struct("<QI")
_LINK_TAG = Struct("<QI")
_VISIT = Struct("<BB6s8sBBH")
_FIXED = Struct("<QIQIBB6s8sBBH")  # the three above

FRAME_BYTES: Final = _FRAME.size
MIN_BODY_BYTES: Final = _FIXED.size
MAX_BODY_BYTES: Final = (
    MIN_BODY_BYTES + MAX_LANGUAGE_BYTES + MAX_REFERRER_BYTES + MAX_USER_AGENT_BYTES
)
MAX_RECORD_BYTES: Final = FRAME_BYTES + MAX_BODY_BYTES

# The highest byte of every instant is 0 until the year 4253. No header of a request can contain a
# zero byte, so no visitor can hide a forged record in their headers.
END_OF_TIME: Final = 2**56

_MAX_LATENCY = 2**32 - 1
_MAX_LATENCY_NS = _MAX_LATENCY * 100
_SIZES_OF_NETWORKS = {0: 0, 4: 3, 6: 6}
_FORMATS_OF_NETWORKS = {size: form for form, size in _SIZES_OF_NETWORKS.items()}

_pack_frame = _FRAME.pack
_pack_time = _TIME.pack
_pack_visit = _VISIT.pack


def encode(at_micros: int, latency_ns: int, link_tag: bytes, visit: bytes) -> bytes:
    """One click as the journal takes it."""
    units = latency_ns // 100 if 0 <= latency_ns < _MAX_LATENCY_NS else _saturated(latency_ns)
    body = _pack_time(at_micros, units) + link_tag + visit
    return _pack_frame(len(body), crc32(body)) + body


def link_tag_of(link_id: int, workspace_id: int) -> bytes:
    """The link's part for `encode`; created once for each cached link."""
    return _LINK_TAG.pack(link_id, workspace_id)


def visit_of(
    network: bytes,
    visitor: bytes,
    flags: int,
    user_agent: bytes,
    referrer: bytes,
    language: bytes,
) -> bytes:
    """The visit's part for `encode`: a truncated network (0, 3 or 6 bytes), the visitor's hash, and
    three headers, trimmed to what may be kept."""
    agent = user_agent[:MAX_USER_AGENT_BYTES]
    return trimmed_visit_of(
        network, visitor, flags, agent, origin_of(referrer), language_of(language)
    )


def trimmed_visit_of(
    network: bytes, visitor: bytes, flags: int, agent: bytes, origin: bytes, tag: bytes
) -> bytes:
    """Like `visit_of`, with values that are already trimmed."""
    if flags & COUNT_ONLY:
        return _pack_visit(flags, 0, b"", b"", 0, 0, 0)
    form = _FORMATS_OF_NETWORKS[len(network)]
    fixed = _pack_visit(flags, form, network, visitor, len(tag), len(origin), len(agent))
    return fixed + tag + origin + agent


# The fields of a record: when it was, its latency in nanoseconds (in steps of 100), its link and
# workspace, flags, network (3 bytes of IPv4, 6 of IPv6, or none), visitor, language, referrer and
# user agent. A tuple is faster to create and to unpack than an object.
Fields = tuple[int, int, int, int, int, bytes, bytes, bytes, bytes, bytes]


def fields_of(body: bytes) -> Fields:
    """The click that a record's body holds. Raises `ValueError` for anything that `encode` would
    not write; unknown bits of the flags are kept."""
    try:
        fields = _FIXED.unpack_from(body)
    except StructError as error:
        raise ValueError("too short for a click") from error
    at, units, link_id, workspace_id, flags, form, place, visitor, tag, origin, agent = fields
    if at >= END_OF_TIME:
        raise ValueError("a time that no click can have")
    if tag > MAX_LANGUAGE_BYTES or origin > MAX_REFERRER_BYTES or agent > MAX_USER_AGENT_BYTES:
        raise ValueError("text too long")
    if MIN_BODY_BYTES + tag + origin + agent != len(body):
        raise ValueError("text lengths do not match")
    referrer_at = MIN_BODY_BYTES + tag
    agent_at = referrer_at + origin
    return (
        at,
        units * 100,
        link_id,
        workspace_id,
        flags,
        _network(form, place),
        visitor,
        body[MIN_BODY_BYTES:referrer_at],
        body[referrer_at:agent_at],
        body[agent_at:],
    )


def end_of(data: bytes, start: int) -> int | None:
    """The end of the record that starts there; None if it continues beyond the data. Raises
    `ValueError` if there is no record."""
    if len(data) - start < FRAME_BYTES:
        return None
    length, checksum = _FRAME.unpack_from(data, start)
    if not MIN_BODY_BYTES <= length <= MAX_BODY_BYTES:
        raise ValueError("invalid record length")
    end: int = start + FRAME_BYTES + length
    if end > len(data):
        return None
    if crc32(data[start + FRAME_BYTES : end]) != checksum:
        raise ValueError("the checksum does not match")
    return end


def _saturated(latency_ns: int) -> int:
    return 0 if latency_ns < 0 else _MAX_LATENCY


def _network(form: int, place: bytes) -> bytes:
    size = _SIZES_OF_NETWORKS.get(form)
    if size is None or any(place[size:]):
        raise ValueError("invalid network")
    return place[:size]
