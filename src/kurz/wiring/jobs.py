"""What a jobs process does, over the parts that `core` has opened."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from kurz import logs, metrics
from kurz.jobs.boot_clock import BootClock
from kurz.server.scoreboard import Scoreboard
from kurz.server.usage import own_usage
from kurz.storage.engine.database import Database
from kurz.storage.engine.rounds import StoreRounds
from kurz.storage.followers.backlogs import Backlogs
from kurz.storage.followers.change_log_trimmer import ChangeLogTrimmer
from kurz.storage.followers.checksum_filler import ChecksumFiller
from kurz.storage.followers.event_trimmer import EventTrimmer
from kurz.storage.followers.instance_register import InstanceRegister
from kurz.storage.followers.link_counter import LinkCounter
from kurz.storage.followers.search_indexer import SearchIndexer
from kurz.wiring.checks import are_on as are_checks_on
from kurz.wiring.checks import open_checking
from kurz.wiring.core import Kurz
from kurz.wiring.loader import open_loader
from kurz.wiring.reaper import open_periodic_tasks, open_reaper
from kurz.wiring.rescreen import open_screening
from kurz.wiring.scheduled_backups import open_backups
from kurz.wiring.worker_numbers import Board


@asynccontextmanager
async def open_jobs(
    kurz: Kurz,
    boot_clock: BootClock | None = None,
    board: Board | None = None,
    journals: Sequence[Path] = (),
) -> AsyncIterator[Callable[[], None]]:
    """Runs the background work, in one process on each machine: counts clicks, trims the change log
    and individual clicks, counts active links after their writes, and on SQLite indexes their text.
    One process of the whole installation also reaps links, adds up past months of clicks, checks
    destinations and makes backups. A read-only server does none of this. Yields a function that
    must be called every second; it raises `ProgramOutdated` if this program is too old for the
    database."""
    boot_clock = boot_clock or BootClock()
    board = board or Board(Scoreboard(metrics.NAMES, 1), 0)
    row = board.scoreboard.row(board.slot, metrics.OF_THE_MOMENT)
    if kurz.settings.read_only == "on":
        yield lambda: row.write({metrics.JOBS_ALIVE_AT: int(time.time()), **own_usage()})
        return
    register = InstanceRegister(kurz.database, kurz.clock)
    async with (
        kurz.engine.open_followers_database(kurz.database) as followers_database,
        _open_followers(kurz, followers_database, boot_clock, register) as backlogs,
        open_reaper(kurz, boot_clock) as reaping,
        open_periodic_tasks(kurz, boot_clock) as tasks,
        open_screening(kurz) as screening,
        open_checking(kurz, boot_clock, followers_database) as checking,
        open_backups(kurz) as backups,
        open_loader(kurz, journals) as loader,
    ):

        def tick() -> None:
            register.check()
            row.write(
                {
                    metrics.JOBS_ALIVE_AT: int(time.time()),
                    **own_usage(),
                    **backlogs.counts(),
                    **loader.counts(),
                    **reaping.counts(),
                    **screening.counts(),
                    **checking.counts(),
                    **backups.counts(),
                }
            )
            logs.tell_repeats()

        loader.start()
        reaping.runner.start()
        screening.runner.start()
        checking.start()
        backups.start()
        try:
            yield tick
        finally:  # all end at the same time, while the remaining clicks are counted
            checking.request_stop()
            backups.request_stop()
            for runner in (reaping.runner, screening.runner, *tasks):
                runner.request_stop()


@asynccontextmanager
async def _open_followers(
    kurz: Kurz, database: Database, boot_clock: BootClock, register: InstanceRegister
) -> AsyncIterator[Backlogs]:
    """Starts what follows the change log and what trims. Yields how far it is behind."""

    def is_believed(now: datetime) -> bool:
        return boot_clock.jump(now) is None

    settings, clock = kurz.settings, kurz.clock
    are_followed = are_checks_on(settings)
    backlogs = Backlogs(database, are_followed=are_followed)
    jobs: list[StoreRounds | SearchIndexer] = [
        backlogs,
        ChangeLogTrimmer(database, clock, are_followed=are_followed, is_believed=is_believed),
        EventTrimmer(
            kurz.database, clock, kept_days=settings.click_event_days, is_believed=is_believed
        ),
        LinkCounter(database),
        ChecksumFiller(database),
    ]
    if kurz.engine.has_search_index:
        jobs.append(SearchIndexer(database))
    if kurz.engine.has_instances:
        jobs.append(register)
    for job in jobs:
        job.start()
    try:
        yield backlogs
    finally:
        for job in jobs:
            await job.stop()
