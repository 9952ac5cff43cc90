"""Screening, over the parts that `core` has opened: keeps a worker's lists up to date, and screens
existing links."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from kurz.jobs.list_watch import ListWatch
from kurz.jobs.rescreen import USUAL_PACE, Screening, ScreeningPace
from kurz.jobs.runner import Runner
from kurz.safety.rescreening import JOB
from kurz.safety.screening import ListScreen
from kurz.scheduling import Schedule
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.safety.bans import SqlLinkBanStore
from kurz.storage.safety.screening import SqlScreeningStore
from kurz.wiring.core import Kurz

SCHEDULE = Schedule(
    job=JOB,
    every=timedelta(hours=6),
    first_after=timedelta(minutes=1),
    at_least=timedelta(),
    at_most=timedelta(minutes=30),
)


class ListRefresher:
    """Checks every second whether there are newer lists for this worker."""

    def __init__(self, screen: ListScreen) -> None:
        self._screen = screen
        self._task: asyncio.Task[None] | None = None

    def counts(self) -> dict[str, int]:
        screen = self._screen
        return {
            "screen_refused": screen.refused,
            "screen_held": screen.held,
            "lists_unsure": int(not screen.is_sure),
        }

    def tick(self) -> None:
        """In a thread, so that a slow disk delays nothing."""
        provider = self._screen.provider
        if not provider.sources.is_empty and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(asyncio.to_thread(provider.refresh))

    async def stop(self) -> None:
        if self._task is not None:
            await self._task


@asynccontextmanager
async def open_lists(kurz: Kurz) -> AsyncIterator[ListRefresher]:
    """Lists are loaded, as far as they can be read, before anything is served."""
    await asyncio.to_thread(kurz.screen.provider.open)
    refresher = ListRefresher(kurz.screen)
    try:
        yield refresher
    finally:
        await refresher.stop()


@dataclass(frozen=True)
class Rescreening:
    screening: Screening
    runner: Runner

    def counts(self) -> dict[str, int]:
        ran = self.runner.counts()
        names = ("screening_runs", "screening_failed_runs")
        return {**{name: ran[name] for name in names}, **self.screening.counts()}


@asynccontextmanager
async def open_screening(kurz: Kurz) -> AsyncIterator[Rescreening]:
    """Lists are compiled, and links screened, from the start of the runner on."""
    watch = ListWatch(kurz.screen.provider)
    rescreening = make_screening(kurz)
    watch.start()
    try:
        yield rescreening
    finally:
        await rescreening.runner.stop()
        await watch.stop()


def make_screening(kurz: Kurz, pace: ScreeningPace = USUAL_PACE) -> Rescreening:
    database = kurz.database
    clock = kurz.engine.job_clock(kurz.clock)
    leases = SqlLeaseStore(database, clock)
    screening = Screening(
        SqlScreeningStore(database),
        SqlLinkBanStore(database),
        kurz.banned_hosts,
        kurz.screen,
        leases,
        kurz.clock,
        pace,
    )
    runner = Runner(SCHEDULE, screening, leases, SqlRunStore(database, clock))
    return Rescreening(screening, runner)
