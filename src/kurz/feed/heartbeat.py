"""Notices when the process was paused: its memory may then be older than kurz promises.

When a process resumes (after a signal, a paused virtual machine, or too little CPU), requests and
changes are waiting at the same time, and it may handle the requests first.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

BEAT_SECONDS = 0.25
# A process that has not recorded the time for this long was paused.
HELD_UP_NS = 500_000_000
READ_SECONDS = 1.0  # for the change log; after that, each link is looked up in the store again
READINGS = 2  # if the process was paused during the first


class Heartbeat:
    """Memory may be used until `fresh_until_ns`, by `time.perf_counter_ns`: compare it with the
    arrival time of a request. After that, call `catch_up` first.

    `read_log` reads what others have written, and returns whether it could. If not, `on_failure` is
    called, and what is in memory `is_in_doubt` until the log can be read."""

    def __init__(
        self, read_log: Callable[[], Awaitable[bool]], on_failure: Callable[[], None]
    ) -> None:
        self.fresh_until_ns = 0
        self.pauses = 0  # that were noticed
        self._beat_ns = 0
        self._resumed_ns = 0  # the first beat after the last pause
        self._read_log = read_log
        self._on_failure = on_failure
        self._doubted_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The log has just been read."""
        self._beat_ns = time.perf_counter_ns()
        self.fresh_until_ns = self._beat_ns + HELD_UP_NS
        self._set_timer()

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._reading is not None:
            await asyncio.wait((self._reading,))

    def is_in_doubt(self, caught_up_at: float) -> bool:
        """`caught_up_at`: when the last complete reading of the log began, by `time.monotonic`."""
        return self._doubted_at is not None and caught_up_at < self._doubted_at

    async def catch_up(self) -> None:
        """Returns when the log has been read, or cannot be: then memory is in doubt."""
        # A cancelled caller must not cancel the reading: others wait for it.
        await asyncio.wait((self._begin_reading(),))

    def _beat(self) -> None:
        now = self._record_time()
        if now <= self.fresh_until_ns:
            self.fresh_until_ns = now + HELD_UP_NS
        else:
            self._begin_reading()
        self._set_timer()

    def _record_time(self) -> int:
        now = time.perf_counter_ns()
        if now - self._beat_ns > HELD_UP_NS:
            self._resumed_ns = now
        self._beat_ns = now
        return now

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _begin_reading(self) -> asyncio.Task[None]:
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        is_read, since = False, time.monotonic()
        try:
            for _ in range(READINGS):
                self.pauses += 1
                since, began_ns = time.monotonic(), self._record_time()
                is_read = await self._try_to_read()
                self._record_time()
                # The beats continue during a reading: a long one is not a pause.
                if self._resumed_ns <= began_ns:
                    break
                is_read, since = False, time.monotonic()  # it may be from before the pause
        finally:
            if not is_read:
                self._doubted_at = since
                self._on_failure()
            self.fresh_until_ns = self._beat_ns + HELD_UP_NS
            self._reading = None

    async def _try_to_read(self) -> bool:
        try:
            async with asyncio.timeout(READ_SECONDS):
                return await self._read_log()
        except TimeoutError:
            return False
