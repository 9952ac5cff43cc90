"""Periodic tasks, which one process of the installation does at a time."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from kurz.jobs.boot_clock import BootClock
from kurz.jobs.periodic import PeriodicTask
from kurz.people.workspaces import GRACE
from kurz.scheduling import RunCause, RunContext, RunOutcome
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.reaper import make_periodic_tasks, open_reaper_admin
from support.engines import without_redis
from support.people import People

engine = without_redis  # which has no part in it
JOBS = ("housekeeping", "workspaces", "domains", "bans", "accounts", "months")


@pytest.fixture
def runs(kurz) -> SqlRunStore:
    return SqlRunStore(kurz.database, kurz.clock)


async def test_each_has_its_turn_and_leaves_a_record(kurz, clock, runs, people: People):
    owner = await people.add()
    workspace = await people.workspace(owner, "team")
    await kurz.teams.delete(workspace)
    clock.advance(seconds=(GRACE + timedelta(days=1)).total_seconds())
    for periodic_task in make_periodic_tasks(kurz):
        assert await periodic_task.run(RunCause.NOW) is not None
    found = {job: await runs.last(job, 10) for job in JOBS}
    assert [[run.outcome for run in of] for of in found.values()] == [[RunOutcome.DONE]] * len(JOBS)
    assert found["workspaces"][0].counts == {"workspaces": 1, "links": 0}
    assert await kurz.workspaces.find(workspace.id) is None


@pytest.mark.parametrize("switch", ["on", "off"])
async def test_no_workspace_is_purged_while_nothing_is_to_be_reaped(
    kurz, clock, people: People, switch
):
    kurz = replace(kurz, settings=replace(kurz.settings, reaper_enabled=switch))
    workspace = await people.workspace(await people.add(), "team")
    await kurz.teams.delete(workspace)
    clock.advance(seconds=(GRACE + timedelta(days=1)).total_seconds())
    tasks = make_periodic_tasks(kurz)
    for periodic_task in tasks:
        periodic_task._first_at = 0.0  # as if the process had begun long ago
    assert [await periodic_task.tick() for periodic_task in tasks] == [
        job != "workspaces" or switch == "on" for job in JOBS
    ]
    assert (await kurz.workspaces.find(workspace.id) is None) == (switch == "on")
    state = {
        periodic_task.schedule.job: periodic_task
        for periodic_task in await open_reaper_admin(kurz).periodic_tasks()
    }
    assert (state["workspaces"].last_run is None) == (switch == "off")
    assert (state["workspaces"].next_at is None) == (switch == "off")


async def test_of_two_instances_one_does_it(kurz, runs):
    for one, other in zip(make_periodic_tasks(kurz), make_periodic_tasks(kurz), strict=True):
        results = [await one.run(RunCause.DUE), await other.run(RunCause.DUE)]
        assert [result is None for result in results] == [False, True]
    assert [len(await runs.last(job, 10)) for job in JOBS] == [1] * len(JOBS)


@pytest.fixture
def context() -> RunContext:
    return RunContext(asyncio.Event())


class Task:
    def __init__(self) -> None:
        self.runs = 0

    async def run(self, is_stopping):
        self.runs += 1
        return {"stopping": int(is_stopping())}


@pytest.mark.parametrize(
    ("hours", "is_done"), [(0, True), (8, False), (-8, False)], ids=["right", "ahead", "behind"]
)
async def test_nothing_is_done_while_the_clock_is_not_to_be_trusted(clock, context, hours, is_done):
    task = Task()
    periodic_task = PeriodicTask(task, BootClock(lambda: 0.0))
    await periodic_task.look(clock.now())
    await periodic_task.look(clock.now() + timedelta(hours=hours))
    result = await periodic_task.run(context)
    assert (result.outcome is RunOutcome.DONE, task.runs) == (is_done, int(is_done))
    assert (result.reason is None) == is_done


async def test_what_is_to_stop_is_told_so(context):
    context.stopping.set()
    await PeriodicTask(Task()).run(context)
    assert context.counts == {"stopping": 1}
