"""The reaper: marks expired links, and ends those whose time is over.

Nothing waits for it: whether a link has expired is decided at every read.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from kurz.jobs.boot_clock import BootClock, Jumped
from kurz.links.ending.archives import BatchDone, LinkArchiver
from kurz.links.ending.ports import ReaperStore
from kurz.links.ending.reaper_admin import RetentionPlan
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.links.errors import ArchiveUnavailable
from kurz.rounds import wait_at_most
from kurz.scheduling import Result, RunContext, RunOutcome

LOOK_SECONDS = 60.0  # between counts of what waits
VAIN_TRIES = 3  # in a run: files for the archive that were given up

# What a run counts, by what happened to the links.
MARKED = "marked"
COUNTS = {
    RetentionAction.TRASH: "trashed",
    RetentionAction.ARCHIVE: "archived",
    RetentionAction.PURGE: "purged",
}


@dataclass(frozen=True)
class ReaperPace:
    """How many links a batch has, how long the pause after it is, and how long a run takes."""

    batch: int
    pause: timedelta
    longest: timedelta


class Reaper:
    """The `Work` of the reaper. It works in batches, with a pause after each, and no longer than
    `longest`; the next run continues. Marking and the sweep of each kind get the same share of that
    time, so that none waits for the end of another. A reaper that is not enabled runs only on
    request, and does not count what waits."""

    def __init__(
        self,
        store: ReaperStore,
        plan: RetentionPlan,
        pace: ReaperPace,
        archiver: LinkArchiver | None = None,
        *,
        boot_clock: BootClock | None = None,
        is_enabled: bool = True,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._plan = plan
        self._archiver = archiver
        self._pace = pace
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
        self._boot_clock.jump(now)  # so that it compares from now on
        if self._is_enabled and self._monotonic() - self._looked_at >= LOOK_SECONDS:
            self._looked_at = self._monotonic()
            self._waiting = (await self._plan.count(self._store)).total

    async def run(self, context: RunContext) -> Result:
        try:
            return await self._run(context)
        except Jumped as jump:
            return Result(RunOutcome.SKIPPED, str(jump))

    async def _run(self, context: RunContext) -> Result:
        """Links that expire during a run are left to the next one. When each batch took the current
        time instead, a steady stream of expiring links kept the run marking until it had to end."""
        until = self._monotonic() + self._pace.longest.total_seconds()
        began_at = await self._now()
        marking = _Phase(None)
        sweeps = [_Phase(ended) for ended in self._plan.rules()]
        trouble: ArchiveUnavailable | None = None
        while (phase := _next(marking, *sweeps)) is not None and not self._is_over(context, until):
            started = self._monotonic()
            try:
                done = await self._do_batch(context, phase.ended, began_at)
                phase.note(done, self._monotonic() - started)
            except ArchiveUnavailable as error:  # this kind waits for the next run
                trouble, phase.state = error, _State.GIVEN_UP
            if phase is marking and phase.state is _State.MORE:
                for sweep in sweeps:
                    sweep.expect_more()
        self._looked_at = -LOOK_SECONDS
        if trouble is not None:
            return Result(RunOutcome.FAILED, trouble.detail)
        return Result(reason=self._reason(context, [marking, *sweeps]))

    async def _now(self) -> datetime:
        """Raises `Jumped`."""
        now = await self._store.now()
        self._boot_clock.check(now)
        return now

    async def _do_batch(
        self, context: RunContext, ended: EndedKind | None, began_at: datetime
    ) -> BatchDone:
        """One batch of what was due when the run began. `ended` None: links to be marked."""
        now = await self._now()
        due_at = min(began_at, now)
        if ended is None:
            count = await self._store.mark_expired(
                due_at, self._pace.batch, context.stopping.is_set
            )
            done = BatchDone(count, is_more=count > 0)
            await self._note(context, MARKED, done)
            return done
        action, before = self._plan.retention[ended].action, self._plan.before(ended, due_at)
        if action is not RetentionAction.ARCHIVE:
            count = await self._store.sweep(
                ended, action, before, now, self._pace.batch, context.stopping.is_set
            )
            done = BatchDone(count, is_more=count > 0)
        elif self._archiver is not None:
            done = await self._archiver.run(ended, before, now, self._pace.batch)
        else:
            done = BatchDone(0, is_more=False)
        await self._note(context, COUNTS[action], done)
        return done

    async def _note(self, context: RunContext, name: str, done: BatchDone) -> None:
        """Counts what was done. If there may be more, pauses so that others can work in between."""
        if done.count:
            self._done[name] += done.count
            context.add(name, done.count)
        if done.is_more:
            await wait_at_most(context.stopping, self._pace.pause.total_seconds())

    def _is_over(self, context: RunContext, until: float) -> bool:
        return context.stopping.is_set() or self._monotonic() >= until

    def _reason(self, context: RunContext, phases: Sequence["_Phase"]) -> str | None:
        states = {phase.state for phase in phases}
        if states == {_State.DONE}:
            return None
        if context.stopping.is_set():
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

    def __init__(self, ended: EndedKind | None) -> None:
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
        """Links were marked that may be due for this sweep too."""
        if self.state is _State.DONE and self.ended in (EndedKind.TEMPORARY, EndedKind.PERMANENT):
            self.state = _State.MORE


def _next(*phases: _Phase) -> _Phase | None:
    """The phase that has had the least of the run's time."""
    waiting = [phase for phase in phases if phase.state is _State.MORE]
    return min(waiting, key=lambda phase: (phase.seconds, phase.batches), default=None)
