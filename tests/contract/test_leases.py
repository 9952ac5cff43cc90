"""Leases of jobs and their runs, on both engines, by the database's clock. Time passes by putting
the rows back: PostgreSQL's clock cannot be set."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.scheduling import JobTotals, Lease, Result, RunCause, RunOutcome, Schedule
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import KEPT, NEVER_ENDED, SqlRunStore, add_cleaned
from kurz.storage.schema.jobs import job_runs
from support.engines import without_redis
from support.jobs import SCHEDULE, put_back

# Redis has no part in leases.
engine = without_redis

AT_ONCE = replace(SCHEDULE, at_least=timedelta())


@pytest.fixture
def leases(kurz) -> SqlLeaseStore:
    return SqlLeaseStore(kurz.database, kurz.clock)


@pytest.fixture
def runs(kurz) -> SqlRunStore:
    return SqlRunStore(kurz.database, kurz.clock)


async def taken(
    leases: SqlLeaseStore, holder: str = "one", cause: RunCause = RunCause.DUE
) -> Lease:
    lease = await leases.take(SCHEDULE, holder, cause)
    assert lease is not None
    return lease


async def cause_of(leases: SqlLeaseStore, schedule: Schedule = SCHEDULE) -> RunCause | None:
    return schedule.cause(*await leases.look(schedule.job))


async def test_a_lease_that_nobody_ever_took_is_taken(leases):
    before, _ = await leases.look("reaper")
    lease = await taken(leases)
    found, now = await leases.look("reaper")
    assert before is None
    assert found == lease
    assert lease.is_held(now)
    assert lease.until - lease.taken_at == SCHEDULE.at_most
    assert (lease.holder, lease.ended_at, lease.requested_at) == ("one", None, None)


@pytest.mark.parametrize("cause", RunCause)
async def test_a_lease_that_is_held_is_not_taken(leases, cause):
    await taken(leases)
    assert await leases.take(SCHEDULE, "two", cause) is None
    assert await leases.take(SCHEDULE, "one", cause) is None
    assert (await leases.look("reaper"))[0].holder == "one"
    assert await cause_of(leases) is None


@pytest.mark.parametrize("cause", [RunCause.DUE, RunCause.NOW])
async def test_of_many_at_once_one_takes_it(leases, cause):
    found = await asyncio.gather(
        *(leases.take(SCHEDULE, f"holder {number}", cause) for number in range(16))
    )
    winners = [lease for lease in found if lease is not None]
    assert len(winners) == 1
    assert (await leases.look("reaper"))[0] == winners[0]


async def test_of_many_that_were_asked_one_takes_it(leases):
    await leases.ask("reaper")
    found = await asyncio.gather(
        *(leases.take(SCHEDULE, f"holder {number}", RunCause.REQUESTED) for number in range(16))
    )
    assert sum(lease is not None for lease in found) == 1


async def test_jobs_do_not_share_a_lease(leases):
    await taken(leases)
    assert await leases.take(replace(SCHEDULE, job="checks"), "two", RunCause.DUE) is not None


async def test_a_lease_is_kept_for_its_least_time(leases, kurz):
    assert await leases.give_back(await taken(leases), SCHEDULE.at_least)
    found, now = await leases.look("reaper")
    assert found.ended_at is not None
    assert not found.is_held(now)
    assert found.until == found.taken_at + SCHEDULE.at_least
    every_minute = replace(SCHEDULE, every=timedelta(minutes=1))
    await put_back(kurz, SCHEDULE.at_least - timedelta(minutes=1))
    assert await leases.take(every_minute, "two", RunCause.DUE) is None
    assert await cause_of(leases, every_minute) is None
    await put_back(kurz, timedelta(minutes=1))
    assert await cause_of(leases, every_minute) is RunCause.DUE
    assert await leases.take(every_minute, "two", RunCause.DUE) is not None


async def test_a_job_is_due_again_after_its_interval(leases, kurz):
    await leases.give_back(await taken(leases), timedelta())
    await put_back(kurz, SCHEDULE.every - timedelta(minutes=1))
    assert await cause_of(leases, AT_ONCE) is None
    assert await leases.take(AT_ONCE, "two", RunCause.DUE) is None
    await put_back(kurz, timedelta(minutes=1))
    assert await cause_of(leases, AT_ONCE) is RunCause.DUE
    assert await leases.take(AT_ONCE, "two", RunCause.DUE) is not None


async def test_a_renewed_lease_is_held_for_its_whole_time_again(leases, kurz):
    lease = await taken(leases)
    for _ in range(3):
        await put_back(kurz, SCHEDULE.at_most - timedelta(minutes=1))
        lease = (await leases.look("reaper"))[0]
        assert await leases.renew(lease, SCHEDULE.at_most)
        assert await leases.take(SCHEDULE, "two", RunCause.NOW) is None
    renewed, now = await leases.look("reaper")
    assert renewed.until > now + SCHEDULE.at_most - timedelta(minutes=1)
    assert (renewed.taken_at, renewed.ended_at) == (lease.taken_at, None)


async def test_who_has_lost_a_lease_cannot_renew_it(leases, kurz):
    lost = await taken(leases)
    await put_back(kurz, SCHEDULE.at_most)
    now_held = await taken(leases, "two")
    assert not await leases.renew(lost, SCHEDULE.at_most)
    assert (await leases.look("reaper"))[0] == now_held
    await leases.give_back(now_held, timedelta())
    assert not await leases.renew(now_held, SCHEDULE.at_most)


async def test_a_dead_holder_is_replaced_when_its_time_is_over(leases, kurz):
    await taken(leases)
    await put_back(kurz, SCHEDULE.at_most - timedelta(minutes=1))
    assert await leases.take(SCHEDULE, "two", RunCause.DUE) is None
    await put_back(kurz, timedelta(minutes=1))
    assert await cause_of(leases) is RunCause.DUE
    assert (await taken(leases, "two")).holder == "two"


async def test_who_overslept_does_not_give_back_the_lease_of_another(leases, kurz):
    overslept = await taken(leases)
    await put_back(kurz, SCHEDULE.at_most)
    lease = await taken(leases, "two")
    assert not await leases.give_back(overslept, SCHEDULE.at_least)
    assert (await leases.look("reaper"))[0] == lease


async def test_a_holder_does_not_give_back_what_it_took_later(leases, kurz, clock):
    first = await taken(leases)
    await put_back(kurz, SCHEDULE.at_most)
    clock.advance(seconds=1)
    second = await taken(leases)
    assert not await leases.give_back(first, SCHEDULE.at_least)
    assert await leases.give_back(second, SCHEDULE.at_least)
    assert not await leases.give_back(second, SCHEDULE.at_least)


async def test_a_lease_that_was_held_for_longer_is_free_at_once(leases, kurz):
    lease = await taken(leases)
    await put_back(kurz, timedelta(minutes=12))
    lease = replace(lease, taken_at=lease.taken_at - timedelta(minutes=12))
    assert await leases.give_back(lease, SCHEDULE.at_least)
    found, now = await leases.look("reaper")
    assert found.until == found.ended_at <= now


async def test_who_asks_does_not_wait_for_the_least_time(leases):
    await leases.give_back(await taken(leases), SCHEDULE.at_least)
    assert await leases.take(SCHEDULE, "two", RunCause.DUE) is None
    assert await leases.take(SCHEDULE, "two", RunCause.REQUESTED) is None  # nobody has asked
    requested_at = await leases.ask("reaper")
    assert (await leases.look("reaper"))[0].requested_at == requested_at
    assert await cause_of(leases) is RunCause.REQUESTED
    assert (await taken(leases, "two", RunCause.REQUESTED)).requested_at is None
    assert await leases.take(SCHEDULE, "three", RunCause.REQUESTED) is None


async def test_now_does_not_wait_for_the_least_time(leases):
    await leases.give_back(await taken(leases), SCHEDULE.at_least)
    assert (await taken(leases, "two", RunCause.NOW)).holder == "two"


async def test_a_job_that_never_ran_can_be_asked_for(leases):
    assert await leases.ask("reaper") is not None
    assert await cause_of(leases, replace(SCHEDULE, is_enabled=False)) is RunCause.REQUESTED
    assert (await taken(leases, cause=RunCause.REQUESTED)).holder == "one"


async def test_what_runs_cannot_be_asked_for(leases, kurz):
    await taken(leases)
    assert await leases.ask("reaper") is None
    await put_back(kurz, SCHEDULE.at_most)
    assert await leases.ask("reaper") is not None
    assert await cause_of(leases) is RunCause.REQUESTED


async def test_who_asked_can_take_it_back_until_somebody_begins(leases):
    assert not await leases.withdraw("reaper")
    await leases.ask("reaper")
    await leases.ask("bans")
    assert await leases.withdraw("reaper")
    assert await leases.take(SCHEDULE, "one", RunCause.REQUESTED) is None
    assert (await leases.look("bans"))[0].requested_at is not None
    await leases.ask("reaper")
    await taken(leases, "one", RunCause.REQUESTED)
    assert not await leases.withdraw("reaper")


async def test_a_lease_from_the_future_does_not_last(leases, kurz):
    """The clock was ahead by 8 hours when it was taken, and is right again."""
    await taken(leases)
    await put_back(kurz, -timedelta(hours=8))
    assert await cause_of(leases) is RunCause.DUE
    assert (await taken(leases, "two")).holder == "two"


async def test_a_clock_that_is_corrected_a_little_frees_no_lease(leases, kurz):
    await taken(leases)
    await put_back(kurz, -timedelta(minutes=3))
    assert await cause_of(leases) is None
    assert await leases.take(SCHEDULE, "two", RunCause.DUE) is None


async def test_a_run_is_kept_and_counted(leases, runs):
    lease = await taken(leases)
    run_id = await runs.begin(lease, is_requested=True)
    (run,) = await runs.last("reaper", 10)
    assert (run.holder, run.is_requested, run.outcome, run.ended_at) == ("one", True, None, None)
    assert await runs.end(run_id, Result(), {"purged": 7}, 1.5)
    (run,) = await runs.last("reaper", 10)
    assert (run.outcome, run.counts, run.reason) == (RunOutcome.DONE, {"purged": 7}, None)
    totals = await runs.totals("reaper")
    assert totals == JobTotals(successful_runs=1, run_ms=1500, last_ended_at=run.ended_at)
    assert totals.average_ms == 1500


async def test_a_run_ends_once(leases, runs):
    run_id = await runs.begin(await taken(leases), is_requested=False)
    assert await runs.end(run_id, Result(RunOutcome.FAILED, "The disk is full."), {"marked": 1}, 1)
    assert not await runs.end(run_id, Result(), {}, 1)
    (run,) = await runs.last("reaper", 10)
    assert (run.outcome, run.reason) == (RunOutcome.FAILED, "The disk is full.")
    assert await runs.totals("reaper") == JobTotals(failed_runs=1)


async def test_a_run_that_was_skipped_is_no_success_and_no_failure(leases, runs):
    run_id = await runs.begin(await taken(leases), is_requested=False)
    assert await runs.end(run_id, Result(RunOutcome.SKIPPED, "The clock has jumped."), {}, 1)
    assert await runs.totals("reaper") == JobTotals()


async def test_a_run_that_never_ended_has_failed_when_the_next_begins(leases, runs, kurz):
    lost = await runs.begin(await taken(leases), is_requested=False)
    await put_back(kurz, SCHEDULE.at_most)
    run_id = await runs.begin(await taken(leases, "two"), is_requested=False)
    assert not await runs.end(lost, Result(), {"purged": 1}, 1)  # it was asleep, and wakes up
    assert await runs.end(run_id, Result(), {}, 1)
    newest, oldest = await runs.last("reaper", 10)
    assert (newest.holder, newest.outcome) == ("two", RunOutcome.DONE)
    assert (oldest.outcome, oldest.reason) == (RunOutcome.FAILED, NEVER_ENDED)
    totals = await runs.totals("reaper")
    assert (totals.successful_runs, totals.failed_runs) == (1, 1)


async def test_the_last_runs_are_kept(leases, runs):
    lease = await taken(leases)
    for number in range(KEPT + 5):
        run_id = await runs.begin(lease, is_requested=False)
        await runs.end(run_id, Result(), {"purged": number}, 0.001)
    found = await runs.last("reaper", 1000)
    assert [run.counts["purged"] for run in found] == list(range(KEPT + 4, 4, -1))
    assert [run.counts["purged"] for run in await runs.last("reaper", 2)] == [KEPT + 4, KEPT + 3]
    assert (await runs.totals("reaper")).successful_runs == KEPT + 5


async def test_the_last_run_is_the_one_that_began_last_whatever_the_clock_said(leases, runs, kurz):
    lease = await taken(leases)
    for number in range(KEPT):
        run_id = await runs.begin(lease, is_requested=False)
        await runs.end(run_id, Result(), {"purged": number}, 0.001)
    ahead = sa.update(job_runs).values(started_at=job_runs.c.started_at + 8 * 3600 * 10**6)
    await kurz.database.write(lambda it: it.execute(ahead).close())
    for number in range(KEPT, KEPT + 2):
        run_id = await runs.begin(lease, is_requested=False)
        await runs.end(run_id, Result(), {"purged": number}, 0.001)
    found = await runs.last("reaper", 1000)
    assert [run.counts["purged"] for run in found] == list(range(KEPT + 1, 1, -1))


async def test_what_is_cleaned_adds_up(kurz, leases, runs):
    await asyncio.gather(*(kurz.database.write(add_cleaned, "reaper", 10) for _ in range(20)))
    await kurz.database.write(add_cleaned, "reaper", 0)
    totals = await runs.totals("reaper")
    assert (totals.cleaned, totals.last_batch) == (200, 200)
    await runs.begin(await taken(leases), is_requested=False)
    await kurz.database.write(add_cleaned, "reaper", 10)
    totals = await runs.totals("reaper")
    assert (totals.cleaned, totals.last_batch) == (210, 10)  # the last run has done
