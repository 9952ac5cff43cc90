"""What goes wrong around the feed: numbers out of order, pipes of the dead, outages, restarts."""

import asyncio
import errno
import os
import resource
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest
import sqlalchemy as sa
from structlog.testing import capture_logs

from kurz.bootstrap import Kurz
from kurz.errors import StoreUnavailable
from kurz.feed.local import BATCH, LocalFeed
from kurz.links.model import Change, Draft, Link
from kurz.links.ports import ChangeLog
from kurz.storage.changes import SqlChangeLog
from kurz.storage.schema import changes
from support.feed import Listener, another_process, until

NEVER_SECONDS = 600.0  # a tick that no test lives to see
SOON_SECONDS = 0.05
INSERT = (
    "INSERT INTO changes (link_id, workspace_id, short_code, version, changed_at)"
    " SELECT 900000 + n, 0, 'late', 1, 0 FROM generate_series(1, $1::int) AS n"
)
on_postgres = pytest.mark.parametrize("engine", ["postgres"], indirect=True)
on_sqlite = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


async def make(kurz: Kurz, **fields) -> Link:
    draft = Draft(original_url="https://example.com/", **fields)
    return (await kurz.links.create(draft)).link


def of(link: Link) -> list[Change]:
    return [Change(link.id, link.workspace_id, link.short_code, link.version)]


@pytest.fixture
async def writer(kurz: Kurz) -> AsyncIterator[asyncpg.Connection]:
    """A connection whose transactions a test ends when it likes."""
    connection = await asyncpg.connect(kurz.settings.database_url)
    yield connection
    await connection.close()


# More than one statement can name by parameters.
@pytest.mark.parametrize("count", [1, 3 * BATCH, 40_000])
@on_postgres
async def test_numbers_that_appear_late_are_heard(kurz, writer, count):
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        transaction = writer.transaction()
        await transaction.start()
        await writer.execute(INSERT, count)
        made = await make(kurz)  # its number is higher, and it is there first
        await other.wait_for(of(made))
        await asyncio.sleep(2 * SOON_SECONDS)
        assert set(other.heard) == {*of(made)}
        await transaction.commit()
        await other.wait_for([Change(900_000 + n, 0, "late", 1) for n in range(1, count + 1)])
        assert len(other.heard) == count + 1
        assert other.feed._gaps == {}


@on_postgres
async def test_a_number_of_before_the_start_that_appears_late_is_heard(kurz, writer):
    transaction = writer.transaction()
    await transaction.start()
    await writer.execute(INSERT, 1)
    await make(kurz)
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        await transaction.commit()
        await other.wait_for([Change(900_001, 0, "late", 1)])


@on_postgres
async def test_a_number_that_was_rolled_back_is_given_up_after_a_while(kurz, writer):
    async with another_process(kurz, tick_seconds=SOON_SECONDS, gap_seconds=0.5) as other:
        transaction = writer.transaction()
        await transaction.start()
        await writer.execute(INSERT, 3)
        await transaction.rollback()
        await other.wait_for(of(await make(kurz)))
        assert len(other.feed._gaps) == 3
        await until(lambda: not other.feed._gaps)
        await other.wait_for(of(await make(kurz)))
        assert len(other.heard) == 2


async def test_more_rows_than_one_reading_takes_are_all_heard(kurz):
    rows = [
        {"link_id": n, "workspace_id": 0, "short_code": "x", "version": 1, "changed_at": 0}
        for n in range(1, 2 * BATCH + 2)
    ]
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        await kurz.database.write(
            lambda connection: connection.execute(sa.insert(changes), rows) and None
        )
        await other.wait_for([Change(n, 0, "x", 1) for n in range(1, 2 * BATCH + 2)])
        assert len(other.heard) == len(rows)


class Troubled:
    """A change log that raises while it has a trouble."""

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self.trouble: Exception | None = None
        self.readings = 0

    async def last(self) -> int:
        return await self._log.last()

    async def read(self, after: int, limit: int) -> Sequence[tuple[int, Change]]:
        self.readings += 1
        if self.trouble is not None:
            raise self.trouble
        return await self._log.read(after, limit)

    async def read_some(self, numbers: Collection[int]) -> Sequence[tuple[int, Change]]:
        return await self._log.read_some(numbers)


