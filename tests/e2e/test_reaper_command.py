"""`kurz admin reaper`, as whoever runs an installation meets it."""

import asyncio
import json
import os
import pty
import re
import subprocess
from datetime import UTC, datetime, timedelta

import pytest

from kurz.links.model import Draft
from kurz.scheduling import Result, RunCause, RunOutcome
from kurz.settings.model import Settings
from kurz.storage.jobs.leases import SqlLeaseStore
from kurz.storage.jobs.runs import SqlRunStore
from kurz.wiring.core import open_kurz
from kurz.wiring.engine import prepare
from support.clock import FrozenClock
from support.engines import DATABASES, usually_on, without_redis
from support.jobs import SCHEDULE
from support.long_run import in_the_long_run
from support.terminal import KURZ, Terminal

# Redis has no part in it.
engine = without_redis

LINKS = 25


async def fill(settings: Settings) -> None:
    """Links that expired 2 hours ago, and one that goes on."""
    await prepare(settings, upgrades_postgres=False)
    before = FrozenClock(datetime.now(UTC) - timedelta(hours=10))
    async with open_kurz(settings, before) as kurz:
        for _ in range(LINKS):
            await kurz.links.create(Draft(original_url="https://example.com/", is_anonymous=True))
        await kurz.links.create(Draft(original_url="https://example.com/"))


@pytest.fixture
def terminal(settings, environment):
    asyncio.run(fill(settings))
    return Terminal(
        environment
        | {"KURZ_DATA_DIR": str(settings.data_dir), "KURZ_REAPER_BATCH": "10"}
        | {"KURZ_REAPER_PAUSE": "0s"}
    )


