"""Tasks that are done from time to time, run by the runner."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from kurz.jobs.boot_clock import BootClock, told
from kurz.scheduling import Result, RunContext, RunOutcome


@dataclass(frozen=True)
class TaskPace:
    """How many rows a task changes, or reads, in a transaction, and how long a run takes."""

    batch: int = 1000
    look: int = 10_000
    pause_seconds: float = 0.1
    run_seconds: float = 300.0


USUAL_PACE = TaskPace()


class Task(Protocol):
    async def run(self, is_stopping: Callable[[], bool]) -> Mapping[str, int]:
        """Returns the number of items per action. Ends soon when it must stop."""


class PeriodicTask:
    """The `Work` of a task. It is not done while the clock is not trusted, because what looks too
    old may not be."""

    def __init__(self, task: Task, boot_clock: BootClock | None = None) -> None:
        self._task = task
        self._boot_clock = boot_clock or BootClock()
        self._ahead: timedelta | None = None

    async def look(self, now: datetime) -> None:
        self._ahead = self._boot_clock.jump(now)

    async def run(self, context: RunContext) -> Result:
        if self._ahead is not None:
            return Result(RunOutcome.SKIPPED, told(self._ahead))
        for name, count in (await self._task.run(context.stopping.is_set)).items():
            context.add(name, count)
        return Result()
