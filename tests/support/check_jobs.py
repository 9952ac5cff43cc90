"""Links whose destinations are checked, and the job that does it, for tests."""

import asyncio
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from kurz.jobs.boot_clock import BootClock
from kurz.jobs.checks.destinations import CheckJob
from kurz.jobs.checks.queue import CheckPace
from kurz.jobs.runner import Runner
from kurz.links.model import Link
from kurz.scheduling import RunContext
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.checks import schedule_of
from kurz.wiring.core import Kurz
from support import links
from support.checks import FreeTurns, TableChecker, reread, store_of

URL = links.URL


def job_of(
    kurz: Kurz, checker: TableChecker, turns: FreeTurns | None = None, **options: Any
) -> CheckJob:
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    names = {field.name for field in fields(CheckPace)}
    pace = CheckPace(**{"rest_seconds": 0.01, **{k: options[k] for k in names & options.keys()}})
    others = {name: value for name, value in options.items() if name not in names}
    turns = turns or FreeTurns()
    return CheckJob(store_of(kurz), checker, turns, leases, kurz.clock, pace, **others)


def runner_of(kurz: Kurz, job: CheckJob) -> Runner:
    clock = kurz.clock
    leases, runs = SqlLeaseStore(kurz.database, clock), SqlRunStore(kurz.database, clock)
    return Runner(schedule_of(kurz.settings), job, leases, runs)


async def run(job: CheckJob) -> RunContext:
    context = RunContext(asyncio.Event())
    await job.run(context)
    return context


class JumpedClock(BootClock):
    """A clock that says that it jumped by so much."""

    def __init__(self, ahead: timedelta | None) -> None:
        super().__init__()
        self._ahead = ahead

    def jump(self, now: datetime) -> timedelta | None:
        return self._ahead


async def status_of(kurz: Kurz, link: Link) -> str | None:
    return (await reread(kurz, link)).destination_status
