"""Codes from a counter: unique by construction, and nobody can guess the next one."""

import hashlib
from typing import Literal

from kurz.links.codes.alphabets import base62
from kurz.links.codes.permutation import Permutation

Scramble = Literal["permutation", "offset"]


# Every space of codes of up to 10 characters divides it, and it fits a column of 64 bits.
_SERIES = 62**10


def offset_of(salt: bytes) -> int:
    return int.from_bytes(hashlib.sha256(salt).digest()[:8], "big")


class CounterCodes:
    """Turns counter values into codes of `length` characters.

    `permutation` (the default) is keyed and hides the order. `offset` adds a constant derived from
    the key: consecutive links then have consecutive codes, which anyone can guess.
    """

    def __init__(self, key: bytes, length: int, scramble: Scramble = "permutation") -> None:
        self._length = length
        self._space = 62**length
        self._offset = offset_of(key)
        self._permutation = Permutation(key, self._space, purpose=b"code-v1")
        self._scramble = scramble

    def code(self, number: int) -> str:
        value = number % self._space
        if self._scramble == "offset":
            return base62((value + self._offset) % self._space, self._length)
        return base62(self._permutation.apply(value), self._length)

    def number_in_series(self, number: int, salt: bytes) -> int:
        """The number in this series that has the same code (with `offset`) as `number` in a series
        with another salt. The numbers after it have the same codes too."""
        return (number + offset_of(salt) - self._offset) % _SERIES
