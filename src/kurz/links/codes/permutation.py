"""A keyed permutation of 0 … size-1: it hides counters and row numbers, and can be undone."""

import hashlib
from math import isqrt

ROUNDS = 10  # as many as NIST's format-preserving FF1 has
KEY_BYTES = 32
_HALF_BYTES = 8
_SHA256_BLOCK_BYTES = 64


class Permutation:
    """A Feistel network over Z_a x Z_a with a = ceil(sqrt(size)), and HMAC-SHA256 as its round
    function. A result beyond `size` is permuted again until it is below `size` (cycle walking)."""

    def __init__(self, key: bytes, size: int, *, purpose: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key of a permutation has {KEY_BYTES} bytes")
        # HMAC's two inner states, computed once: a third of the cost of hmac.digest() a round.
        padded = key.ljust(_SHA256_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))
        self._size = size
        self._side = isqrt(size - 1) + 1
        self._labels = [purpose + bytes([number]) for number in range(ROUNDS)]

    def apply(self, number: int) -> int:
        self._check(number)
        while True:
            left, right = divmod(number, self._side)
            for label in self._labels:
                left, right = right, (left + self._round(label, right)) % self._side
            number = left * self._side + right
            if number < self._size:
                return number

    def invert(self, number: int) -> int:
        self._check(number)
        while True:
            left, right = divmod(number, self._side)
            for label in reversed(self._labels):
                left, right = (right - self._round(label, left)) % self._side, left
            number = left * self._side + right
            if number < self._size:
                return number

    def _round(self, label: bytes, half: int) -> int:
        inner = self._inner.copy()
        inner.update(label + half.to_bytes(_HALF_BYTES))
        outer = self._outer.copy()
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:16])

    def _check(self, number: int) -> None:
        if not 0 <= number < self._size:
            raise ValueError(f"{number} is outside 0 … {self._size - 1}")
