"""Counts the fsync and fdatasync calls of a running process."""

import time

from faults.tracer import AARCH64, X86_64, Tracer

SYNCS = {X86_64: (74, 75), AARCH64: (82, 83)}  # the numbers of fsync and fdatasync


class SyncCounter(Tracer):
    """Counts the syncs that are completed in a block."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        # The time.monotonic_ns() of every sync: after its completion, before its thread went on.
        self.moments: list[int] = []
        self._syncing: set[int] = set()

    @property
    def count(self) -> int:
        """How many syncs were completed so far."""
        return len(self.moments)

    def _on_entry(self, thread: int, arch: int, number: int, _: tuple[int, ...]) -> None:
        if number in SYNCS[arch]:
            self._syncing.add(thread)

    def _on_exit(self, thread: int, _: int, *, is_error: bool) -> None:
        if thread in self._syncing:
            self._syncing.remove(thread)
            if not is_error:
                self.moments.append(time.monotonic_ns())
