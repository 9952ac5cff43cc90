"""The loader as a process among others: without room, beside a second one, and over a database that
was set back. Every click in the journals is counted, once."""

import asyncio
import os
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kurz.clicks.segments import list_segments
from kurz.clock import SystemClock
from kurz.settings.model import Settings
from support.clicks import Counted, click, count_all, loaded, wait_until, write_segment
from support.engines import sqlite_first
from support.journal_reader import read
from support.long_run import in_the_long_run
from support.program import KURZ, Program
from support.wire import Wire

engine = sqlite_first  # where it counts all day
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)

LINKS = 5


def make_links(program: Program) -> list[str]:
    """Their paths."""
    with program.client() as client:
        urls = [f"https://example.com/{number}" for number in range(LINKS)]
        made = [client.post("/api/v1/links", json={"original_url": url}) for url in urls]
    return [f"/{answer.json()['short_code']}" for answer in made]


def visit(program: Program, paths: list[str], times: int) -> None:
    with Wire(program.port) as wire:
        for number in range(times):
            assert wire.get(paths[number % len(paths)]).status == 302


def in_journals(settings: Settings) -> Counted:
    """What the journals say that is to be counted. Nothing is removed from them for a day."""
    clicks = [c for path in list_segments(settings.journal_dir) for c, _ in read(path)]
    by_links = Counter(click.link_id for click in clicks)
    return Counted(by_links, by_links, len(clicks), len(clicks))


def count(settings: Settings) -> Counted:
    return asyncio.run(count_all(settings))


def check(settings: Settings, clicks: int) -> None:
    """That many, and each in all tables."""
    expected = in_journals(settings)
    assert expected.in_all == clicks
    wait_until(lambda: count(settings).in_all >= clicks, pause_seconds=0.3)
    assert count(settings) == expected


@contextmanager
def without_room(pid: int) -> Iterator[None]:
    """No file grows by what this process writes, as if its disk were full. That works for every
    user; Python ignores the signal that comes with it."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@on_sqlite
def test_clicks_wait_while_the_disk_is_full(program, settings):
    paths = make_links(program)
    visit(program, paths, 100)
    check(settings, 100)
    jobs = program.jobs
    with without_room(jobs[0]):
        visit(program, paths, 1000)
        time.sleep(2)  # several turns of the loader
        assert count(settings).in_all == 100
    check(settings, 1100)
    assert program.jobs == jobs
    visit(program, paths, 100)
    check(settings, 1200)


@contextmanager
def second_loader(program: Program) -> Iterator[int]:
    """`kurz jobs` beside `kurz serve`, until it is killed; its process id."""
    with subprocess.Popen(
        [KURZ, "jobs"], env=program._full_environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Running")
            yield process.pid
        finally:
            process.kill()


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("segments", [4, *in_the_long_run(12)])
def test_three_loaders_count_one_folder_once(start_program, environment, settings, segments):
    program = start_program(**environment, KURZ_METRICS="public")
    visit(program, make_links(program), LINKS)
    check(settings, LINKS)
    records = [click(link_id, SystemClock().micros()) for link_id in in_journals(settings).by_links]
    with second_loader(program) as one, second_loader(program) as other:
        with paused(program.jobs):
            with paused([one, other]):  # they begin at once
                for _ in range(segments):
                    write_segment(settings.journal_dir, *records * 1000)
            wait_until(lambda: count(settings).in_all > LINKS)
        clicks = LINKS + segments * LINKS * 1000
        check(settings, clicks)
    print(f"{loaded(program)} of {clicks} counted by kurz serve, the others by two kurz jobs")
    assert loaded(program) < clicks


@pytest.mark.parametrize("turns", [1, *in_the_long_run(3)])
def test_a_second_loader_may_be_killed_at_any_moment(program, settings, turns):
    paths = make_links(program)
    for turn in range(1, turns + 1):
        with second_loader(program):
            visit(program, paths, 500)
        check(settings, 500 * turn)


def set_back(database: Path, copy: Path) -> None:
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, database)


@pytest.mark.long
@on_sqlite
def test_a_database_that_was_set_back_gets_its_clicks_again(program, settings, tmp_path):
    paths = make_links(program)
    visit(program, paths, 100)
    check(settings, 100)
    assert program.stop() == 0
    copy = tmp_path / "copy.db"
    shutil.copy(settings.database_path, copy)
    program.start()
    visit(program, paths, 300)
    check(settings, 400)
    assert program.stop() == 0
    set_back(settings.database_path, copy)
    assert count(settings).in_all == 100
    program.start()
    check(settings, 400)
    visit(program, paths, 50)
    check(settings, 450)
