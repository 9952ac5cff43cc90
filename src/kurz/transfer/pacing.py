"""How an import shares its process: in slices, with other work in between."""

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# A redirect takes 0.1 ms: one that arrives in the middle of a slice should not wait much longer.
SLICE_SECONDS = 0.0002
REST_SECONDS = 0.001  # the shortest time of the loop's timer
# The thread that stores rows gives the interpreter back after this; usually it is 5 ms.
SWITCH_SECONDS = 0.0001


class ImportPace:
    """`is_over` costs 0.1 µs: call it for each row, and `rest` when it is true."""

    def __init__(self) -> None:
        self._until = 0.0

    def is_over(self) -> bool:
        return time.perf_counter() > self._until

    async def rest(self) -> None:
        await asyncio.sleep(REST_SECONDS)
        self._until = time.perf_counter() + SLICE_SECONDS


class NoPace(ImportPace):
    """For a process that does nothing else."""

    def is_over(self) -> bool:
        return False


class Courtesy:
    """Threads of this process take shorter turns while an import needs that. One per process."""

    def __init__(self) -> None:
        self._count = 0
        self._usual = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        if self._count == 0:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH_SECONDS)
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            if self._count == 0:
                sys.setswitchinterval(self._usual)


courtesy = Courtesy()
