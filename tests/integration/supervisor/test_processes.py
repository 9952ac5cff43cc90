"""The processes of `kurz serve`: how many run, and what happens when they crash or are stopped."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from support.program import KURZ, Program
from support.slack import slack
from support.supervised import (
    API,
    DEADLINE_SECONDS,
    RepeatVisitor,
    answers,
    events,
    is_alive,
    is_free,
    kill_worker,
    wait_until,
)
from support.terminal import WITH_TERMINAL


def test_there_are_as_many_workers_as_were_asked_for_and_all_of_them_serve(start_program):
    program = start_program(KURZ_WORKERS="3")
    assert "workers   3" in program.output
    assert (len(program.workers), len(program.jobs)) == (3, 1)
    everybody = list(program.workers)
    # Whoever is left has to serve: so each of them does.
    for last in everybody:
        others = [pid for pid in everybody if pid != last]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        # Some connections wait for those that are stopped, if they were taken by them already.
        with program.client() as client:
            assert client.get("/healthz").status_code == 200
        for pid in others:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such policy elsewhere")
def test_the_jobs_process_lets_workers_start_first(start_program):
    program = start_program()
    ([worker], [jobs]) = program.workers, program.jobs
    assert os.sched_getscheduler(worker) == os.SCHED_OTHER
    assert os.sched_getscheduler(jobs) == os.SCHED_BATCH
    assert os.getpriority(os.PRIO_PROCESS, jobs) == os.getpriority(os.PRIO_PROCESS, worker)


def test_a_killed_worker_is_replaced_and_nobody_is_refused(start_program):
    program = start_program()
    [killed] = program.workers
    os.kill(killed, signal.SIGKILL)
    started = time.monotonic()
    assert answers(program)  # the connection waits in the supervisor's socket
    assert time.monotonic() - started < slack(5)
    wait_until(lambda: program.workers and program.workers != [killed])
    [ended] = events(program, "process ended")
    assert (ended["process"], ended["pid"], ended["signal"]) == ("worker", killed, "SIGKILL")
    assert program.stop() == 0


def test_a_worker_that_somebody_else_ended_is_replaced(start_program):
    program = start_program()
    [ended] = program.workers
    visitor = RepeatVisitor(program)
    os.kill(ended, signal.SIGTERM)
    wait_until(lambda: program.workers and program.workers != [ended])
    assert set(visitor.end()) == {302}
    assert [line["exit_code"] for line in events(program, "process ended")] == [0]


def test_a_worker_that_always_ends_is_started_less_and_less_often(start_program):
    program = start_program()
    for _ in range(5):
        wait_until(lambda: program.workers)
        kill_worker(program)
    wait_until(lambda: len(events(program, "process ended")) == 5)
    pauses = [line["pause_seconds"] for line in events(program, "process ended")]
    assert pauses == [0, 0.1, 0.2, 0.4, 0.8]
    assert answers(program)


def test_a_killed_jobs_process_is_replaced_by_one(start_program):
    program = start_program(KURZ_WORKERS="2")
    [killed] = program.jobs
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(program.jobs) == 1 and program.jobs != [killed])
    assert events(program, "process ended")[0]["process"] == "jobs"


def test_children_end_soon_after_their_supervisor_was_killed(start_program):
    program = start_program(KURZ_WORKERS="2")
    children = program.children
    assert len(children) == 3
    program.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, children)), 5)
    assert is_free(program.port)
    assert "Traceback" not in program.log()


def test_a_stop_ends_every_process_quietly(start_program):
    program = start_program(KURZ_WORKERS="2")
    children, port = program.children, program.port
    assert program.stop() == 0
    assert not any(map(is_alive, children))
    assert is_free(port)
    assert not events(program, "process ended")
    assert "Traceback" not in program.log()


def test_ctrl_c_which_reaches_every_process_is_a_quiet_stop_too(start_program):
    program = start_program(KURZ_WORKERS="2")
    os.killpg(program.process.pid, signal.SIGINT)
    assert program.process.wait(DEADLINE_SECONDS) == 0
    assert is_free(program.port)
    assert [line["event"] for line in events(program, "")] == ["stopped", "stopped"]
    assert "Traceback" not in program.log()


def test_a_closed_terminal_ends_it(tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "KURZ_PORT": "0", "KURZ_DATA_DIR": str(tmp_path / "kurz-data")}
    command = [sys.executable, "-c", WITH_TERMINAL, str(KURZ), "serve"]
    process = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"stop " not in shown:
        shown += os.read(ours, 1024)
    os.close(ours)
    assert process.wait(DEADLINE_SECONDS) == 0


def test_a_second_stop_does_not_wait_for_requests(start_program):
    program = start_program()
    with closing(socket.create_connection(("127.0.0.1", program.port))) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhtt")
        time.sleep(0.3)
        started = time.monotonic()
        program.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert program.stop() == 0
        assert time.monotonic() - started < slack(6)


def test_the_index_of_searches_is_kept_by_the_jobs_process(start_program, tmp_path):
    program = start_program(KURZ_WORKERS="2")
    database = tmp_path / "kurz-data" / "kurz.db"
    assert is_created(program)
    wait_until(lambda: not is_backlogged(database))
    # While it is stopped nobody else does it.
    os.kill(program.jobs[0], signal.SIGSTOP)
    while not is_created(program):  # it was stopped while it held the database
        os.kill(program.jobs[0], signal.SIGCONT)
        wait_until(lambda: is_created(program))
        wait_until(lambda: not is_backlogged(database))
        os.kill(program.jobs[0], signal.SIGSTOP)
    time.sleep(2.5)
    assert is_backlogged(database)
    os.kill(program.jobs[0], signal.SIGCONT)
    wait_until(lambda: not is_backlogged(database))


def is_created(program: Program) -> bool:
    with program.client() as client:
        answer = client.post(API, json={"original_url": "https://example.com/"})
    return answer.status_code == 201


def is_backlogged(database: Path) -> bool:
    from kurz.storage.engine.sqlite import create_engine
    from kurz.storage.links import search

    with create_engine(database).connect() as connection:
        return search.is_backlogged(connection)


def test_workers_share_the_limit_of_creates(start_program):
    program = start_program(KURZ_WORKERS="3", KURZ_RATE_LIMITS="on")
    statuses = []
    for _ in range(32):
        with program.client() as client:
            made = client.post(API, json={"original_url": "https://example.com/"})
            statuses.append(made.status_code)
    assert set(statuses) == {201, 429}
    # 10 at once, one more every 6 s; and a hit that a busy disk keeps waiting is counted alone.
    # If none were shared it would be nearly 30.
    assert 10 <= statuses.count(201) < 20
