"""What counts as a pause of the process, and from when on its memory may be used again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest

from kurz.feed.heartbeat import BEAT_SECONDS, READINGS, Heartbeat

LONG = 1.5  # seconds of a pause


class Process:
    """One with a time of its own, which reads the log as it is told to."""

    def __init__(self) -> None:
        self.now_ns = 10**15
        self.readings = 0
        self.failures = 0
        self.read: Callable[[], Awaitable[bool]] = self.read_at_once
        self.heartbeat = Heartbeat(self._read_log, self._on_failure)

    @property
    def is_fresh(self) -> bool:
        return self.now_ns <= self.heartbeat.fresh_until_ns

    async def run(self, seconds: float) -> None:
        end_ns = self.now_ns + round(seconds * 1e9)
        while self.now_ns < end_ns:
            self.now_ns = min(self.now_ns + round(BEAT_SECONDS * 1e9), end_ns)
            self.heartbeat._beat()
            await asyncio.sleep(0)

    def pause(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    async def read_at_once(self) -> bool:
        return True

    async def read_slowly(self) -> bool:
        await self.run(0.7)
        return True

    async def _read_log(self) -> bool:
        self.readings += 1
        return await self.read()

    def _on_failure(self) -> None:
        self.failures += 1


@pytest.fixture
async def process(monkeypatch):
    process = Process()
    own_time = SimpleNamespace(perf_counter_ns=lambda: process.now_ns, monotonic=time.monotonic)
    monkeypatch.setattr("kurz.feed.heartbeat.time", own_time)
    process.heartbeat.start()
    yield process
    await process.heartbeat.stop()


async def test_one_that_runs_stays_fresh_and_reads_nothing(process):
    await process.run(5)
    assert process.is_fresh
    assert (process.readings, process.heartbeat.pauses) == (0, 0)


async def test_after_a_pause_the_log_is_read_once(process):
    process.pause(LONG)
    assert not process.is_fresh
    await process.heartbeat.catch_up()
    assert process.is_fresh
    await process.run(5)
    assert process.is_fresh
    assert (process.readings, process.heartbeat.pauses, process.failures) == (1, 1, 0)


async def test_a_beat_notices_the_pause_as_well(process):
    process.pause(LONG)
    await process.run(BEAT_SECONDS)
    await process.run(BEAT_SECONDS)
    assert process.is_fresh
    assert process.readings == 1


async def test_a_reading_that_takes_long_is_no_pause(process):
    process.read = process.read_slowly
    process.pause(LONG)
    await process.heartbeat.catch_up()
    assert process.is_fresh
    await process.run(5)
    assert process.is_fresh
    assert (process.readings, process.failures) == (1, 0)


async def test_what_was_read_before_another_pause_does_not_count(process):
    async def read_and_pause() -> bool:
        process.read = process.read_at_once
        process.pause(LONG)
        return True

    process.read = read_and_pause
    process.pause(LONG)
    await process.heartbeat.catch_up()
    assert (process.readings, process.heartbeat.pauses, process.failures) == (2, 2, 0)
    assert process.is_fresh


async def test_a_pause_that_a_beat_notices_during_the_reading_counts_too(process):
    async def read_and_pause() -> bool:
        process.read = process.read_at_once
        process.pause(LONG)
        await process.run(BEAT_SECONDS)
        return True

    process.read = read_and_pause
    process.pause(LONG)
    await process.heartbeat.catch_up()
    assert (process.readings, process.failures) == (2, 0)
    assert process.is_fresh


async def test_with_pauses_in_every_reading_memory_is_in_doubt(process):
    async def read_and_pause() -> bool:
        process.pause(LONG)
        return True

    process.read = read_and_pause
    process.pause(LONG)
    await process.heartbeat.catch_up()
    assert (process.readings, process.failures) == (READINGS, 1)
    assert process.is_fresh  # links are looked up instead
    assert process.heartbeat.is_in_doubt(time.monotonic() - 60)
    assert not process.heartbeat.is_in_doubt(time.monotonic())


async def test_a_reading_that_fails_puts_memory_in_doubt(process):
    async def fail() -> bool:
        return False

    before = time.monotonic()
    process.read = fail
    process.pause(LONG)
    await process.heartbeat.catch_up()
    assert (process.readings, process.failures) == (1, 1)
    assert process.heartbeat.is_in_doubt(before)
