"""Numbers that workers count in shared memory, and that outlive each worker."""

import mmap
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Final

BYTES: Final = 8  # of an unsigned 64-bit number: aligned, so that it is read and written whole


class Scoreboard:
    """A row of numbers for each slot. It is created before forking. Each slot has one writer at a
    time, which continues from what its predecessor has left. Readers see each number whole, but not
    all of them at the same moment."""

    def __init__(self, names: tuple[str, ...], slots: int) -> None:
        if not names or slots < 1:
            raise ValueError("a scoreboard has at least one name and one slot")
        self.names = names
        self.slots = slots
        self.made_at = time.time()
        # Anonymous and shared: the pages are the same ones in every process forked from here.
        memory = mmap.mmap(-1, slots * len(names) * BYTES)
        self._numbers = memoryview(memory).cast("Q")

    def slot(self, number: int) -> memoryview:
        """The numbers of a slot in the order of the names, to be written by its worker."""
        if not 0 <= number < self.slots:
            raise IndexError(f"there is no slot {number}")
        width = len(self.names)
        return self._numbers[number * width : (number + 1) * width]

    def row(self, number: int, of_the_moment: Collection[str] = ()) -> "ScoreboardRow":
        """For the worker of a slot. It counts from zero: what its predecessor counted is added,
        except for numbers that describe the current state."""
        return ScoreboardRow(self.names, self.slot(number), of_the_moment)

    def each(self) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Slots that have counted anything, with their numbers by name."""
        for number in range(self.slots):
            row = self.slot(number).tolist()
            if any(row):
                yield number, dict(zip(self.names, row, strict=True))


class ScoreboardRow:
    def __init__(
        self, names: tuple[str, ...], numbers: memoryview, of_the_moment: Collection[str]
    ) -> None:
        self._names = names
        self._numbers = numbers
        self._before = [
            0 if name in of_the_moment else number
            for name, number in zip(names, numbers.tolist(), strict=True)
        ]

    def write(self, counted: Mapping[str, int]) -> None:
        for place, name in enumerate(self._names):
            self._numbers[place] = self._before[place] + counted.get(name, 0)
