"""Caches lookups for a moment, to save queries."""

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """Keeps up to `size` values for `seconds` each; the least recently used are dropped first."""

    def __init__(
        self,
        seconds: float,
        size: int = 10_000,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._size = size
        self._monotonic = monotonic
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def peek(self, key: K) -> V | None:
        found = self._kept.get(key)
        if found is None or self._monotonic() >= found[0]:
            return None
        return found[1]

    def keep(self, key: K, value: V) -> V:
        self._kept[key] = (self._monotonic() + self._seconds, value)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        self._kept.pop(key, None)

    def clear(self) -> None:
        self._kept.clear()
