"""The job that screens links again, for tests."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from kurz.jobs.rescreen import Screening, ScreeningPace
from kurz.links.model import Link, Status
from kurz.safety.rescreening import JOB
from kurz.scheduling import RunContext, RunOutcome
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.safety.bans import SqlLinkBanStore
from kurz.storage.safety.screening import SqlScreeningStore
from kurz.wiring.core import Kurz
from support.endings import found


def make_job(kurz: Kurz, store: SqlScreeningStore | None = None, **options: Any) -> Screening:
    return Screening(
        store or SqlScreeningStore(kurz.database),
        SqlLinkBanStore(kurz.database),
        kurz.banned_hosts,
        kurz.screen,
        SqlLeaseStore(kurz.database, kurz.clock),
        kurz.clock,
        replace(ScreeningPace(batch=2, settle_seconds=0), **options),
    )


async def run(job: Screening) -> dict[str, int]:
    """What was done."""
    context = RunContext(asyncio.Event())
    result = await job.run(context)
    assert result.outcome is RunOutcome.DONE
    return {name: count for name, count in context.counts.items() if count and name != "screened"}


def rewrite(kurz: Kurz, path: Path, text: str | None) -> None:
    """As if the watch had seen it."""
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    kurz.screen.provider.compile()


async def is_requested(kurz: Kurz) -> bool:
    lease, _ = await SqlLeaseStore(kurz.database, kurz.clock).look(JOB)
    return lease is not None and lease.requested_at is not None


async def status_of(kurz: Kurz, link: Link) -> Status:
    return (await get(kurz, link)).status


async def get(kurz: Kurz, link: Link) -> Link:
    now = await found(kurz, link)
    assert now is not None
    return now
