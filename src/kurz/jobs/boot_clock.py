"""Detects that the shared clock has jumped."""

import mmap
from collections.abc import Callable
from datetime import datetime, timedelta
from struct import Struct
from typing import NamedTuple

from kurz.clock import boot_ns, from_micros, to_micros

MOST_APART = timedelta(minutes=5)
# How long a clock must run evenly after a jump until it is trusted. A clock that is ahead makes
# links look older than they are: the operator has a day to notice.
BEHIND_FOR, AHEAD_FOR = timedelta(hours=2), timedelta(hours=24)
DRIFT = 10_000  # an uncorrected quartz is off by at most a ten-thousandth


def boot_seconds() -> float:
    return boot_ns() / 1e9


class Jumped(Exception):
    """The clock has jumped; says why nothing is done."""


class Look(NamedTuple):
    """A reading of both clocks at once."""

    wall: datetime
    boot_seconds: float


class Looks(NamedTuple):
    """What a `BootClock` compares with. `jumped` is the first reading after the last jump."""

    believed: Look | None = None
    jumped: Look | None = None


_LOOKS = Struct("=qdqd")  # wall clock 0: no such reading


class LookMemory:
    """Keeps `Looks` in memory that all forked processes share. There is one writer at a time. If it
    is killed while it writes, the previous value stays."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1 + 2 * _LOOKS.size)  # which half counts, and two halves

    def read(self) -> Looks:
        numbers = _LOOKS.unpack_from(self._memory, self._offset(self._memory[0]))
        return Looks(_look(*numbers[:2]), _look(*numbers[2:]))

    def write(self, looks: Looks) -> None:
        other = 1 - self._memory[0]
        numbers = (*_numbers(looks.believed), *_numbers(looks.jumped))
        _LOOKS.pack_into(self._memory, self._offset(other), *numbers)
        self._memory[0] = other

    @staticmethod
    def _offset(half: int) -> int:
        return 1 + half * _LOOKS.size


def _look(micros: int, seconds: float) -> Look | None:
    return Look(from_micros(micros), seconds) if micros else None


def _numbers(look: Look | None) -> tuple[int, float]:
    return (0, 0.0) if look is None else (to_micros(look.wall), look.boot_seconds)


class BootClock:
    """Compares a wall clock with the machine's boot clock, from the first reading on. After a jump
    the wall clock is trusted again when it has run evenly for a while: by then it is correct, or
    nobody will correct it.

    If the first reading was before a fork, every child compares with it, including a child that
    replaces another after a jump."""

    def __init__(self, seconds: Callable[[], float] = boot_seconds) -> None:
        self._seconds = seconds
        self._memory = LookMemory()

    def jump(self, now: datetime) -> timedelta | None:
        """By how much the wall clock is ahead (or behind, if negative) of where it should be; None
        if that is little enough."""
        look = Look(now, self._seconds())
        looks = self._memory.read()
        believed, jumped = looks.believed or look, looks.jumped
        ahead = _apart(believed, look)
        if ahead is None:
            self._remember(looks, Looks(believed))
            return None
        if jumped is None or _apart(jumped, look) is not None:
            jumped = look
        even_for = AHEAD_FOR if ahead > timedelta() else BEHIND_FOR
        if look.boot_seconds - jumped.boot_seconds < even_for.total_seconds():
            self._remember(looks, Looks(believed, jumped))
            return ahead
        self._remember(looks, Looks(look))
        return None

    def _remember(self, before: Looks, now: Looks) -> None:
        if now != before:
            self._memory.write(now)

    def check(self, now: datetime) -> None:
        """Raises `Jumped`."""
        ahead = self.jump(now)
        if ahead is not None:
            raise Jumped(told(ahead))


def _apart(one: Look, other: Look) -> timedelta | None:
    """How much more time has passed by the wall clock; None if the difference is within what clocks
    may drift."""
    passed = timedelta(seconds=other.boot_seconds - one.boot_seconds)
    ahead = other.wall - one.wall - passed
    return None if abs(ahead) <= MOST_APART + passed / DRIFT else ahead


def told(ahead: timedelta) -> str:
    """Why nothing is done after a jump."""
    minutes = round(abs(ahead) / timedelta(minutes=1))
    where = "ahead of" if ahead > timedelta() else "behind"
    hours = (AHEAD_FOR if ahead > timedelta() else BEHIND_FOR) // timedelta(hours=1)
    return (
        f"The clock has jumped: it is {minutes} min {where} the expected time. Nothing is"
        f" marked, moved or purged until the clock is correct, has run steadily for {hours} h, or"
        " kurz is restarted."
    )
