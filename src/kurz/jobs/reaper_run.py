"""A run of the reaper for somebody who waits for it. A jobs process has compared clocks for as long
as it lives; whoever has just come cannot tell whether the clock has jumped."""

import asyncio
import contextlib
from collections.abc import Callable

from kurz.jobs.runner import TICK_SECONDS
from kurz.links.upkeep import ChoreState, Upkeep
from kurz.scheduling import Outcome, Result, Run

PATIENCE_SECONDS = 2 * TICK_SECONDS  # a jobs process that lives has looked by then
LOOK_SECONDS = 0.2

LOST = Result(Outcome.FAILED, "The process that ran it stopped, or lost its database connection.")
NOT_TRUSTED = Result(
    Outcome.SKIPPED,
    "The last run was skipped because the clock had jumped, and no jobs process is running to"
    " confirm that it is correct now. Check the clock, then start kurz: it will run the"
    " reaper.",
)


class Asking:
    """Asks whichever jobs process looks first. `tell` hears at every look whether it has begun."""

    def __init__(
        self,
        upkeep: Upkeep,
        tell: Callable[[bool], None] = lambda _: None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._upkeep = upkeep
        self._tell = tell
        self._patience_seconds = patience_seconds
        self._last_id = 0

    async def run(self) -> tuple[Result, Run | None] | None:
        """What came of it, and the run, if it was written down. None: no jobs process is there, and
        nobody is asked any more. Raises `AlreadyRunning`."""
        last = await self._last_run()
        self._last_id = 0 if last is None else last.id
        await self._upkeep.ask()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience_seconds):
                    await self._look_until(self._has_begun)
        finally:  # whoever leaves wants no run hours later, either
            is_nobody_there = await self._upkeep.withdraw()
        if is_nobody_there:
            return None
        run = self._new_run(await self._look_until(self._is_over))
        if run is None or run.outcome is None:
            return LOST, run
        return Result(run.outcome, run.reason), run

    async def objection(self) -> Result | None:
        """Why not to run it here, where no jobs process is."""
        last = await self._last_run()
        return NOT_TRUSTED if last is not None and last.outcome is Outcome.SKIPPED else None

    async def _last_run(self) -> Run | None:
        return next(iter(await self._upkeep.last_runs(1)), None)

    async def _look_until(self, is_met: Callable[[ChoreState], bool]) -> ChoreState:
        while True:
            state = await self._upkeep.look_at(self._upkeep.schedule)
            if is_met(state):
                return state
            self._tell(self._has_begun(state))
            await asyncio.sleep(LOOK_SECONDS)

    def _has_begun(self, state: ChoreState) -> bool:
        return state.lease is not None or self._new_run(state) is not None

    def _is_over(self, state: ChoreState) -> bool:
        """A lease is given back behind the end of its run: without one, there is no more to
        come."""
        run = self._new_run(state)
        return state.lease is None or (run is not None and run.outcome is not None)

    def _new_run(self, state: ChoreState) -> Run | None:
        run = state.last_run
        return run if run is not None and run.id > self._last_id else None
