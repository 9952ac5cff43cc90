"""Scheduled backups, and what becomes of the old ones."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.cli.deep_findings import examine_deeply
from kurz.errors import BackupRefused, BackupUnavailable, KurzError
from kurz.jobs.backups import JOB, STOPPED, BackupWork, Made
from kurz.jobs.runner import Runner
from kurz.links.model import Scope
from kurz.scheduling import Result, RunCause, RunContext, RunOutcome
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.links.checksums import KEY_NAME
from kurz.storage.schema.links import installation
from kurz.wiring.backup_checking import verify_backup
from kurz.wiring.backup_storage import open_storage, open_target
from kurz.wiring.scheduled_backups import make_backups, schedule_of
from support.checksums import spoil
from support.doctor import findings_about
from support.endings import make

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def scheduled(kurz, folder):
    settings = replace(kurz.settings, backup=str(folder), backup_keep=2)
    return replace(kurz, settings=settings)


async def run_now(kurz) -> Result:
    backups = make_backups(kurz)
    assert backups.runner is not None
    assert backups.work is not None
    backups.work._pauses_seconds = (0.01,)
    result = await backups.runner.run(RunCause.NOW)
    assert result is not None
    return result


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_newest_are_kept(scheduled, clock, folder):
    made = []
    for _ in range(4):
        clock.advance(seconds=86_400)
        backups = make_backups(scheduled)
        assert backups.runner is not None
        await backups.runner.run(RunCause.NOW)
        made.append(f"kurz-{clock.now():%Y%m%dT%H%M%SZ}.backup")
        (folder / "notes.txt").touch()
    assert names(folder) == [*made[-2:], "notes.txt"]
    for name in made[-2:]:
        verify_backup(scheduled.settings, open_target(scheduled.settings, str(folder / name)))
    assert names(scheduled.settings.backup_dir) == []
    assert backups.work is not None
    await backups.work.look(clock.now())
    counts = backups.counts()
    assert counts["backup_last_success_timestamp_seconds"] == int(clock.now().timestamp())
    assert counts["backup_last_size_bytes"] == (folder / made[-1]).stat().st_size
    assert (counts["backup_runs"], counts["backup_failed_runs"]) == (1, 0)
    assert counts["backup_interval_seconds"] == 86_400


async def test_a_failed_one_removes_nothing(scheduled, clock, folder):
    for _ in range(2):
        clock.advance(seconds=86_400)
        await run_now(scheduled)
    before = names(folder)
    clock.advance(seconds=86_400)
    fewer = replace(
        scheduled,
        settings=replace(scheduled.settings, backup_keep=1, min_free_megabytes=10**12),
    )
    result = await run_now(fewer)
    assert result.outcome is RunOutcome.FAILED
    assert "free space" in str(result.reason)
    assert names(folder) == before
    [run, *_] = await SqlRunStore(scheduled.database, clock).last(JOB, 1)
    assert run.outcome is RunOutcome.FAILED


async def test_a_folder_that_is_not_mounted_is_not_created(scheduled, folder, tmp_path):
    place = str(tmp_path / "missing" / "backups")
    elsewhere = replace(scheduled, settings=replace(scheduled.settings, backup=place))
    result = await run_now(elsewhere)
    assert result.outcome is RunOutcome.FAILED
    assert not (tmp_path / "missing").exists()


async def test_they_can_be_in_a_bucket(scheduled, clock, s3):
    s3.make_bucket("kurz-scheduled")
    settings = replace(
        scheduled.settings,
        backup="s3://kurz-scheduled/some",
        backup_s3_endpoint=s3.url,
        backup_s3_key_id="anybody",
        backup_s3_secret_key="whatever",
        backup_keep=1,
    )
    for _ in range(2):
        clock.advance(seconds=86_400)
        done = await run_now(replace(scheduled, settings=settings))
        assert done.outcome is RunOutcome.DONE, done.reason
    storage = open_storage(settings)
    assert storage is not None
    [name] = storage.list()
    verify_backup(settings, open_target(settings, f"{settings.backup}/{name}"))


async def test_without_a_place_there_are_none(kurz):
    backups = make_backups(kurz)
    assert backups.runner is None
    assert backups.counts() == {}


async def test_the_doctor_warns_when_the_last_one_is_old(scheduled, clock):
    [(verdict, says)] = await findings_about(scheduled.settings, "backup")
    assert (verdict, "no backup in" in says) == ("warning", True)
    await run_now(scheduled)
    recent = replace(scheduled.settings, backup_interval=timedelta(days=36_000))
    [(verdict, _)] = await findings_about(recent, "backup")
    assert verdict == "ok"
    old = replace(scheduled.settings, backup_interval=timedelta(milliseconds=1))
    [(verdict, says)] = await findings_about(old, "backup")
    assert (verdict, "hours old" in says) == ("warning", True)


async def test_while_a_link_is_damaged_older_backups_are_kept_and_somebody_is_told(
    scheduled, clock, folder
):
    await make(scheduled, custom_code="bad")
    for _ in range(2):
        clock.advance(seconds=86_400)
        await run_now(scheduled)
    good = names(folder)
    await scheduled.database.write(spoil("bad", original_url="https://example.com/x"))
    for number in range(2):
        clock.advance(seconds=86_400)
        with capture_logs() as lines:
            assert (await run_now(scheduled)).outcome is RunOutcome.DONE
        [line] = [it for it in lines if "damaged" in it["event"]]
        assert (line["log_level"], line["links"]) == ("error", 1)
        assert names(folder)[:2] == good
        assert len(names(folder)) == 3 + number
    backups = make_backups(scheduled)
    assert backups.work is not None
    await backups.work.look(clock.now())
    assert backups.counts()["backup_damaged_links"] == 1
    recent = replace(scheduled.settings, backup_interval=timedelta(days=36_000))
    [(verdict, says)] = await findings_about(recent, "backup")
    assert (verdict, "damaged links" in says) == ("error", True)
    assert await findings_about(replace(recent, read_only="on"), "backup") == []
    await run_now(replace(scheduled, settings=replace(recent, min_free_megabytes=10**12)))
    [(verdict, says)] = await findings_about(recent, "backup")
    assert (verdict, "damaged links" in says) == ("error", True)  # also after one that failed
    link = await scheduled.store.find_by_code(0, "bad")
    edit = {"original_url": "https://example.com/right"}
    await scheduled.links.edit(scheduled.links.public_id(link), Scope(), edit)
    clock.advance(seconds=86_400)
    await run_now(scheduled)
    assert len(names(folder)) == 2
    [(verdict, _)] = await findings_about(recent, "backup")
    assert verdict == "ok"


async def test_without_the_key_of_the_checksums_older_backups_are_kept(scheduled, clock, folder):
    await make(scheduled)
    lost = sa.delete(installation).where(installation.c.name == KEY_NAME)
    await scheduled.database.write(lambda connection: connection.execute(lost))
    for number in range(3):
        clock.advance(seconds=86_400)
        with capture_logs() as lines:
            assert (await run_now(scheduled)).outcome is RunOutcome.DONE
        assert [it["log_level"] for it in lines if "key" in it["event"]] == ["error"]
        assert len(names(folder)) == 1 + number
    found = await asyncio.to_thread(lambda: [*examine_deeply(scheduled.settings, lambda *_: None)])
    told = [it.says for it in found if it.about == "backup"]
    assert len(told) == 3
    assert all("its links cannot be checked" in it for it in told)


class Outage:
    """A place that is unavailable for some attempts."""

    def __init__(self, failures: int, error: KurzError) -> None:
        self.attempts = 0
        self._failures = failures
        self._error = error

    def create(self, is_stopping) -> Made:
        self.attempts += 1
        if self.attempts <= self._failures:
            raise self._error
        return Made(42)


def work_of(kurz, outage: Outage) -> BackupWork:
    leases, runs = SqlLeaseStore(kurz.database, kurz.clock), SqlRunStore(kurz.database, kurz.clock)
    return BackupWork(outage.create, lambda: 0, leases, runs, pauses_seconds=(0.01, 0.01))


async def test_a_short_outage_costs_no_backup(kurz):
    outage = Outage(2, BackupUnavailable("The bucket does not answer."))
    context = RunContext(asyncio.Event())
    await work_of(kurz, outage).run(context)
    assert (outage.attempts, context.counts["bytes"]) == (3, 42)


async def test_a_long_outage_is_a_failure(kurz):
    outage = Outage(9, BackupUnavailable("The bucket does not answer."))
    with pytest.raises(BackupUnavailable):
        await work_of(kurz, outage).run(RunContext(asyncio.Event()))
    assert outage.attempts == 3


async def test_what_another_attempt_cannot_change_is_not_tried_again(kurz):
    outage = Outage(9, BackupRefused("There is no free space."))
    with pytest.raises(BackupRefused):
        await work_of(kurz, outage).run(RunContext(asyncio.Event()))
    assert outage.attempts == 1


async def test_a_backup_that_a_restart_stopped_is_made_at_the_next_start(kurz, scheduled, clock):
    work = work_of(kurz, Outage(1, BackupRefused(STOPPED)))
    leases, runs = SqlLeaseStore(kurz.database, clock), SqlRunStore(kurz.database, clock)
    schedule = schedule_of(scheduled.settings)
    stopped = await Runner(schedule, work, leases, runs).run(RunCause.NOW)
    assert stopped is not None
    assert stopped.outcome is RunOutcome.FAILED
    clock.advance(seconds=3600)
    assert schedule.cause(*await leases.look(JOB)) is None
    await work.look(clock.now())
    assert schedule.cause(*await leases.look(JOB)) is RunCause.REQUESTED


async def test_the_doctor_reports_a_folder_that_is_not_there(scheduled, tmp_path):
    place = str(tmp_path / "missing" / "backups")
    found = await findings_about(replace(scheduled.settings, backup=place), "backup")
    assert ("error", "missing" in found[-1][1]) == (found[-1][0], True)
