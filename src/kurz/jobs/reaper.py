"""The reaper: calls links expired that are, and ends those whose time is over.

Nobody waits for it: whether a link has expired is decided whenever somebody reads it.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from kurz.jobs.boot_clock import BootClock, Jumped
from kurz.links.archives import BatchDone, LinkArchiver
from kurz.links.errors import ArchiveUnavailable
from kurz.links.reaping import ReaperStore
from kurz.links.retention import Ended, Fate
from kurz.links.upkeep import Plan
from kurz.scheduling import Outcome, Result, Turn

LOOK_SECONDS = 60.0  # between counts of what waits
VAIN_TRIES = 3  # in a run: files for the archive that were given up

# What a run counts, by what became of the links.
MARKED = "marked"
COUNTS = {Fate.TRASH: "trashed", Fate.ARCHIVE: "archived", Fate.PURGE: "purged"}


class Reaper:
    """The `Work` of the reaper. In batches, with a pause after each, and no longer than `longest`;
    the next run goes on where one has ended. Each kind of links has its turn, a batch at a time, so
    that none waits for the end of another."""

    def __init__(
        self,
        store: ReaperStore,
        plan: Plan,
        archiver: LinkArchiver | None = None,
        *,
        batch: int,
        pause: timedelta,
        longest: timedelta,
        boot_clock: BootClock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._plan = plan
        self._archiver = archiver
        self._batch = batch
        self._pause_seconds = pause.total_seconds()
        self._longest_seconds = longest.total_seconds()
        self._boot_clock = boot_clock or BootClock()
        self._monotonic = monotonic
        self._waiting = 0
        self._looked_at = -LOOK_SECONDS
        self._done = dict.fromkeys((MARKED, *COUNTS.values()), 0)

    def counts(self) -> dict[str, int]:
        return {
            **{f"reaper_{name}": count for name, count in self._done.items()},
            "reaper_waiting": self._waiting,
        }

    async def look(self, now: datetime) -> None:
        self._boot_clock.jump(now)  # from the first look on
        if self._monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = self._monotonic()
            self._waiting = (await self._plan.count(self._store)).total

    async def run(self, turn: Turn) -> Result:
        try:
            return await self._run(turn)
        except Jumped as jump:
            return Result(Outcome.SKIPPED, str(jump))

    async def _run(self, turn: Turn) -> Result:
        until = self._monotonic() + self._longest_seconds
        is_more = True
        while is_more and not self._is_over(turn, until):
            count = await self._store.mark(await self._now(), self._batch, turn.stopping.is_set)
            is_more = count > 0
            await self._note(turn, MARKED, BatchDone(count, is_more))
        tries = dict.fromkeys(self._plan.rules(), VAIN_TRIES)
        trouble: ArchiveUnavailable | None = None
        while any(tries.values()) and not self._is_over(turn, until):
            for ended in [ended for ended, left in tries.items() if left]:
                try:
                    done = await self._sweep(turn, ended, await self._now())
                except ArchiveUnavailable as error:  # this kind waits for another run
                    trouble, done = error, BatchDone(0, is_more=False)
                if not done.is_more:
                    del tries[ended]
                elif not done.count:
                    tries[ended] -= 1
                if self._is_over(turn, until):
                    break
        self._looked_at = -LOOK_SECONDS
        if trouble is not None:
            return Result(Outcome.FAILED, trouble.detail)
        return Result(reason=self._reason(turn, tries))

    async def _now(self) -> datetime:
        """Raises `Jumped`."""
        now = await self._store.now()
        self._boot_clock.check(now)
        return now

    async def _sweep(self, turn: Turn, ended: Ended, now: datetime) -> BatchDone:
        """A batch of them, whatever their fate is."""
        fate, before = self._plan.retention[ended].fate, self._plan.before(ended, now)
        if fate is not Fate.ARCHIVE:
            count = await self._store.sweep(
                ended, fate, before, now, self._batch, turn.stopping.is_set
            )
            done = BatchDone(count, is_more=count > 0)
        elif self._archiver is not None:
            done = await self._archiver.run(ended, before, now, self._batch)
        else:
            done = BatchDone(0, is_more=False)
        await self._note(turn, COUNTS[fate], done)
        return done

    async def _note(self, turn: Turn, name: str, done: BatchDone) -> None:
        """If there may be more, others have had their time in between."""
        if done.count:
            self._done[name] += done.count
            turn.add(name, done.count)
        if done.is_more:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_seconds):
                    await turn.stopping.wait()

    def _is_over(self, turn: Turn, until: float) -> bool:
        return turn.stopping.is_set() or self._monotonic() >= until

    def _reason(self, turn: Turn, tries: Mapping[Ended, int]) -> str | None:
        if not tries:
            return None
        if turn.stopping.is_set():
            return "It was stopped."
        if any(tries.values()):
            return "Its time was over; more is left."
        return "Links were written while they were archived; more is left."
