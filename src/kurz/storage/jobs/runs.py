"""What scheduled jobs did: their last runs, and totals of all."""

import json
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from kurz.clock import Clock
from kurz.scheduling import JobTotals, Lease, Result, Run, RunOutcome
from kurz.storage.engine.instants import read_now
from kurz.storage.engine.rows import find_one, to_object
from kurz.storage.engine.store import ClockedStore, reads
from kurz.storage.schema.jobs import job_runs, job_totals

KEPT = 100  # runs of a job: a day, every 15 minutes
NEVER_ENDED = "The process that ran it stopped, or was paused for too long."

_NOTHING = {
    "successful_runs": 0,
    "failed_runs": 0,
    "run_ms": 0,
    "cleaned": 0,
    "last_batch": 0,
    "last_ended_at": None,
}


def begin_run(connection: sa.Connection, lease: Lease, clock: Clock, *, is_requested: bool) -> int:
    now = read_now(connection, clock)
    _end_lost(connection, lease.job, now)
    _forget_old(connection, lease.job)
    of_job = job_totals.c.job == lease.job
    connection.execute(sa.update(job_totals).where(of_job).values(last_batch=0))
    made = insert(job_runs).values(
        job=lease.job, holder=lease.holder, is_requested=is_requested, started_at=now, counts="{}"
    )
    run_id: int = connection.execute(made.returning(job_runs.c.id)).scalar_one()
    return run_id


def end_run(
    connection: sa.Connection,
    run_id: int,
    result: Result,
    counts: Mapping[str, int],
    seconds: float,
    clock: Clock,
) -> bool:
    now = read_now(connection, clock)
    ended = (
        sa.update(job_runs)
        .where(job_runs.c.id == run_id, job_runs.c.outcome.is_(None))
        .values(
            ended_at=now,
            outcome=result.outcome,
            counts=json.dumps(dict(counts)),
            reason=result.reason,
        )
        .returning(job_runs.c.job)
    )
    job = connection.execute(ended).scalar()
    if job is None:
        return False
    if result.outcome is RunOutcome.DONE:
        run_ms = round(seconds * 1000)
        _add(connection, job, successful_runs=1, run_ms=run_ms, last_ended_at=now)
    elif result.outcome is RunOutcome.FAILED:
        _add(connection, job, failed_runs=1)
    return True


def add_cleaned(connection: sa.Connection, job: str, number: int) -> None:
    """Called in the transaction of the cleanup, so that the totals and the counts of the last run
    are exact, even if that run never ends."""
    if number:
        _add(connection, job, cleaned=number, last_batch=number)


def last_runs(connection: sa.Connection, job: str, limit: int) -> list[Run]:
    query = (
        sa.select(job_runs).where(job_runs.c.job == job).order_by(job_runs.c.id.desc()).limit(limit)
    )
    return [
        to_object(Run, row, counts=json.loads(row["counts"]))
        for row in connection.execute(query).mappings()
    ]


def find_totals(connection: sa.Connection, job: str) -> JobTotals:
    query = sa.select(job_totals).where(job_totals.c.job == job)
    return find_one(connection, query, JobTotals) or JobTotals()


class SqlRunStore(ClockedStore):
    """The `RunStore` of both engines."""

    async def begin(self, lease: Lease, *, is_requested: bool) -> int:
        return await self._database.write(begin_run, lease, self._clock, is_requested=is_requested)

    async def end(
        self, run_id: int, result: Result, counts: Mapping[str, int], seconds: float
    ) -> bool:
        write = self._database.write
        return await write(end_run, run_id, result, counts, seconds, self._clock)

    last = reads(last_runs)
    totals = reads(find_totals)


def _end_lost(connection: sa.Connection, job: str, now: int) -> None:
    lost = (
        sa.update(job_runs)
        .where(job_runs.c.job == job, job_runs.c.outcome.is_(None))
        .values(ended_at=now, outcome=RunOutcome.FAILED, reason=NEVER_ENDED)
    )
    if count := connection.execute(lost).rowcount:
        _add(connection, job, failed_runs=count)


def _forget_old(connection: sa.Connection, job: str) -> None:
    newest = (
        sa.select(job_runs.c.id)
        .where(job_runs.c.job == job)
        .order_by(job_runs.c.id.desc())
        .limit(KEPT - 1)  # and the one that begins
    )
    old = sa.and_(job_runs.c.job == job, job_runs.c.id.not_in(newest))
    connection.execute(sa.delete(job_runs).where(old))


def _add(connection: sa.Connection, job: str, **more: int) -> None:
    """Adds to the totals of a job; an instant is replaced."""
    made = insert(job_totals).values(job=job, **(_NOTHING | more))
    changes = {
        name: value if name.endswith("_at") else job_totals.c[name] + value
        for name, value in more.items()
    }
    connection.execute(made.on_conflict_do_update(index_elements=[job_totals.c.job], set_=changes))
