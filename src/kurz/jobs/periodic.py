"""What is done now and then, as the runner runs it."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from kurz.jobs.boot_clock import BootClock, told
from kurz.scheduling import Outcome, Result, Turn


class Errand(Protocol):
    async def run(self, is_stopping: Callable[[], bool]) -> Mapping[str, int]:
        """How much of what was done. It comes to an end soon when it is to stop."""


class Chore:
    """The `Work` of an errand. While the clock is not to be trusted it is not done, for what it
    finds too old may not be."""

    def __init__(self, errand: Errand, boot_clock: BootClock | None = None) -> None:
        self._errand = errand
        self._boot_clock = boot_clock or BootClock()
        self._ahead: timedelta | None = None

    async def look(self, now: datetime) -> None:
        self._ahead = self._boot_clock.jump(now)

    async def run(self, turn: Turn) -> Result:
        if self._ahead is not None:
            return Result(Outcome.SKIPPED, told(self._ahead))
        for name, count in (await self._errand.run(turn.stopping.is_set)).items():
            turn.add(name, count)
        return Result()
