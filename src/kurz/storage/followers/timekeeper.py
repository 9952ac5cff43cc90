"""Keeps the clock of a process correct, in the background."""

import time
from collections.abc import Callable

import structlog

from kurz.clock import TOLERATED_NS, SteadyClock
from kurz.storage.engine.database import Database
from kurz.storage.engine.instants import read_postgres_now
from kurz.storage.engine.rounds import StoreRounds

WAKE_SECONDS = 1.0
ASK_SECONDS = 60.0  # how often the database is asked: its clock may be set, or its server replaced

_log = structlog.get_logger(__name__)


async def ask_clock(
    database: Database, running_ns: Callable[[], int] = time.monotonic_ns
) -> int | None:
    """What PostgreSQL's clock says now, in nanoseconds. None: the answer took too long to be
    exact."""
    asked_ns = running_ns()
    micros = await database.read(read_postgres_now)
    took_ns = running_ns() - asked_ns
    return micros * 1000 + took_ns // 2 if took_ns <= TOLERATED_NS else None


class TimeKeeper:
    """Makes the clock follow the database's, which all instances share; on SQLite, the machine's.
    While the database is down, the clock just runs on."""

    def __init__(
        self,
        clock: SteadyClock,
        database: Database | None,
        *,
        wake_seconds: float = WAKE_SECONDS,
        ask_seconds: float = ASK_SECONDS,
    ) -> None:
        self._clock = clock
        self._database = database
        self._ask_seconds = ask_seconds
        self._next_at = 0.0
        self._is_ahead = False
        self._rounds = StoreRounds("synchronizing the clock", self.look, wake_seconds)

    async def start(self, *, is_new: bool = True) -> None:
        """Returns when the clock is correct. A clock that `is_new` takes the database's time,
        whatever it is; one that other processes share only follows it."""
        if self._database is None:
            await self.look()
        else:
            instant_ns = await ask_clock(self._database)
            if instant_ns is not None:
                (self._begin if is_new else self._follow)(instant_ns)
        self._next_at = time.monotonic() + self._ask_seconds
        self._rounds.start()

    async def stop(self) -> None:
        await self._rounds.stop()

    async def look(self) -> None:
        """Once a second: the machine may have been suspended, or its clock set."""
        if self._database is None:
            self._follow(self._clock.wall_ns())
            return
        self._clock.align()
        if time.monotonic() >= self._next_at:
            instant_ns = await ask_clock(self._database)
            self._next_at = time.monotonic() + self._ask_seconds
            if instant_ns is not None:
                self._follow(instant_ns)

    def _begin(self, instant_ns: int) -> None:
        difference_ns = self._clock.wall_ns() - instant_ns
        if abs(difference_ns) > TOLERATED_NS:
            _log.warning(
                "clock differs from the database's; using the database's time",
                ahead_seconds=_seconds(difference_ns),
            )
            self._clock.begin(instant_ns)

    def _follow(self, instant_ns: int) -> None:
        before_ns = self._clock.micros() * 1000
        ahead_ns = self._clock.follow(instant_ns)
        moved_ns = self._clock.micros() * 1000 - before_ns
        if abs(moved_ns) > TOLERATED_NS:
            _log.warning("clock was set; using the new time", by_seconds=_seconds(moved_ns))
        if ahead_ns and not self._is_ahead:
            _log.warning(
                "clock was set back; keeping the server's time so that expired links stay"
                " expired; restart the server to use the new time",
                ahead_seconds=_seconds(ahead_ns),
            )
        self._is_ahead = ahead_ns > 0


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / 1e9, 1)
