"""Scheduled backups on PostgreSQL, where any of several instances may make them."""

import asyncio
import os
import threading
import time
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from kurz.cli.deep_findings import examine_deeply
from kurz.clock import MICROSECOND
from kurz.errors import BackupRefused
from kurz.jobs.backups import JOB, LOST, STOPPED, BackupWork, Made
from kurz.jobs.runner import Runner
from kurz.scheduling import Result, RunCause, RunOutcome
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.schema.jobs import leases
from kurz.transfer.backup.manifest import PORTABLE
from kurz.wiring.backup_checking import verify_backup
from kurz.wiring.backup_storage import open_target
from kurz.wiring.restore import BackupRestorer
from kurz.wiring.scheduled_backups import make_backups, schedule_of
from support.doctor import findings_about
from support.jobs import put_back

pytestmark = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
AN_HOUR = timedelta(hours=1)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def scheduled(kurz, folder):
    settings = replace(kurz.settings, backup=str(folder), backup_keep=2)
    return replace(kurz, settings=settings)


async def run(kurz, cause: RunCause = RunCause.NOW) -> Result | None:
    runner = make_backups(kurz).runner
    assert runner is not None
    return await runner.run(cause)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_they_are_portable_and_the_newest_are_kept(scheduled, clock, folder, tmp_path):
    for _ in range(4):
        clock.advance(seconds=86_400)
        result = await run(scheduled)
        assert result is not None
        assert result.outcome is RunOutcome.DONE, result.reason
    found = names(folder)
    assert len(found) == 2
    assert found[-1].startswith(f"kurz-{clock.now():%Y%m%dT%H%M%SZ}-")
    target = open_target(scheduled.settings, str(folder / found[-1]))
    assert verify_backup(scheduled.settings, target).manifest.kind == PORTABLE
    place = replace(scheduled.settings, data_dir=tmp_path / "restored", database_url=None)
    await asyncio.to_thread(BackupRestorer(place).restore, target, clock.now())
    assert place.database_path.exists()
    backups = make_backups(scheduled)
    assert backups.work is not None
    await backups.work.look(clock.now())
    counts = backups.counts()
    assert counts["backup_last_success_timestamp_seconds"] > time.time() - 3600
    assert counts["backup_last_size_bytes"] == (folder / found[-1]).stat().st_size


async def test_of_several_instances_one_makes_the_backup(scheduled, folder):
    results = await asyncio.gather(*(run(scheduled, RunCause.DUE) for _ in range(4)))
    assert sum(result is not None for result in results) == 1
    assert len(names(folder)) == 1
    assert await run(scheduled, RunCause.DUE) is None


async def test_two_that_are_made_in_the_same_second_are_both_kept(scheduled, folder, clock):
    """The frozen clock does not move."""
    await run(scheduled)
    await put_back(scheduled, AN_HOUR)
    await run(scheduled)
    first, second = names(folder)
    assert first.partition("Z")[0] == second.partition("Z")[0]


async def test_an_unfinished_one_of_another_instance_is_only_removed_when_it_is_old(
    scheduled, folder
):
    folder.mkdir()
    recent, old = folder / ".kurz-1.backup.12.part", folder / ".kurz-2.backup.34.part"
    for path in recent, old:
        path.touch()
    os.utime(old, (1, 1))
    await run(scheduled)
    assert recent.exists()
    assert not old.exists()


async def test_the_doctor_looks_after_them(scheduled):
    [(verdict, says)] = await findings_about(scheduled.settings, "backup")
    assert (verdict, "no backup in" in says) == ("warning", True)
    await run(scheduled)
    [(verdict, says)] = await findings_about(scheduled.settings, "backup")
    assert (verdict, "hours old" in says) == ("ok", True)


async def test_the_deep_check_reads_them(scheduled, folder):
    await run(scheduled)

    def examine() -> list[str]:
        found = examine_deeply(scheduled.settings, lambda *_: None)
        return [it.says for it in found if it.about == "backup"]

    [name] = names(folder)
    assert await asyncio.to_thread(examine) == [f"{folder / name} is intact, with 0 links"]


class Slow:
    """A backup that takes as long as the test says. It asks whether to stop, unless it hangs."""

    def __init__(self) -> None:
        self.hangs = False
        self.is_begun = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._is_over = threading.Event()

    def create(self, is_stopping) -> Made:
        self._loop.call_soon_threadsafe(self.is_begun.set)
        while not self._is_over.wait(0.005):
            if not self.hangs and is_stopping():
                raise BackupRefused("stopped")
        return Made(42)

    def end(self) -> None:
        self._is_over.set()


@pytest.fixture
async def slow():
    slow = Slow()
    yield slow
    slow.end()


@pytest.fixture
def runner(scheduled, slow) -> Runner:
    both = stores(scheduled)
    work = BackupWork(slow.create, lambda: 0, *both, renewed_seconds=0.01)
    return Runner(schedule_of(scheduled.settings), work, *both, stop_seconds=0.01)


def stores(kurz) -> tuple[SqlLeaseStore, SqlRunStore]:
    return SqlLeaseStore(kurz.database, kurz.clock), SqlRunStore(kurz.database, kurz.clock)


async def near_end(kurz) -> None:
    """The lease ends soon. Its holder knows when it was taken, so that does not change."""
    sooner = leases.c.until - timedelta(minutes=55) // MICROSECOND
    await kurz.database.write(lambda it: it.execute(sa.update(leases).values(until=sooner)).close())


async def until_renewed(kurz) -> None:
    store, _ = stores(kurz)
    while True:
        lease, now = await store.look(JOB)
        assert lease is not None
        if lease.until > now + AN_HOUR - timedelta(minutes=1):
            return
        await asyncio.sleep(0.01)


async def test_a_backup_may_take_longer_than_a_lease(scheduled, runner, slow, folder):
    making = asyncio.create_task(runner.run(RunCause.NOW))
    await slow.is_begun.wait()
    for _ in range(3):
        await near_end(scheduled)
        await until_renewed(scheduled)
        assert await run(scheduled) is None
    slow.end()
    result = await making
    assert result is not None
    assert result.outcome is RunOutcome.DONE


async def test_one_that_hangs_is_replaced_and_gives_up_when_it_wakes(
    scheduled, runner, slow, folder
):
    slow.hangs = True
    making = asyncio.create_task(runner.run(RunCause.NOW))
    await slow.is_begun.wait()
    await put_back(scheduled, AN_HOUR)
    result = await run(scheduled)
    assert result is not None
    assert result.outcome is RunOutcome.DONE
    slow.hangs = False
    given_up = await making
    assert given_up is not None
    assert (given_up.outcome, given_up.reason) == (RunOutcome.FAILED, LOST)
    assert len(names(folder)) == 1
    [run_now, *_] = await stores(scheduled)[1].last(JOB, 5)
    assert run_now.outcome is RunOutcome.DONE


async def test_one_that_does_not_stop_in_time_is_not_a_good_one(scheduled, runner, slow):
    slow.hangs = True
    making = asyncio.create_task(runner.run(RunCause.NOW))
    await slow.is_begun.wait()
    runner.request_stop()
    result = await making
    assert result is not None
    assert (result.outcome, result.reason) == (RunOutcome.FAILED, STOPPED)
    work = make_backups(scheduled).work
    assert work is not None
    await work.look(scheduled.clock.now())
    assert work.counts()["backup_last_success_timestamp_seconds"] == 0
    seen = await stores(scheduled)[0].look(JOB)  # the next process makes it
    assert schedule_of(scheduled.settings).cause(*seen) is RunCause.REQUESTED