@pytest.mark.parametrize("trouble", [StoreUnavailable("out"), RuntimeError("a mistake")], ids=repr)
async def test_a_feed_goes_on_after_a_trouble(kurz, trouble):
    logs: list[Troubled] = []

    def wrap(log: ChangeLog) -> ChangeLog:
        logs.append(Troubled(log))
        return logs[0]

    async with another_process(kurz, tick_seconds=SOON_SECONDS, wrap=wrap) as other:
        (log,) = logs
        log.trouble, heard_at = trouble, other.feed.heard_at
        with capture_logs() as lines:
            made = await make(kurz)
            seen = log.readings
            await until(lambda: log.readings > seen + 3)
        if isinstance(trouble, StoreUnavailable):
            assert [line["event"] for line in lines if "feed" in line["event"]] == ["feed waits"]
        assert other.heard == []
        log.trouble = None
        await other.wait_for(of(made))
        assert other.feed.heard_at > heard_at


def pipes(kurz: Kurz) -> list[Path]:
    return sorted(kurz.settings.feed_dir.iterdir())


@on_sqlite
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
        await other.wait_for(of(await make(kurz)))
        assert dead in pipes(kurz)
        process.kill()
        await process.communicate()
        await other.wait_for(of(await make(kurz)))
        await until(lambda: dead not in pipes(kurz))
        assert len(pipes(kurz)) == 1
    assert pipes(kurz) == []


@on_sqlite
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
                await other.wait_for(of(await make(kurz)))
            assert full in pipes(kurz)
    finally:
        os.close(pipe)


@on_sqlite
async def test_a_process_without_free_files_takes_nobody_for_dead(kurz):
    async with another_process(kurz, tick_seconds=NEVER_SECONDS):
        (pipe,) = pipes(kurz)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
        try:
            with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
                os.open("/dev/null", os.O_RDONLY)
            kurz.feed._wake(pipe)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert pipes(kurz) == [pipe]


@on_sqlite
async def test_a_pipe_that_is_not_open_yet_is_left_alone(kurz):
    kurz.settings.feed_dir.mkdir()
    new = kurz.settings.feed_dir / "1-x.new"
    os.mkfifo(new)
    async with another_process(kurz, tick_seconds=NEVER_SECONDS) as other:
        await other.wait_for(of(await make(kurz)))
        assert new in pipes(kurz)


def open_in(folder: Path) -> int:
    """How many files of the folder this process has open."""
    found = 0
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # closed since it was listed
            found += file.readlink().parent == folder
    return found


@on_sqlite
async def test_starting_and_stopping_twice_is_harmless_and_leaves_nothing(kurz):
    feed = LocalFeed(SqlChangeLog(kurz.database), kurz.settings.feed_dir)
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
@on_sqlite
async def test_a_stop_together_with_a_wake_up_is_not_lost(kurz, turns):
    log = SqlChangeLog(kurz.database)
    feed = LocalFeed(log, kurz.settings.feed_dir, tick_seconds=NEVER_SECONDS)
    await feed.start()
    await asyncio.sleep(0.01)
    feed._told.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(feed.stop())
    await asyncio.wait({stopping}, timeout=10)
    assert stopping.done()


@on_sqlite
async def test_a_feed_that_was_stopped_hears_nothing_and_after_another_start_all(kurz):
    async with another_process(kurz, tick_seconds=SOON_SECONDS) as other:
        await other.feed.stop()
        missed = await make(kurz)
        await asyncio.sleep(3 * SOON_SECONDS)
        assert other.heard == []
        await other.feed.start()
        made = await make(kurz)
        await other.wait_for([*of(missed), *of(made)])


@on_sqlite
async def test_who_does_not_listen_any_more_is_told_nothing(kurz):
    first, second = Listener(kurz.feed), Listener(kurz.feed)
    kurz.feed.unsubscribe(first._hear)
    made = await make(kurz)
    assert (first.heard, second.heard) == ([], of(made))
