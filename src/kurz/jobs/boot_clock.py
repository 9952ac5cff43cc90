"""Tells when the clock that everybody goes by has jumped."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from kurz.clock import boot_ns

MOST_APART = timedelta(minutes=5)
# How long a clock that has jumped goes on evenly until it is believed. One that is ahead makes
# links look older than they are: whoever looks after the server has a day to notice.
BEHIND_FOR, AHEAD_FOR = timedelta(hours=2), timedelta(hours=24)
DRIFT = 10_000  # a quartz that nobody corrects is off by a ten-thousandth at most


def boot_seconds() -> float:
    return boot_ns() / 1e9


class Jumped(Exception):
    """Says why nothing is done."""


class Look(NamedTuple):
    """Both clocks at once."""

    wall: datetime
    boot_seconds: float


class BootClock:
    """Compares a wall clock with the machine's boot clock, from the first look on. After a jump the
    wall clock is believed again when it has gone on evenly for a while: then it was set right, or
    nobody is going to."""

    def __init__(self, seconds: Callable[[], float] = boot_seconds) -> None:
        self._seconds = seconds
        self._believed: Look | None = None
        self._jumped: Look | None = None  # the first behind the last jump

    def jump(self, now: datetime) -> timedelta | None:
        """By how much the wall clock is ahead (or behind, if negative) of where it should be; None
        if that is little enough."""
        look = Look(now, self._seconds())
        believed = self._believed or look
        ahead = _apart(believed, look)
        if ahead is None:
            self._believed, self._jumped = believed, None
            return None
        if self._jumped is None or _apart(self._jumped, look) is not None:
            self._jumped = look
        even_for = AHEAD_FOR if ahead > timedelta() else BEHIND_FOR
        if look.boot_seconds - self._jumped.boot_seconds < even_for.total_seconds():
            return ahead
        self._believed, self._jumped = look, None
        return None

    def check(self, now: datetime) -> None:
        """Raises `Jumped`."""
        ahead = self.jump(now)
        if ahead is not None:
            raise Jumped(told(ahead))


def _apart(one: Look, other: Look) -> timedelta | None:
    """How much more has passed by the wall clock; None if no more than clocks may differ by."""
    passed = timedelta(seconds=other.boot_seconds - one.boot_seconds)
    ahead = other.wall - one.wall - passed
    return None if abs(ahead) <= MOST_APART + passed / DRIFT else ahead


def told(ahead: timedelta) -> str:
    """Why nothing is done after a jump."""
    minutes = round(abs(ahead) / timedelta(minutes=1))
    where = "ahead of" if ahead > timedelta() else "behind"
    hours = (AHEAD_FOR if ahead > timedelta() else BEHIND_FOR) // timedelta(hours=1)
    return (
        f"The clock has jumped: it is {minutes} min {where} where it should be. Nothing is marked,"
        f" moved or purged until it is back, has gone on evenly for {hours} h, or kurz is"
        " restarted."
    )
