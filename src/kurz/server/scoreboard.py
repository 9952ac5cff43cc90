"""Numbers that worker processes count in memory they share, and that outlive each of them."""

import mmap
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Final

BYTES: Final = 8  # of an unsigned 64-bit number: aligned, so that it is read and written whole


class Scoreboard:
    """A row of numbers for each slot. It is made before forking; each slot has one writer at a
    time, which goes on from what its predecessor there has left. Whoever reads sees each number
    whole, but not all of them at the same moment."""

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

    def row(self, number: int, of_the_moment: Collection[str] = ()) -> "Row":
        """For the worker of a slot. It counts from zero: what its predecessor counted is added,
        but for numbers that say how things are at the moment."""
        return Row(self.names, self.slot(number), of_the_moment)

    def each(self) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Slots that have counted anything, with their numbers by name."""
        for number in range(self.slots):
            row = self.slot(number).tolist()
            if any(row):
                yield number, dict(zip(self.names, row, strict=True))

    def totals(self) -> dict[str, int]:
        """The sums over all slots, of workers that have ended too."""
        numbers, width = self._numbers.tolist(), len(self.names)
        return {name: sum(numbers[place::width]) for place, name in enumerate(self.names)}


class Row:
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
