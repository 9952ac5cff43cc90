"""The reaper as administrators and visitors meet it: over HTTP, on real stores."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import httpx2
import pytest

from kurz.errors import StoreUnavailable
from kurz.jobs.reaper import Reaper, ReaperPace
from kurz.jobs.runner import Runner
from kurz.links.ending.ports import IsStopping, never
from kurz.links.ending.retention import EndedKind, RetentionAction
from kurz.people.access import Permission
from kurz.scheduling import Result, RunCause, RunOutcome
from kurz.storage.ending.reaping import SqlReaperStore
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.core import Kurz
from kurz.wiring.reaper import Reaping, make_periodic_tasks, open_reaper
from support.engines import redis_in_the_long_run
from support.jobs import SCHEDULE, put_back

# Whom Redis is told of is another test's.
engine = redis_in_the_long_run

STATS = "/api/admin/cleanup/stats"
REAPER = "/api/v1/admin/reaper"
URL = "https://example.com/"
NOTHING_YET = {
    "last_cleanup_time": None,
    "total_cleaned": 0,
    "last_batch_size": 0,
    "successful_runs": 0,
    "failed_runs": 0,
    "average_cleanup_ms": 0.0,
    "is_running": False,
    "expired_waiting": 0,
}


@pytest.fixture
async def admin(people) -> dict[str, str]:
    """The headers of an administrator whose key does not end."""
    person = await people.add(is_admin=True)
    return {"x-api-key": await people.key(person, Permission.ADMIN)}


@pytest.fixture
async def reaping(kurz) -> AsyncIterator[Reaping]:
    """What a jobs process has; it runs when the test says so."""
    async with open_reaper(kurz) as parts:
        yield parts


async def get(client: httpx2.AsyncClient, path: str, admin: dict[str, str]) -> dict[str, Any]:
    answer = await client.get(path, headers=admin)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def make_temporary(client: httpx2.AsyncClient, number: int = 1) -> list[str]:
    """Anonymous links; their codes."""
    answers = [
        await client.post("/api/v1/links", json={"original_url": URL}) for _ in range(number)
    ]
    return [answer.json()["short_code"] for answer in answers]


async def test_a_reaper_that_never_ran_has_nothing_to_tell(client, admin):
    assert await get(client, STATS, admin) == NOTHING_YET
    found = await get(client, REAPER, admin)
    assert found.pop("next_run_at") is not None
    assert all(job.pop("next_run_at") is not None for job in found["jobs"])
    assert found == {
        "is_enabled": True,
        "is_running": False,
        "interval_seconds": 900,
        "window": None,
        "has_archive": False,
        "preset": "default",
        "is_preset_changed": False,
        "rules": [
            {"ended": "temporary", "after_seconds": 3600, "action": "purge", "waiting": 0},
            {"ended": "permanent", "after_seconds": 604_800, "action": "trash", "waiting": 0},
            {"ended": "swept", "after_seconds": 7_776_000, "action": "archive", "waiting": None},
            {"ended": "deleted", "after_seconds": 2_592_000, "action": "purge", "waiting": 0},
        ],
        "unmarked": 0,
        "requested_at": None,
        "lease": None,
        "runs": [],
        "jobs": [
            {
                "job": job,
                "is_enabled": True,
                "interval_seconds": seconds,
                "last_run": None,
                "lease": None,
            }
            for job, seconds in (
                ("housekeeping", 3600),
                ("workspaces", 86_400),
                ("domains", 86_400),
                ("bans", 3600),
                ("accounts", 3600),
                ("months", 600),
            )
        ],
    }


async def test_what_is_done_beside_it_is_told(client, admin, kurz):
    for task in make_periodic_tasks(kurz):
        assert await task.run(RunCause.NOW) is not None
    jobs = {job["job"]: job for job in (await get(client, REAPER, admin))["jobs"]}
    assert jobs["workspaces"]["last_run"]["counts"] == {"workspaces": 0, "links": 0}
    assert {job["last_run"]["outcome"] for job in jobs.values()} == {"done"}


async def test_what_a_run_did_is_told_by_every_instance(
    client, connect, admin, add_link, clock, reaping
):
    codes = await make_temporary(client, 3)
    kept = await add_link(URL, expires_in_seconds=60)
    clock.advance(days=8)
    assert [(await client.get(f"/{code}")).status_code for code in codes] == [410] * 3
    assert (await get(client, STATS, admin))["expired_waiting"] == 4
    assert await reaping.runner.run(RunCause.NOW) is not None
    other = await connect(log_level="info")  # another instance on the same store
    for each in (client, other):
        stats = await get(each, STATS, admin)
        assert stats.pop("last_cleanup_time") is not None
        assert stats.pop("average_cleanup_ms") > 0
        assert stats == {
            "total_cleaned": 4,
            "last_batch_size": 4,
            "successful_runs": 1,
            "failed_runs": 0,
            "is_running": False,
            "expired_waiting": 0,
        }
        (run,) = (await get(each, REAPER, admin))["runs"]
        assert (run["outcome"], run["is_requested"], run["reason"]) == ("done", True, None)
        assert run["counts"] == {"marked": 4, "purged": 3, "trashed": 1}
    assert [(await other.get(f"/{code}")).status_code for code in codes] == [404] * 3
    assert (await other.get(f"/{kept.short_code}")).status_code == 410
    assert await reaping.runner.run(RunCause.NOW) is not None  # which finds nothing to do
    stats = await get(client, STATS, admin)
    assert (stats["total_cleaned"], stats["last_batch_size"]) == (4, 0)


async def test_who_asks_gets_a_run_from_whichever_process_looks(client, admin, clock, reaping):
    await make_temporary(client)
    clock.advance(days=1)
    answer = await client.post(f"{REAPER}/run", headers=admin)
    assert answer.status_code == 202
    requested_at = answer.json()["requested_at"]
    assert (await get(client, REAPER, admin))["requested_at"] == requested_at
    assert (await get(client, STATS, admin))["is_running"] is False
    assert await reaping.runner.tick()
    assert not await reaping.runner.tick()
    found = await get(client, REAPER, admin)
    assert found["requested_at"] is None
    assert [run["is_requested"] for run in found["runs"]] == [True]
    assert (await get(client, STATS, admin))["total_cleaned"] == 1


async def test_while_it_runs_nobody_can_have_it_run(client, admin, kurz):
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    lease = await leases.take(SCHEDULE, "elsewhere:1:2", RunCause.DUE)
    assert lease is not None
    assert (await get(client, STATS, admin))["is_running"] is True
    found = await get(client, REAPER, admin)
    assert found["is_running"] is True
    assert found["lease"]["holder"] == "elsewhere:1:2"
    answer = await client.post(f"{REAPER}/run", headers=admin)
    assert answer.status_code == 409
    assert answer.json()["type"] == "/api/problems/already-running"
    await leases.give_back(lease, SCHEDULE.at_least)
    assert (await get(client, STATS, admin))["is_running"] is False
    assert (await client.post(f"{REAPER}/run", headers=admin)).status_code == 202


async def test_a_dead_holder_is_not_said_to_run(client, admin, kurz):
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    await leases.take(SCHEDULE, "dead", RunCause.DUE)
    await put_back(kurz, SCHEDULE.at_most)
    assert (await get(client, STATS, admin))["is_running"] is False


async def test_settings_say_what_it_does(connect, admin):
    client = await connect(
        reaper_enabled="off",
        retention="archival",
        retention_deleted=timedelta(days=1),
        retention_swept=timedelta.max,
    )
    found = await get(client, REAPER, admin)
    assert (found["is_enabled"], found["next_run_at"]) == (False, None)
    assert found["interval_seconds"] == 86_400
    assert {rule["ended"]: (rule["after_seconds"], rule["action"]) for rule in found["rules"]} == {
        "temporary": (604_800, "trash"),
        "permanent": (604_800, "trash"),
        "swept": (None, "archive"),
        "deleted": (86_400, "archive"),
    }


class FailingSweeps(SqlReaperStore):
    """A store whose second batch fails, for as long as it is out."""

    is_out = True
    batches = 0

    async def sweep(
        self,
        ended: EndedKind,
        action: RetentionAction,
        before: datetime,
        now: datetime,
        limit: int,
        is_stopping: IsStopping = never,
    ) -> int:
        if self.is_out and self.batches:
            raise StoreUnavailable("The disk of the database is full.")
        self.batches += 1
        return await super().sweep(ended, action, before, now, limit, is_stopping)


def failing(kurz: Kurz, reaping: Reaping) -> tuple[FailingSweeps, Runner]:
    store = FailingSweeps(kurz.database, kurz.clock, timedelta(days=365))
    pace = ReaperPace(2, timedelta(), timedelta(minutes=5))
    reaper = Reaper(store, reaping.reaper_admin.plan, pace)
    leases, runs = (
        SqlLeaseStore(kurz.database, kurz.clock),
        SqlRunStore(kurz.database, kurz.clock),
    )
    return store, Runner(SCHEDULE, reaper, leases, runs)


async def test_7a_a_failed_cleanup_loses_nothing_and_the_next_goes_on(
    client, admin, clock, kurz, reaping
):
    codes = await make_temporary(client, 5)
    clock.advance(days=1)
    store, runner = failing(kurz, reaping)
    result = await runner.run(RunCause.DUE)
    assert result is not None
    assert result.outcome is RunOutcome.FAILED
    stats = await get(client, STATS, admin)
    assert (stats["failed_runs"], stats["successful_runs"]) == (1, 0)
    assert (stats["total_cleaned"], stats["expired_waiting"]) == (2, 3)  # exact, though it failed
    assert stats["is_running"] is False
    statuses = [(await client.get(f"/{code}")).status_code for code in codes]
    assert sorted(statuses) == [404, 404, 410, 410, 410]
    (run,) = (await get(client, REAPER, admin))["runs"]
    assert (run["outcome"], run["reason"]) == ("failed", "The disk of the database is full.")
    assert run["counts"]["purged"] == 2
    store.is_out = False
    assert await runner.run(RunCause.DUE) is None  # before its time
    await put_back(kurz, SCHEDULE.every)
    assert await runner.run(RunCause.DUE) == Result()
    stats = await get(client, STATS, admin)
    assert (stats["failed_runs"], stats["successful_runs"]) == (1, 1)
    assert (stats["total_cleaned"], stats["expired_waiting"]) == (5, 0)
