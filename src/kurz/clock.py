"""The time of day, and instants as the store keeps them: whole microseconds since 1970, UTC."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
TOLERATED_NS = 1_000_000_000  # between two correct clocks


class Clock(Protocol):
    def now(self) -> datetime:
        """The current instant, aware, in UTC."""

    def micros(self) -> int:
        """The same instant as from `to_micros`, for code where every microsecond counts."""

    def earliest_micros(self) -> int:
        """For what cannot be undone: if the clock differs from the machine's, the earlier one."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def micros(self) -> int:
        return time.time_ns() // 1000

    def earliest_micros(self) -> int:
        return self.micros()


def boot_ns() -> int:
    """The time since the machine was started, including suspended time, whatever its clock says."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return time.monotonic_ns()


class SteadyClock:
    """The clock of a process that runs for months. It starts with the machine's time and moves with
    the time that passes: setting the machine's clock back does not revive expired links. `follow`
    moves it, forward or back, but never behind where it would be by itself. Processes that are
    forked with the same clock agree, whenever they start.

    Reading it costs the same as reading the machine's clock. That is why it does not use the clock
    that runs while the machine is suspended: `follow` corrects for that too."""

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        boot_ns: Callable[[], int] = boot_ns,
        running_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.wall_ns = wall_ns
        self._boot_ns = boot_ns
        self._running_ns = running_ns
        self.begin(wall_ns())

    def now(self) -> datetime:
        return from_micros(self.micros())

    def micros(self) -> int:
        return (self._running_ns() + self._ahead_ns) // 1000

    def earliest_micros(self) -> int:
        return min(self.micros(), self.wall_ns() // 1000)

    def begin(self, instant_ns: int) -> None:
        """Sets the clock to this instant, whatever it was before."""
        self._first_ns = self._held_ns = instant_ns - self._boot_ns()
        self.align()

    def follow(self, instant_ns: int) -> int:
        """A better clock shows this instant. Up to a second makes no difference. Returns how far
        this clock is ahead, in nanoseconds, if that is more."""
        boot_ns = self._boot_ns()
        wanted_ns = max(instant_ns - boot_ns, self._first_ns)
        if abs(wanted_ns - self._held_ns) > TOLERATED_NS:
            self._held_ns = wanted_ns
        self.align()
        ahead_ns = self._held_ns + boot_ns - instant_ns
        return ahead_ns if ahead_ns > TOLERATED_NS else 0

    def align(self) -> None:
        """Corrects for the time that the machine was suspended."""
        self._ahead_ns = self._held_ns + self._boot_ns() - self._running_ns()


class EarliestClock:
    """The earliest time of another clock, for code that ends what cannot be restored."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        return from_micros(self.micros())

    def micros(self) -> int:
        return self._clock.earliest_micros()

    def earliest_micros(self) -> int:
        return self.micros()


def to_micros(instant: datetime) -> int:
    return (instant - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def to_micros_or_none(instant: datetime | None) -> int | None:
    return None if instant is None else to_micros(instant)


def from_micros_or_none(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
