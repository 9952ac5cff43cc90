"""The machine's clock is set while a server runs, and one of its processes is replaced: nothing
that lives is purged, and all processes go by the same time."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from support.every_worker import connect_to_each
from support.wire import Wire
from support.wrong_clock import WrongClock, WrongClockProgram

DEADLINE_SECONDS = 60.0
WORKERS = 2
PASSWORD = "a long enough one"


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.fixture
def clock(tmp_path: Path) -> WrongClock:
    return WrongClock(tmp_path / "clock")


@pytest.fixture
def program(tmp_path: Path, clock: WrongClock) -> Iterator[WrongClockProgram]:
    settings = {
        "KURZ_DATA_DIR": str(tmp_path / "kurz-data"),
        "KURZ_WORKERS": str(WORKERS),
        "KURZ_KEEP_ALIVE_SECONDS": "3600",
        "KURZ_LOG_FORMAT": "json",
        "KURZ_LOG_LEVEL": "debug",  # which tells of runs that did nothing
        "KURZ_REAPER_FIRST_AFTER": "0s",
        "KURZ_REAPER_INTERVAL": "1m",
        "KURZ_REAPER_AT_LEAST": "0s",
        "KURZ_CLICK_EVENT_DAYS": "1",
    }
    program = WrongClockProgram(settings, tmp_path / "log", clock)
    yield program.start()
    program.stop()


def runs(program: WrongClockProgram) -> list[str]:
    """How the runs of the reaper ended."""
    lines = [json.loads(line) for line in program.log().splitlines() if line.startswith("{")]
    return [line["outcome"] for line in lines if line["event"] == "reaper finished"]


def replace(program: WrongClockProgram, pids: list[int], how: str) -> None:
    """By a crash of these processes, or by a renewal of all of them."""
    before = set(program.children)
    if how == "kill":
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    else:
        program.process.send_signal(signal.SIGHUP)
    gone = set(pids) if how == "kill" else before
    wait_until(lambda: not gone & set(program.children))
    wait_until(lambda: (len(program.workers), len(program.jobs)) == (WORKERS, 1))


def create(wire: Wire, **more: object) -> str:
    answer = wire.post("/api/v1/links", {"original_url": "https://example.com/", **more})
    assert answer.status == 201, answer.body
    return f"/{json.loads(answer.body)['short_code']}"


@contextmanager
def each_worker(program: WrongClockProgram) -> Iterator[list[Wire]]:
    wires = connect_to_each(program, WORKERS)
    with ExitStack() as stack:
        for wire in wires:
            stack.enter_context(wire)
        yield wires


def statuses(program: WrongClockProgram, path: str) -> list[int]:
    """Of each worker."""
    with each_worker(program) as wires:
        return [wire.get(path).status for wire in wires]


def single_clicks(tmp_path: Path) -> int:
    with closing(sqlite3.connect(tmp_path / "kurz-data" / "kurz.db")) as database:
        [(count,)] = database.execute("SELECT count(*) FROM click_events").fetchall()
        return int(count)


@pytest.mark.parametrize("how", ["kill", "renew"])
def test_a_live_link_outlives_a_jump_and_a_new_jobs_process(program, clock, how, tmp_path):
    wait_until(lambda: runs(program) == ["done"])
    with Wire(program.port) as wire:
        path = create(wire)
        assert wire.get(path).status == 302
    wait_until(lambda: single_clicks(tmp_path) == 1)
    clock.set(timedelta(days=2))
    replace(program, program.jobs, how)
    wait_until(lambda: len(runs(program)) >= 2)
    assert set(runs(program)[1:]) == {"skipped"}
    assert single_clicks(tmp_path) == 1
    clock.set(timedelta(0))
    wait_until(lambda: statuses(program, path) == [302] * WORKERS)


def test_a_new_worker_goes_by_the_time_of_the_others(program, clock):
    clock.set(-timedelta(hours=1))
    replace(program, program.workers[:1], "kill")
    with each_worker(program) as wires:
        for number, wire in enumerate(wires):
            person = {"email": f"{number}@example.com", "password": PASSWORD}
            answer = wire.post("/api/v1/auth/register", person)
            assert answer.status == 201, answer.body
            token = json.loads(answer.body)["token"]
            for other in wires:
                link = {"original_url": "https://example.com/"}
                assert other.post("/api/v1/links", link, token).status == 201
            path = create(wire, expires_in=1800)
            assert [other.get(path).status for other in wires] == [302] * WORKERS
    clock.set(timedelta(0))
    assert statuses(program, path) == [302] * WORKERS
