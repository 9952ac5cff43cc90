"""The processes of `kurz serve`: what becomes of them by crashes and signals, and of requests."""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest

from support import nursery
from support.long_run import in_the_long_run
from support.program import KURZ, Program
from support.slack import slack
from support.terminal import WITH_TERMINAL

PATIENCE_SECONDS = 15.0  # for what should take a moment: the machine may be busy
API = "/api/v1/links"


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def answers(program: Program) -> bool:
    """Whether a request on a new connection is answered."""
    with program.client() as client:
        return client.get("/healthz").status_code == 200


def kill_worker(program: Program) -> None:
    [killed] = program.workers
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in program.workers)


def is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def events(program: Program, name: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in program.log().splitlines() if line.startswith("{")]
    return [line for line in lines if name in line["event"]]


@pytest.fixture
def start_program(start_program: Callable[..., Program]) -> Callable[..., Program]:
    """As ever, but all processes are there: a new jobs process has the socket for a moment."""

    def start(**environment: str) -> Program:
        program = start_program(**environment)
        wait_until(lambda: len(program.jobs) == 1)
        return program

    return start


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A `kurz.toml` that a test may change."""
    path = tmp_path / "kurz.toml"
    path.write_text("")
    return path


class Visitor:
    """Visits a link over and over, each time on a new connection; notes what came back."""

    def __init__(self, program: Program) -> None:
        with program.client() as client:
            made = client.post(API, json={"original_url": "https://example.com/"})
        self._address = made.json()["short_url"]
        self.statuses: list[int | str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[int | str]:
        self._is_over.set()
        self._thread.join(30)
        return self.statuses

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                with httpx2.Client(trust_env=False, timeout=30) as client:
                    self.statuses.append(client.get(self._address).status_code)
            except httpx2.HTTPError as error:
                self.statuses.append(repr(error))


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
    visitor = Visitor(program)
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
    assert program.process.wait(PATIENCE_SECONDS) == 0
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
    assert process.wait(PATIENCE_SECONDS) == 0


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


def test_a_changed_setting_is_in_force_after_sighup_and_no_request_fails(start_program, config):
    program = start_program(KURZ_CONFIG=str(config), KURZ_WORKERS="2")
    visitor = Visitor(program)
    before, jobs = set(program.workers), program.jobs
    config.write_text("redirect_status = 307\n")
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: events(program, "workers replaced"))
    wait_until(lambda: not before & set(program.workers))
    wait_until(lambda: len(program.workers) == 2)
    with program.client() as client:
        made = client.post(API, json={"original_url": "https://example.com/new"}).json()
        assert client.get(made["short_url"]).status_code == 307
    wait_until(lambda: len(visitor.statuses) > 10)
    assert set(visitor.end()) == {302}
    wait_until(lambda: len(program.jobs) == 1 and program.jobs != jobs)
    assert not events(program, "process ended")


def test_the_number_of_workers_follows_the_settings(start_program, config):
    program = start_program(KURZ_CONFIG=str(config))
    config.write_text("workers = 3\n")
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(program.workers) == 3 and events(program, "workers replaced"))
    config.write_text("workers = 1\n")
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(program.workers) == 1)
    assert answers(program)
    assert program.stop() == 0


def test_a_worker_that_is_killed_while_it_is_renewed_leaves_one_successor(start_program):
    program = start_program()
    [old] = program.workers
    os.kill(old, signal.SIGSTOP)  # else it may be gone before anybody looks
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(program.workers) == 2)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: events(program, "workers replaced") and len(program.workers) == 1)
    time.sleep(1)
    assert (len(program.workers), len(program.jobs)) == (1, 1)
    assert answers(program)
    assert program.stop() == 0


BAD = {
    "no setting": ("prot = 1\n", "settings refused", "prot"),
    "no file": ('geoip_db = "/nowhere"\n', "settings refused", "KURZ_GEOIP_DB"),
    "half a key": (
        'archive = "s3://bucket"\narchive_s3_key_id = "x"\n',
        "settings refused",
        "KURZ_ARCHIVE_S3_SECRET_KEY",
    ),
    # It can be read, and only a worker finds that it leads nowhere.
    "no workspace": ('root_workspace = "nobody"\n', "process ended", "there is no workspace"),
}


@pytest.mark.parametrize(
    ("text", "event", "reason"),
    [BAD["no setting"], BAD["no workspace"], *in_the_long_run(BAD["no file"], BAD["half a key"])],
    ids=["no setting", "no workspace", "no file", "half a key"],
)
def test_settings_that_cannot_be_used_change_nothing(start_program, config, text, event, reason):
    program = start_program(KURZ_CONFIG=str(config))
    visitor = Visitor(program)
    before = program.workers
    config.write_text(text)
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: events(program, event))
    assert reason in str(events(program, event)[0]["reason"])
    time.sleep(0.5)
    assert program.workers == before
    assert set(visitor.end()) == {302}
    config.write_text("")
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: program.workers and program.workers != before)


def serve(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
    environment |= {"KURZ_PORT": "0", "KURZ_DATA_DIR": str(tmp_path / "kurz-data")}
    done = nursery.run(["serve"], {**inherited, **environment}, seconds=30)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def test_a_setting_that_only_workers_refuse_ends_it_with_one_line(tmp_path):
    ended = serve(tmp_path, KURZ_WORKERS="3", KURZ_ROOT_WORKSPACE="nobody")
    assert ended.returncode == 78
    assert ended.stderr.startswith("kurz: KURZ_ROOT_WORKSPACE: there is no workspace “nobody”.")
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""


def test_a_file_of_countries_that_is_not_there_ends_it_with_one_line(tmp_path):
    ended = serve(tmp_path, KURZ_GEOIP_DB="/nowhere/country.mmdb")
    assert ended.returncode == 78
    assert ended.stderr == (
        "kurz: KURZ_GEOIP_DB: the file /nowhere/country.mmdb cannot be used:"
        " No such file or directory.\n"
    )
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"KURZ_ARCHIVE": "folder"}, "KURZ_ARCHIVE"),
        ({"KURZ_ARCHIVE": "s3://bucket", "KURZ_ARCHIVE_S3_KEY_ID": "x"}, "KURZ_ARCHIVE_S3_KEY_ID"),
    ],
)
def test_an_archive_that_cannot_be_opened_ends_it_with_one_line(tmp_path, settings, name):
    """Before the jobs process would, which counts the clicks."""
    ended = serve(tmp_path, **settings)
    assert ended.returncode == 78
    assert len(ended.stderr.splitlines()) == 1
    assert name in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize("number", ["0", "65", "many"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path, number):
    ended = serve(tmp_path, KURZ_WORKERS=number)
    assert ended.returncode == 78
    assert "from 1 to 64" in ended.stderr


def test_systemd_is_told_of_start_renewal_and_stop(start_program, tmp_path):
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(PATIENCE_SECONDS)
        program = start_program(NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert channel.recv(1024) == b"READY=1"
        program.process.send_signal(signal.SIGHUP)
        assert channel.recv(1024).startswith(b"RELOADING=1\n")
        assert channel.recv(1024) == b"READY=1"
        assert program.stop() == 0
        assert channel.recv(1024) == b"STOPPING=1"


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
    from kurz.storage import search
    from kurz.storage.sqlite import create_engine

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
