"""Journals of processes that are killed, or run out of room: no click is lost that was told of."""

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kurz.clicks.segments import is_held, list_segments
from support import journal_writer
from support.journal_reader import read


def run(mode: str, folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, journal_writer.__file__, mode, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def numbers(folder: Path) -> list[int]:
    return sorted(click.link_id for path in list_segments(folder) for click, _ in read(path))


def told(process: "subprocess.Popen[bytes]", seconds: float) -> int:
    """How many records the process has told of when it is killed, that long after the first."""
    assert process.stdout is not None
    output = os.read(process.stdout.fileno(), 65536)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if select.select([process.stdout], [], [], left)[0]:
            output = output[-100:] + os.read(process.stdout.fileno(), 65536)
    process.send_signal(signal.SIGKILL)
    output += process.stdout.read()
    process.wait()
    return int(output.split(b"\n")[-2])


def kill_while_it_writes(folder: Path, seconds: float) -> None:
    with run("for-ever", folder) as process:
        try:
            count = told(process, seconds)
        finally:
            process.kill()
    found = numbers(folder)
    # Each once, in order, and beyond what was told only what was under way.
    assert found == list(range(len(found)))
    assert count <= len(found) <= count + journal_writer.BATCH
    assert not any(is_held(path) for path in list_segments(folder))


def test_every_record_that_was_told_of_survives_kills(tmp_path):
    for number in range(10):
        kill_while_it_writes(tmp_path / str(number), random.uniform(0, 0.15))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_record_that_was_told_of_survives_many_kills(tmp_path):
    for number in range(300):
        kill_while_it_writes(tmp_path / str(number), random.uniform(0, 0.5))


def test_a_segment_is_held_as_long_as_its_process_lives(tmp_path):
    with run("for-ever", tmp_path) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            assert any(is_held(path) for path in list_segments(tmp_path))
        finally:
            process.kill()
    assert list_segments(tmp_path)
    assert not any(is_held(path) for path in list_segments(tmp_path))


def test_without_room_clicks_are_counted_as_dropped_until_there_is_room_again(tmp_path):
    with run("room", tmp_path) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    *logs, last = output.decode().splitlines()
    result = json.loads(last)
    found = numbers(tmp_path)
    assert len(found) == len(set(found)) == result["records"]
    assert result["sent"] - len(found) == result["dropped"] > 0
    # What came last, when there was room again, is there.
    assert found[-1] == result["sent"] - 1
    assert result["sync_errors"] == 0
    assert result["bytes"] == sum(path.stat().st_size for path in list_segments(tmp_path))
    # They follow so closely that they are one outage.
    assert [line for line in logs if "cannot be recorded" in line] == logs
    assert len(logs) == 1
