"""The number of visitors, in little memory: their hashes while there are few, then a HyperLogLog. A
sketch is bytes, empty for no visitors; its value depends on the visitors, not on their order."""

from collections.abc import Iterable, Set
from math import log, sqrt
from typing import Final

from kurz.clicks.visitors import VISITOR_BYTES

# The number of registers as a power of two: 1 KB with an error of 3 %, 4 KB with 1.6 %.
PRECISION_OF_LINK: Final = 10
PRECISION_OF_MANY: Final = 12

# The first byte of a sketch is the precision of its registers, one byte each, or this, and hashes
# follow: no more than the registers would take.
_EXACT: Final = 0
_NOBODY: Final = bytes((_EXACT,))
_HASH_BITS: Final = 8 * VISITOR_BYTES
_ALPHA: Final = 1 / (2 * log(2))


def add(sketch: bytes, visitors: Set[bytes], precision: int) -> bytes:
    """The sketch with these visitors in it. The precision matters until there are registers."""
    if sketch and sketch[0] != _EXACT:
        return _register(bytearray(sketch), visitors)
    new = [visitor for visitor in visitors if not _holds(sketch, visitor)]
    if len(sketch) - 1 + len(new) * VISITOR_BYTES <= 1 << precision:
        return b"".join((sketch or _NOBODY, *new)) if new else sketch
    registers = _register(bytearray((precision, *bytes(1 << precision))), new)
    known = (sketch[at : at + VISITOR_BYTES] for at in range(1, len(sketch), VISITOR_BYTES))
    return _register(bytearray(registers), known)


def estimate(sketch: bytes) -> int:
    """How many visitors are in the sketch: exact while it holds their hashes."""
    if not sketch or sketch[0] == _EXACT:
        return len(sketch) // VISITOR_BYTES
    return _estimate(sketch[1:], sketch[0])


def is_sound(sketch: bytes) -> bool:
    """Whether these bytes are a sketch, as `add` makes them."""
    if not sketch:
        return True
    kind, rest = sketch[0], sketch[1:]
    if kind == _EXACT:
        return len(rest) % VISITOR_BYTES == 0 and len(rest) <= 1 << PRECISION_OF_MANY
    if kind not in (PRECISION_OF_LINK, PRECISION_OF_MANY) or len(rest) != 1 << kind:
        return False
    return max(rest) <= _HASH_BITS - kind + 1


def _holds(sketch: bytes, visitor: bytes) -> bool:
    """Whether the hash is among those of the sketch. A match of bytes may span two hashes."""
    at = sketch.find(visitor, 1)
    while at >= 0 and (at - 1) % VISITOR_BYTES:
        at = sketch.find(visitor, at + 1)
    return at >= 0


def _register(sketch: bytearray, visitors: Iterable[bytes]) -> bytes:
    """Each register stores how rare its rarest hash is: its leading zeros, plus 1."""
    bits = _HASH_BITS - sketch[0]
    rest = (1 << bits) - 1
    for visitor in visitors:
        number = int.from_bytes(visitor)
        register = 1 + (number >> bits)
        rarity = bits + 1 - (number & rest).bit_length()
        if rarity > sketch[register]:  # noqa: PLR1730  `max` takes longer, and for nothing mostly
            sketch[register] = rarity
    return bytes(sketch)


def _estimate(registers: bytes, precision: int) -> int:
    """The estimator of Otmar Ertl (arXiv:1702.01284): unbiased for few and many, and without
    tables."""
    size = len(registers)
    bits = _HASH_BITS - precision
    total = size * _tau(1 - registers.count(bits + 1) / size)
    for rarity in range(bits, 0, -1):
        if rarity in registers:  # ten times as fast as counting, and most are absent
            total += registers.count(rarity)
        total *= 0.5
    total += size * _sigma(registers.count(0) / size)
    return round(_ALPHA * size * size / total)


def _sigma(share: float) -> float:
    """What the empty registers add; `share` of all, less than 1."""
    total, step, before = share, 1.0, -1.0
    while total != before:
        before = total
        share *= share
        total += share * step
        step += step
    return total


def _tau(share: float) -> float:
    """What the full registers subtract; all except `share` of them."""
    if share in (0.0, 1.0):
        return 0.0
    total, step, before = 1 - share, 1.0, -1.0
    while total != before:
        before = total
        share = sqrt(share)
        step *= 0.5
        total -= (1 - share) ** 2 * step
    return total / 3
