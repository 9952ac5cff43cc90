"""What administrators are told of an instance: facts of every part, and the health of each."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from kurz import __version__
from kurz.api.http.health import assess, judge_backup
from kurz.api.schemas.system import DiskRead, ListRead, ListsRead, SystemRead
from kurz.people.passwords import Passwords
from kurz.scheduling import Result, RunCause, RunOutcome
from kurz.server.forwarding import NOBODY, SOME
from kurz.server.proxy_note import ProxyNote
from kurz.storage.engine.migrate import Migrations
from kurz.storage.jobs.instances import Instance, note_instance
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.storage.schema.jobs import instances
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from kurz.wiring.rescreen import SCHEDULE
from kurz.wiring.scheduled_backups import make_backups
from servers.postgres import PostgresServer
from support.people import PASSWORD, People
from support.redis_faults import Scene, killed

SYSTEM = "/api/v1/admin/system"
URL = "https://example.com/"


def health(system: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {it["name"]: (it["status"], it["reason"]) for it in system["health"]["components"]}


@pytest.fixture
async def admin(people):
    return await people.add(is_admin=True)


async def test_every_part_is_told(client, admin, add_link, kurz, engine):
    link = await add_link(URL)
    for _ in range(4):
        await client.get(f"/{link.short_code}")
    answer = await client.get(SYSTEM, headers=admin.headers)
    assert answer.status_code == 200
    system = answer.json()
    assert system["instance"]["version"] == __version__
    assert system["instance"]["workers"] == 1
    assert system["instance"]["redirects"] == 4
    assert system["database"]["engine"] == ("SQLite" if engine == "sqlite" else "PostgreSQL")
    assert system["database"]["version"][0].isdigit()
    assert system["database"]["schema_version"] == Migrations().head
    assert (system["redis"] is None) == ("+" not in engine)
    assert system["memory"]["hit_rate"] == 0.75
    assert system["journal"]["recorded"] == 4
    assert system["disk"]["free_bytes"] > 0
    names = {"reaper", "housekeeping", "workspaces", "domains", "bans", "accounts"}
    names |= {"months", "screening", "checks"}
    assert {job["job"] for job in system["jobs"]} == names
    assert system["settings"]["access"] == "public"
    found = health(system)
    assert found["database"] == ("ok", "ok")
    assert found["feed"] == ("ok", "ok")
    assert found["processes"] == ("error", "no-jobs")  # here is no jobs process
    assert found["limits"] == ("warning", "off")
    assert found["address"] == ("warning", "unset")
    assert ("redis" in found) == ("+" in engine)
    assert ("secret" in found) == (engine != "sqlite")


async def test_settings_and_lists_are_told(connect, admin, tmp_path):
    good, gone = tmp_path / "bad-hosts.txt", tmp_path / "gone.txt"
    good.write_text("evil.example\nworse.example\n")
    client = await connect(
        "https://go.test",
        blocklists=(good, gone),
        rate_limits="on",
        base_url="https://go.test",
        access="private",
        destination_checks="off",
    )
    system = (await client.get(SYSTEM, headers=admin.headers)).json()
    assert system["settings"]["base_url"] == "https://go.test"
    assert not system["settings"]["are_checks_on"]
    first, second = system["lists"]["files"]
    assert (first["rules"], first["problem"]) == (2, None)
    assert first["changed_at"] is not None
    assert second["problem"] is not None
    found = health(system)
    assert found["lists"] == ("error", "unreadable")
    assert found["limits"] == found["address"] == ("ok", "ok")


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
async def test_a_database_that_is_out_is_told_and_no_failure(connect, settings, clock):
    with PostgresServer() as server:
        own = replace(settings, database_url=server.url())
        await prepare(own, upgrades_postgres=True)
        async with open_kurz(own, clock, Passwords(cost=4)) as kurz:
            admin = await People(kurz).add(is_admin=True)
            client = await connect(database_url=server.url())
            assert (await client.get(SYSTEM, headers=admin.headers)).status_code == 200
            server.kill()
            answer = await client.get(SYSTEM, headers=admin.headers)
    assert answer.status_code == 200
    system = answer.json()
    assert health(system)["database"] == ("error", "out")
    assert system["database"]["version"] is None
    assert system["database"]["problem"] is not None
    assert (health(system)["jobs"], system["jobs"]) == (("error", "unknown"), None)


async def test_a_database_of_another_version_is_not_out(client, admin, kurz):
    for table in ("alembic_version", "schema_revision"):
        other = sa.text(f"UPDATE {table} SET version_num = '0099'")  # noqa: S608  our own words
        await kurz.database.write(lambda connection, other=other: connection.execute(other))
    system = (await client.get(SYSTEM, headers=admin.headers)).json()
    assert health(system)["database"] == ("warning", "schema")
    assert system["database"]["schema_version"] == "0099"
    assert "0099" in system["database"]["problem"]
    assert health(system)["jobs"] == ("ok", "ok")


async def test_a_job_that_failed_is_told(client, admin, kurz):
    leases = SqlLeaseStore(kurz.database, kurz.clock)
    runs = SqlRunStore(kurz.database, kurz.clock)
    lease = await leases.take(SCHEDULE, "me", RunCause.DUE)
    assert lease is not None
    run_id = await runs.begin(lease, is_requested=False)
    system = (await client.get(SYSTEM, headers=admin.headers)).json()
    [job] = [job for job in system["jobs"] if job["job"] == "screening"]
    assert job["lease"]["holder"] == "me"
    await runs.end(run_id, Result(RunOutcome.FAILED, "it broke"), {}, 1.0)
    system = (await client.get(SYSTEM, headers=admin.headers)).json()
    assert health(system)["jobs"] == ("warning", "failed")
    told = SystemRead.model_validate(system)
    assert told.jobs is not None
    off = [job.model_copy(update={"is_enabled": False}) for job in told.jobs]
    shown = assess(told.model_copy(update={"jobs": off})).components
    assert [it.reason for it in shown if it.name == "jobs"] == ["ok"]


async def test_scheduled_backups_are_told(connect, client, admin, kurz, tmp_path):
    assert (await client.get(SYSTEM, headers=admin.headers)).json()["backup"] is None
    settings = replace(kurz.settings, backup=str(tmp_path / "backups"))
    client = await connect(backup=settings.backup)

    async def told() -> tuple[dict[str, Any], tuple[str, str]]:
        system = (await client.get(SYSTEM, headers=admin.headers)).json()
        assert "backup" in {job["job"] for job in system["jobs"]}
        return system["backup"], health(system)["backups"]

    async def make(place: str) -> None:
        elsewhere = replace(settings, backup=place)
        backups = make_backups(replace(kurz, settings=elsewhere))
        assert backups.runner is not None
        assert backups.work is not None
        backups.work._pauses_seconds = ()
        await backups.runner.run(RunCause.NOW)

    backup, found = await told()
    assert found == ("warning", "none")
    assert (backup["target"], backup["interval_seconds"]) == (settings.backup, 86_400)
    assert (backup["last_good_at"], backup["last_bytes"]) == (None, None)
    await make(str(settings.backup))
    backup, found = await told()
    assert found == ("ok", "ok")
    [file] = (tmp_path / "backups").iterdir()
    assert backup["last_bytes"] == file.stat().st_size
    await make(str(tmp_path / "not" / "mounted"))
    failed, found = await told()
    assert found == ("warning", "failed")
    assert str(tmp_path / "not") in failed["failure"]
    assert failed["last_good_at"] == backup["last_good_at"]


def test_a_backup_is_old_after_two_intervals():
    now, every = datetime.now(UTC), timedelta(hours=6)
    assert judge_backup(now - 2 * every, every, now, has_failed=False, is_damaged=False)[1] == "ok"
    late = now - 2 * every - timedelta(seconds=1)
    assert judge_backup(late, every, now, has_failed=True, is_damaged=False)[1] == "old"
    damaged = judge_backup(late, every, now, has_failed=True, is_damaged=True)
    assert damaged == ("error", "damaged")


async def test_instances_are_told(client, admin, kurz):
    async def told() -> dict[str, Any]:
        system: dict[str, Any] = (await client.get(SYSTEM, headers=admin.headers)).json()
        return system

    note = kurz.database.write
    await note(note_instance, Instance("a", "1.0.0", "0024"), kurz.clock)
    assert "instances" not in health(await told())
    await note(note_instance, Instance("b", "1.0.0", "0024"), kurz.clock)
    assert health(await told())["instances"] == ("ok", "ok")
    await note(note_instance, Instance("c", "1.1.0", "0025"), kurz.clock)
    system = await told()
    assert health(system)["instances"] == ("warning", "mixed")
    found = [(it["id"], it["version"], it["schema_version"]) for it in system["instances"]]
    assert found == [("c", "1.1.0", "0025"), ("a", "1.0.0", "0024"), ("b", "1.0.0", "0024")]
    minute_ago = (
        sa.update(instances)
        .where(instances.c.id != "a")
        .values(seen_at=instances.c.seen_at - 61_000_000)
    )
    await note(lambda connection: connection.execute(minute_ago))
    assert [it["id"] for it in (await told())["instances"]] == ["a"]


async def test_what_is_wrong_with_the_proxy_is_told(client, admin, kurz):
    note = ProxyNote(kurz.settings.proxy_note_path)
    for sentence, reason in ((NOBODY, "nobody"), (SOME, "some")):
        note.write(sentence)
        system = (await client.get(SYSTEM, headers=admin.headers)).json()
        assert (system["forwarding"], health(system)["proxy"]) == (reason, ("warning", reason))
    note.write(None)
    system = (await client.get(SYSTEM, headers=admin.headers)).json()
    assert (system["forwarding"], "proxy" in health(system)) == (None, False)


async def test_every_status_changes(client, admin):
    system = SystemRead.model_validate((await client.get(SYSTEM, headers=admin.headers)).json())

    def turned(name: str, **parts: object) -> str:
        changed = system.model_copy(update=parts)
        return next(it.reason for it in assess(changed).components if it.name == name)

    def journal(**numbers: int) -> str:
        return turned("clicks", journal=system.journal.model_copy(update=numbers))

    assert journal() == "ok"
    assert journal(oldest_seconds=11) == "late"
    assert journal(oldest_seconds=121) == "stuck"
    assert journal(dropped=1) == "ok"  # before the start: nobody can do anything about it
    assert journal(dropped=1, dropped_since_start=1) == "dropped"
    assert journal(workers_failing=1) == "failing"
    assert journal(errors=1) == "damaged"
    disk = DiskRead(folder="/", total_bytes=2**40, free_bytes=2**30)
    assert turned("disk", disk=disk) == "ok"
    assert turned("disk", disk=disk.model_copy(update={"free_bytes": 2**30 - 1})) == "small"
    assert turned("disk", disk=disk.model_copy(update={"free_bytes": 1000})) == "full"
    instance = system.instance.model_copy(update={"jobs": 1, "workers_wanted": 2})
    assert turned("processes", instance=instance) == "few"
    assert turned("feed", feed=system.feed.model_copy(update={"workers_stale": 1})) == "stale"
    failing = system.database.model_copy(update={"workers_failing": 1})
    assert turned("database", database=failing) == "failing"
    busy = system.database.model_copy(update={"waiting": 8})
    assert turned("database", database=busy) == "busy"
    old = system.database.model_copy(update={"has_write_ahead_log": False})
    assert turned("database", database=old) == "no-log"
    item = ListRead(role="allow", path="a", rules=0, bad_lines=0, problem=None, changed_at=None)
    lists = ListsRead(hosts=0, refuses_shorteners=False, workers_unsure=0, files=[item])
    assert turned("lists", lists=lists) == "empty"
    assert turned("lists", lists=lists.model_copy(update={"workers_unsure": 1})) == "unsure"


@pytest.mark.parametrize("engine", ["postgres"], indirect=True)
def test_workers_tell_of_each_other_and_of_a_redis_that_is_gone(start_program, environment):
    with Scene() as scene:
        program = start_program(**environment, KURZ_REDIS_URL=scene.url, KURZ_WORKERS="2")
        with program.client() as client:
            token = program.set_up("ada@example.com", PASSWORD)
            client.headers["authorization"] = f"Bearer {token}"

            def wait_for(name: str, status: str) -> dict[str, Any]:
                until = time.monotonic() + 20
                while True:
                    answer = client.get(SYSTEM)
                    assert answer.status_code == 200
                    system: dict[str, Any] = answer.json()
                    if health(system)[name][0] == status:
                        return system
                    assert time.monotonic() < until, health(system)
                    time.sleep(0.1)

            instance = wait_for("processes", "ok")["instance"]
            assert (instance["workers"], instance["jobs"]) == (2, 1)
            wait_for("redis", "ok")
            with killed(scene):
                system = wait_for("redis", "error")
                assert health(system)["database"] == ("ok", "ok")
            wait_for("redis", "ok")
