"""Reads what other processes have written from the change log: once a second, and at every wake-up.

Numbers are assigned before the commit, so a row may still appear below one that was read. The feed
waits for a missing number as long as a transaction lives that was writing to the log when the
number was missed. Locks show these transactions: they are taken before a number and released after
the commit. So nothing is missed, however long a transaction takes, and the feed never waits for a
number that was rolled back.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from kurz.errors import StoreUnavailable
from kurz.freshness.ports import ChangeLog, FeedListener
from kurz.freshness.routes import Change
from kurz.rounds import wait_at_most

TICK_SECONDS = 1.0
BATCH = 1000  # rows read at a time
LOOK_BACK = 1000  # rows before the last one that are read at the start
MAX_LEAP = 100_000  # numbers that one reading may miss; more were skipped by the engine, or trimmed
# After a longer silence a process cannot catch up; rows are trimmed after a day.
MAX_SILENCE_SECONDS = 3600.0

log = structlog.get_logger()


class Waker(Protocol):
    """Carries wake-ups between processes: there are new rows to read. Some may get lost."""

    lost_connections: int

    async def start(self, on_wake: Callable[[], None]) -> None:
        """Listens as soon as it can. Never fails; a second call is harmless."""

    def wake(self) -> None:
        """Wakes the others in a moment; many calls share one wake-up."""

    async def stop(self) -> None:
        """A requested wake-up is sent before this returns."""


class ChangeFeed:
    """A process that only writes need not start it."""

    def __init__(
        self,
        change_log: ChangeLog,
        waker: Waker,
        *,
        tick_seconds: float = TICK_SECONDS,
        look_back: int = LOOK_BACK,
        max_silence_seconds: float = MAX_SILENCE_SECONDS,
        rest_seconds: float = 0.0,
    ) -> None:
        """`rest_seconds`: wake-ups within this time after a reading share the next one."""
        self._log = change_log
        self._waker = waker
        self._tick_seconds = tick_seconds
        self._look_back = look_back
        self._max_silence_seconds = max_silence_seconds
        self._rest_seconds = rest_seconds
        self._rests_until = -math.inf  # by `time.monotonic`
        self._resting: asyncio.TimerHandle | None = None  # for a wake-up that came during the rest
        self._listeners: list[FeedListener] = []
        self._is_lost = True  # its position is unknown
        self._begins_at = 0
        self._position = 0
        self._anchor: Change | None = None  # the row at `_position`, which must not change
        # Number → the transactions that were writing when it was missed and still are; None: not
        # asked yet.
        self._gaps: dict[int, frozenset[str] | None] = {}
        # Transactions that were open at the start, and may have numbers from before the look-back.
        self._strangers: frozenset[str] = frozenset()
        self._told = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[bool]] = []  # for a reading that begins from now on
        self._is_down = False
        self.caught_up_at = time.monotonic()  # when the last complete reading of the log began
        self.wake_ups = 0

    @property
    def lost_connections(self) -> int:
        """The number of lost connections for wake-ups."""
        return self._waker.lost_connections

    def subscribe(self, listener: FeedListener) -> None:
        self._listeners.append(listener)

    def unsubscribe(self, listener: FeedListener) -> None:
        self._listeners.remove(listener)

    def announce(self, changes: Sequence[Change]) -> None:
        """Passes on what this process has written: here at once, to others in a moment."""
        self._notify([(0, change) for change in changes])
        self._waker.wake()

    async def start(self) -> None:
        """From here on no change is missed. A second call is harmless."""
        if self._task is not None:
            return
        self._is_lost = True
        await self._waker.start(self._woken)
        await self._catch_up()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        _answer(self._waiting, is_read=False)
        await self._waker.stop()

    async def read_now(self) -> bool:
        """Whether the log was read to its end and all listeners were notified. A reading that is
        already running does not count: it may have begun before a pause of this process."""
        if self._task is None:
            return False
        waiting: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._told.set()
        return await waiting

    def _woken(self) -> None:
        self.wake_ups += 1
        rest_seconds = self._rests_until - time.monotonic()
        if rest_seconds <= 0:
            self._told.set()
        elif self._resting is None:
            loop = asyncio.get_running_loop()
            self._resting = loop.call_later(rest_seconds, self._end_rest)

    def _end_rest(self) -> None:
        self._resting = None
        self._told.set()

    async def _run(self) -> None:
        while True:
            await wait_at_most(self._told, self._tick_seconds)
            self._told.clear()
            waiting, self._waiting = self._waiting, []
            is_read = False
            try:
                await self._catch_up()
                is_read = True
            except StoreUnavailable as outage:
                if not self._is_down:
                    log.warning("change feed waiting for the database", detail=outage.detail)
                self._is_down = True
            except Exception:
                log.exception("change feed failed")
            else:
                self._is_down = False
            finally:
                self._rests_until = time.monotonic() + self._rest_seconds
                _answer(waiting, is_read=is_read)

    async def _catch_up(self) -> None:
        began_at = time.monotonic()
        if self._is_lost or began_at - self.caught_up_at > self._max_silence_seconds:
            await self._reset()
        if self._strangers:
            await self._await_strangers()
        while await self._read_on():
            pass
        if self._gaps:
            await self._close_gaps()
        self._notify_caught_up()
        self.caught_up_at = began_at

    async def _reset(self) -> None:
        begins_at = max(await self._log.last() - self._look_back, 0)
        self._strangers = await self._log.writers() if begins_at else frozenset()
        self._begins_at = begins_at
        self._go_back()
        self._is_lost = False

    def _go_back(self) -> None:
        self._position, self._anchor = self._begins_at, None
        self._gaps.clear()
        for listener in self._listeners:
            listener.reset(self._begins_at)

    async def _await_strangers(self) -> None:
        """When the last of them has ended, listeners are reset once more. Later transactions have
        numbers beyond the start of this feed."""
        self._strangers &= await self._log.writers()
        if not self._strangers:
            self._go_back()

    async def _read_on(self) -> bool:
        """False: those were the last rows."""
        anchors = [] if self._anchor is None else [(self._position, self._anchor)]
        rows = await self._log.read(self._position - len(anchors), BATCH)
        new = rows[len(anchors) :]
        was_set_back = [*rows[: len(anchors)]] != anchors
        if was_set_back or (new and new[-1][0] - self._position > MAX_LEAP):
            log.warning("change log was replaced: starting over", position=self._position)
            await self._reset()
            return True
        for number, change in new:
            self._gaps.update(dict.fromkeys(range(self._position + 1, number)))
            self._position, self._anchor = number, change
        self._notify(new)
        return len(rows) == BATCH

    async def _close_gaps(self) -> None:
        """Transactions that have ended by now have left their rows, or never will."""
        writers = await self._log.writers()
        missing = [*self._gaps]
        for start in range(0, len(missing), BATCH):  # no engine accepts any number of values
            late = await self._log.read_some(missing[start : start + BATCH])
            for number, _ in late:
                del self._gaps[number]
            self._notify(late)
        for number, waited_for in [*self._gaps.items()]:
            waiting_for = writers if waited_for is None else waited_for & writers
            if waiting_for:
                self._gaps[number] = waiting_for
            else:
                del self._gaps[number]

    def _notify_caught_up(self) -> None:
        position = min(self._gaps, default=self._position + 1) - 1
        for listener in self._listeners:
            listener.on_caught_up(0 if self._strangers else position)

    def _notify(self, changes: Sequence[tuple[int, Change]]) -> None:
        if changes:
            for listener in self._listeners:
                try:
                    listener.on_changes(changes)
                except Exception:  # the write is done, and its caller must get the result
                    log.exception("change feed listener failed")


def _answer(waiting: Sequence[asyncio.Future[bool]], *, is_read: bool) -> None:
    for future in waiting:
        if not future.done():  # nobody waits for it any more
            future.set_result(is_read)
