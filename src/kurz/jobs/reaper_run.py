"""A run of the reaper that a command waits for. A jobs process has compared clocks since its start;
a new process cannot know whether the clock has jumped."""

import asyncio
import contextlib
from collections.abc import Callable

from kurz.jobs.runner import TICK_SECONDS
from kurz.links.ending.reaper_admin import PeriodicTaskState, ReaperAdmin
from kurz.scheduling import Result, Run, RunOutcome

DEADLINE_SECONDS = 2 * TICK_SECONDS  # a running jobs process has looked by then
LOOK_SECONDS = 0.2

LOST = Result(
    RunOutcome.FAILED, "The process that ran it stopped, or lost its database connection."
)
NOT_TRUSTED = Result(
    RunOutcome.SKIPPED,
    "The last run was skipped because the clock had jumped, and no jobs process is running to"
    " confirm that it is correct now. Check the clock, then start kurz: it will run the"
    " reaper.",
)


class Asking:
    """Asks the jobs processes; the first that looks runs it. `tell` is called at every look with
    whether it has begun."""

    def __init__(
        self,
        reaper_admin: ReaperAdmin,
        tell: Callable[[bool], None] = lambda _: None,
        *,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> None:
        self._reaper_admin = reaper_admin
        self._tell = tell
        self._deadline_seconds = deadline_seconds
        self._last_id = 0

    async def run(self) -> tuple[Result, Run | None] | None:
        """The result, and the run, if it was recorded. None: no jobs process is running, and the
        request is withdrawn. Raises `AlreadyRunning`."""
        last = await self._last_run()
        self._last_id = 0 if last is None else last.id
        await self._reaper_admin.ask()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._deadline_seconds):
                    await self._look_until(self._has_begun)
        finally:  # a caller that leaves does not want a run hours later
            is_nobody_there = await self._reaper_admin.withdraw()
        if is_nobody_there:
            return None
        run = self._new_run(await self._look_until(self._is_over))
        if run is None or run.outcome is None:
            return LOST, run
        return Result(run.outcome, run.reason), run

    async def objection(self) -> Result | None:
        """Why it must not run in this process, if no jobs process is running."""
        last = await self._last_run()
        return NOT_TRUSTED if last is not None and last.outcome is RunOutcome.SKIPPED else None

    async def _last_run(self) -> Run | None:
        return next(iter(await self._reaper_admin.last_runs(1)), None)

    async def _look_until(self, is_met: Callable[[PeriodicTaskState], bool]) -> PeriodicTaskState:
        while True:
            state = await self._reaper_admin.look_at(self._reaper_admin.schedule)
            if is_met(state):
                return state
            self._tell(self._has_begun(state))
            await asyncio.sleep(LOOK_SECONDS)

    def _has_begun(self, state: PeriodicTaskState) -> bool:
        return state.lease is not None or self._new_run(state) is not None

    def _is_over(self, state: PeriodicTaskState) -> bool:
        """A lease is released after the end of its run: without one, nothing more will come."""
        run = self._new_run(state)
        return state.lease is None or (run is not None and run.outcome is not None)

    def _new_run(self, state: PeriodicTaskState) -> Run | None:
        run = state.last_run
        return run if run is not None and run.id > self._last_id else None
