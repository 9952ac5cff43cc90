"""New settings after SIGHUP, and what systemd is told."""

import os
import signal
import socket
import time
from contextlib import closing
from pathlib import Path

import pytest

from support.long_run import in_the_long_run
from support.supervised import API, DEADLINE_SECONDS, RepeatVisitor, answers, events, wait_until


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A `kurz.toml` that a test may change."""
    path = tmp_path / "kurz.toml"
    path.write_text("")
    return path


def test_a_changed_setting_is_in_force_after_sighup_and_no_request_fails(start_program, config):
    program = start_program(KURZ_CONFIG=str(config), KURZ_WORKERS="2")
    visitor = RepeatVisitor(program)
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
    visitor = RepeatVisitor(program)
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


def test_systemd_is_told_of_start_renewal_and_stop(start_program, tmp_path):
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(DEADLINE_SECONDS)
        program = start_program(NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert channel.recv(1024) == b"READY=1"
        program.process.send_signal(signal.SIGHUP)
        assert channel.recv(1024).startswith(b"RELOADING=1\n")
        assert channel.recv(1024) == b"READY=1"
        assert program.stop() == 0
        assert channel.recv(1024) == b"STOPPING=1"
