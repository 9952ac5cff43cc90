"""Pipes of the dead, full ones and none; starts and stops."""

import asyncio
import errno
import os
import resource
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from pathlib import Path

import pytest

from kurz.feed.local import PipeWaker, is_anybody_listening
from kurz.feed.log import ChangeFeed
from kurz.freshness.routes import Change
from kurz.links.model import Link
from kurz.storage.engine.changes import SqlChangeLog
from kurz.wiring.core import Kurz
from support.feed import NEVER_SECONDS, SOON_SECONDS, Listener, another_process, until
from support.links import create_link

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


def of(link: Link) -> list[Change]:
    return [Change(link.id, link.workspace_id, link.short_code, link.version)]


def feed_of(kurz: Kurz, **options) -> ChangeFeed:
    return ChangeFeed(SqlChangeLog(kurz.database), PipeWaker(kurz.settings.feed_dir), **options)


def pipes(kurz: Kurz) -> list[Path]:
    return sorted(kurz.settings.feed_dir.iterdir())


async def test_the_pipe_of_a_process_that_was_killed_is_removed_by_the_next_write(kurz):
    folder = kurz.settings.feed_dir
    program = (
        "import os, sys; os.mkfifo(sys.argv[1]); os.open(sys.argv[1], os.O_RDWR);"
        " print('x', flush=True); sys.stdin.read()"
    )
    folder.mkdir()
    dead = folder / "dead"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, dead, stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await other.wait_for(of(await create_link(kurz)))
        assert dead in pipes(kurz)
        process.kill()
        await process.communicate()
        await other.wait_for(of(await create_link(kurz)))
        await until(lambda: dead not in pipes(kurz))
        assert len(pipes(kurz)) == 1
    assert pipes(kurz) == []


async def test_a_kurz_that_runs_is_noticed(kurz):
    folder = kurz.settings.feed_dir
    assert not is_anybody_listening(folder)
    feed = feed_of(kurz)
    await feed.start()
    assert is_anybody_listening(folder)
    await feed.stop()
    os.mkfifo(folder / "of-the-dead")
    assert not is_anybody_listening(folder)


async def test_a_full_pipe_blocks_nobody_and_stays(kurz):
    kurz.settings.feed_dir.mkdir()
    full = kurz.settings.feed_dir / "full"
    os.mkfifo(full)
    pipe = os.open(full, os.O_RDWR | os.O_NONBLOCK)
    try:
        with suppress(BlockingIOError):
            while True:
                os.write(pipe, b"!" * 4096)
        async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
            async with asyncio.timeout(10):
                await other.wait_for(of(await create_link(kurz)))
            assert full in pipes(kurz)
    finally:
        os.close(pipe)


async def test_a_process_without_free_files_takes_nobody_for_dead(kurz):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS):
        (pipe,) = pipes(kurz)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
                os.open("/dev/null", os.O_RDONLY)
            kurz.shared.feed._waker._wake(pipe)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert pipes(kurz) == [pipe]


async def test_a_pipe_that_is_not_open_yet_is_left_alone(kurz):
    kurz.settings.feed_dir.mkdir()
    new = kurz.settings.feed_dir / "1-x.new"
    os.mkfifo(new)
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await other.wait_for(of(await create_link(kurz)))
        assert new in pipes(kurz)


@pytest.mark.parametrize("trouble", ["no folder", "pipes removed"])
async def test_without_pipes_a_write_is_heard_within_a_tick(kurz, trouble):
    folder = kurz.settings.feed_dir
    if trouble == "no folder":
        folder.parent.mkdir(exist_ok=True)
        folder.write_bytes(b"")  # which the superuser cannot make a folder of either
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        if trouble == "pipes removed":
            (pipe,) = folder.iterdir()
            pipe.unlink()
        made = await create_link(kurz)
        await other.wait_for(of(made))


def open_in(folder: Path) -> int:
    """How many files of the folder this process has open."""
    found = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed since it was listed
            found += file.readlink().parent == folder
    return found


async def test_starting_and_stopping_twice_is_harmless_and_leaves_nothing(kurz):
    feed = feed_of(kurz)
    tasks = len(asyncio.all_tasks())
    await feed.start()
    await feed.start()
    assert len(pipes(kurz)) == 1
    assert open_in(kurz.settings.feed_dir) == 1
    assert len(asyncio.all_tasks()) == tasks + 1
    await feed.stop()
    await feed.stop()
    assert pipes(kurz) == []
    assert len(asyncio.all_tasks()) == tasks
    assert open_in(kurz.settings.feed_dir) == 0


@pytest.mark.parametrize("turns", range(5))
async def test_a_stop_together_with_a_wake_up_is_not_lost(kurz, turns):
    feed = feed_of(kurz, tick_seconds=NEVER_SECONDS)
    await feed.start()
    await asyncio.sleep(0.01)
    feed._told.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(feed.stop())
    await asyncio.wait({stopping}, timeout=10)
    assert stopping.done()


async def test_a_feed_that_was_stopped_hears_nothing_and_after_another_start_all(kurz):
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        await other.feed.stop()
        missed = await create_link(kurz)
        await asyncio.sleep(3 * SOON_SECONDS)
        assert other.heard == []
        await other.feed.start()
        made = await create_link(kurz)
        await other.wait_for([*of(missed), *of(made)])


async def test_who_does_not_listen_any_more_is_told_nothing(kurz):
    first, second = Listener(kurz.shared.feed), Listener(kurz.shared.feed)
    kurz.shared.feed.unsubscribe(first)
    made = await create_link(kurz)
    assert (first.heard, second.heard) == ([], of(made))
