"""The reaper: calls links expired that are, and ends those whose time is over.

Nobody waits for it: whether a link has expired is decided whenever somebody reads it.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto

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
    the next run goes on where one has ended. Marking and the sweep of each kind get the same share
    of that time, so that none waits for the end of another. One that is not enabled runs only if
    somebody asks for it, and does not count what waits."""

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
        is_enabled: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._plan = plan
        self._archiver = archiver
        self._batch = batch
        self._pause_seconds = pause.total_seconds()
        self._longest_seconds = longest.total_seconds()
        self._boot_clock = boot_clock or BootClock()
        self._is_enabled = is_enabled
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
        if self._is_enabled and self._monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = self._monotonic()
            self._waiting = (await self._plan.count(self._store)).total

    async def run(self, turn: Turn) -> Result:
        try:
            return await self._run(turn)
        except Jumped as jump:
            return Result(Outcome.SKIPPED, str(jump))

    async def _run(self, turn: Turn) -> Result:
        """Links that expire during a run are left to the next one. When each batch took the current
        time instead, a steady stream of expiring links kept the run marking until it had to end."""
        until = self._monotonic() + self._longest_seconds
        began_at = await self._now()
        marking = _Phase(None)
        sweeps = [_Phase(ended) for ended in self._plan.rules()]
        trouble: ArchiveUnavailable | None = None
        while (phase := _next(marking, *sweeps)) is not None and not self._is_over(turn, until):
            started = self._monotonic()
            try:
                done = await self._do_batch(turn, phase.ended, began_at)
                phase.note(done, self._monotonic() - started)
            except ArchiveUnavailable as error:  # this kind waits for another run
                trouble, phase.state = error, _State.GIVEN_UP
            if phase is marking and phase.state is _State.MORE:
                for sweep in sweeps:
                    sweep.expect_more()
        self._looked_at = -LOOK_SECONDS
        if trouble is not None:
            return Result(Outcome.FAILED, trouble.detail)
        return Result(reason=self._reason(turn, [marking, *sweeps]))

    async def _now(self) -> datetime:
        """Raises `Jumped`."""
        now = await self._store.now()
        self._boot_clock.check(now)
        return now

    async def _do_batch(self, turn: Turn, ended: Ended | None, began_at: datetime) -> BatchDone:
        """One batch of what was due when the run began. `ended` None: links to be marked."""
        now = await self._now()
        due_at = min(began_at, now)
        if ended is None:
            count = await self._store.mark(due_at, self._batch, turn.stopping.is_set)
            done = BatchDone(count, is_more=count > 0)
            await self._note(turn, MARKED, done)
            return done
        fate, before = self._plan.retention[ended].fate, self._plan.before(ended, due_at)
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

    def _reason(self, turn: Turn, phases: Sequence["_Phase"]) -> str | None:
        states = {phase.state for phase in phases}
        if states == {_State.DONE}:
            return None
        if turn.stopping.is_set():
            return "The run was stopped."
        if _State.MORE in states:
            return "The run reached its time limit; the next run continues."
        return "Some links were changed while being archived; the next run continues."


class _State(Enum):
    MORE = auto()
    DONE = auto()
    GIVEN_UP = auto()  # until the next run


class _Phase:
    """A part of a run: marking, or the sweep of one kind of links."""

    def __init__(self, ended: Ended | None) -> None:
        self.ended = ended
        self.state = _State.MORE
        self.seconds = 0.0  # that it has taken
        self.batches = 0
        self._tries = VAIN_TRIES

    def note(self, done: BatchDone, seconds: float) -> None:
        self.seconds += seconds
        self.batches += 1
        if not done.is_more:
            self.state = _State.DONE
        elif not done.count:
            self._tries -= 1
            if not self._tries:
                self.state = _State.GIVEN_UP

    def expect_more(self) -> None:
        """Links were marked, which may be due for this sweep too."""
        if self.state is _State.DONE and self.ended in (Ended.TEMPORARY, Ended.PERMANENT):
            self.state = _State.MORE


def _next(*phases: _Phase) -> _Phase | None:
    """The one that has had least of the run's time."""
    waiting = [phase for phase in phases if phase.state is _State.MORE]
    return min(waiting, key=lambda phase: (phase.seconds, phase.batches), default=None)