def on_screen(terminal: Terminal, *arguments: str) -> str:
    """All that a terminal of 60 columns showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [KURZ, *arguments],
        env={**terminal.environment, "COLUMNS": "60"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    screen = b""
    with os.fdopen(ours, "rb", buffering=0) as output:
        while True:
            try:
                piece = output.read(4096)
            except OSError:  # nobody is at the other end any more
                break
            if not piece:
                break
            screen += piece
    assert process.wait(60) == 0
    return screen.decode()


def due(text: str) -> dict[str, str]:
    """What is due, by row."""
    return dict(re.findall(r"^(\S.{13}) +\S.{10}  (\S+) +\S+$", text, re.MULTILINE)[1:])


@usually_on("sqlite", among=DATABASES)
def test_what_it_would_do_it_does(terminal):
    dry = terminal.run("admin", "reaper", "--dry-run")
    assert dry.returncode == 0
    assert "nothing was written" in dry.stderr
    assert due(dry.stdout) == {
        "not marked yet": str(LINKS),
        "temporary     ": str(LINKS),
        "permanent     ": "0",
        "trash, expired": "-",
        "trash, deleted": "0",
    }
    again = terminal.json("admin", "reaper", "--dry-run")
    assert again["unmarked"] == LINKS  # the first one wrote nothing
    assert again["rules"][0] == {
        "ended": "temporary",
        "after_seconds": 3600,
        "action": "purge",
        "waiting": LINKS,
    }
    done = terminal.run("admin", "reaper", "--run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"done  {LINKS} marked, {LINKS} purged\n"
    state = terminal.json("admin", "reaper")
    assert state["total_cleaned"] == LINKS
    assert (state["successful_runs"], state["failed_runs"], state["unmarked"]) == (1, 0, 0)
    (run,) = state["runs"]
    assert (run["outcome"], run["is_requested"]) == ("done", True)
    assert run["counts"] == {"marked": LINKS, "purged": LINKS}
    told = terminal.run("admin", "reaper").stdout
    assert re.search(
        rf"^last run +(?:now|.+ ago), done: {LINKS} marked, {LINKS} purged$", told, re.MULTILINE
    )
    assert re.search(r"^next run +in 1[45] min", told, re.MULTILINE)
    assert re.search(rf"^cleaned +{LINKS} links$", told, re.MULTILINE)
    assert re.search(r"^workspaces +now +none yet$", told, re.MULTILINE)
    jobs = ["housekeeping", "workspaces", "domains", "bans", "accounts", "months"]
    assert [job["job"] for job in state["jobs"]] == jobs
    assert len(terminal.run("list").stdout.splitlines()) == 2  # a head, and what goes on


@usually_on("sqlite", among=DATABASES)
def test_a_terminal_shows_how_it_gets_on(terminal):
    terminal.environment["KURZ_REAPER_PAUSE"] = "150ms"  # so that every batch is drawn
    screen = on_screen(terminal, "admin", "reaper", "--run")
    assert "█" in screen
    assert f"of {LINKS} links" in screen
    assert f"{LINKS} marked, {LINKS} purged" in screen


@usually_on("sqlite", among=DATABASES)
def test_a_terminal_shows_that_a_dry_run_counts(terminal):
    screen = on_screen(terminal, "admin", "reaper", "--dry-run")
    assert "█" in screen
    assert "counting" in screen
    assert "nothing was written" in screen


@usually_on("postgres", among=DATABASES)
def test_a_run_elsewhere_is_not_disturbed(terminal, settings):
    async def hold() -> None:
        async with open_kurz(settings) as kurz:
            leases = SqlLeaseStore(kurz.database, kurz.clock)
            assert await leases.take(SCHEDULE, "elsewhere", RunCause.DUE)

    asyncio.run(hold())
    refused = terminal.run("admin", "reaper", "--run")
    assert refused.returncode == 4
    assert "The reaper is already running" in refused.stderr
    assert terminal.json("admin", "reaper")["is_running"] is True
    assert terminal.run("admin", "reaper").stdout.startswith("now        running, started")


async def end(settings: Settings, result: Result) -> None:
    """A run by a jobs process that is not there any more."""
    async with open_kurz(settings) as kurz:
        leases = SqlLeaseStore(kurz.database, kurz.clock)
        runs = SqlRunStore(kurz.database, kurz.clock)
        lease = await leases.take(SCHEDULE, "elsewhere", RunCause.NOW)
        assert lease is not None
        run_id = await runs.begin(lease, is_requested=False)
        assert await runs.end(run_id, result, {}, 0.0)
        assert await leases.give_back(lease, timedelta())


@usually_on("sqlite", among=DATABASES)
def test_a_skipped_run_is_shown_with_its_reason_also_behind_the_next(terminal, settings):
    reason = "The clock has jumped."
    asyncio.run(end(settings, Result(RunOutcome.SKIPPED, reason)))
    examined = terminal.run("doctor").stdout
    assert re.search(rf"! reaper +the last run was skipped. {reason}", examined)
    told = terminal.run("admin", "reaper").stdout
    assert re.search(rf"^last run +.+, skipped. {reason}$", told, re.MULTILINE)
    asyncio.run(end(settings, Result()))
    told = terminal.run("admin", "reaper").stdout
    assert re.search(rf"^last skip +.+, skipped. {reason}$", told, re.MULTILINE)
    assert "was skipped" not in terminal.run("doctor").stdout


@usually_on("postgres", among=DATABASES)
def test_behind_a_skipped_run_nothing_is_purged_until_kurz_has_run_again(terminal, settings):
    asyncio.run(end(settings, Result(RunOutcome.SKIPPED, "The clock has jumped.")))
    refused = terminal.run("admin", "reaper", "--run")
    assert (refused.returncode, refused.stdout) == (1, "skipped\n")
    assert refused.stderr.count("\n") == 1
    assert "start kurz" in refused.stderr
    state = terminal.json("admin", "reaper")
    assert (len(state["runs"]), state["total_cleaned"], state["unmarked"]) == (1, 0, LINKS)


@usually_on("sqlite", among=DATABASES)
def test_a_kurz_that_runs_does_it(terminal, settings, start_program, environment):
    asyncio.run(end(settings, Result(RunOutcome.SKIPPED, "The clock has jumped.")))
    start_program(**environment, KURZ_DATA_DIR=str(settings.data_dir), KURZ_REAPER_ENABLED="off")
    # The command itself would have no time for it.
    done = terminal.run("admin", "reaper", "--run", KURZ_REAPER_LONGEST_RUN="0s")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"done  {LINKS} marked, {LINKS} purged\n"
    run, _ = terminal.json("admin", "reaper")["runs"]
    assert (run["outcome"], run["is_requested"]) == ("done", True)


@usually_on("postgres", among=DATABASES)
def test_a_run_that_is_not_long_enough_says_so(terminal):
    done = terminal.run("admin", "reaper", "--run", "--json", KURZ_REAPER_LONGEST_RUN="0s")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert (told["counts"], told["reason"]) == (
        {},
        "The run reached its time limit; the next run continues.",
    )


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
@pytest.mark.parametrize("command", ["serve", *in_the_long_run("jobs", "admin reaper")])
def test_contradictions_end_a_start(terminal, command):
    refused = terminal.run(*command.split(), KURZ_REAPER_AT_MOST="4m")
    assert refused.returncode == 78
    assert "KURZ_REAPER_AT_MOST (4m) must be more than" in refused.stderr


@usually_on("sqlite", among=DATABASES)
def test_what_excludes_each_other_is_refused(terminal):
    assert terminal.run("admin", "reaper", "--run", "--dry-run").returncode == 2
