"""Notices when the process stood still: what it remembers is then older than anybody was promised.

A process that was stopped (by a signal, by a hypervisor, by a machine with too much to do) finds
requests and changes waiting side by side, and may come to the requests first.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

BEAT_SECONDS = 0.25
# A process that has not noted the time for so long was held up.
HELD_UP_NS = 500_000_000
READ_SECONDS = 1.0  # for the change log; then memory is doubted, and the store asked for each link


class Heartbeat:
    """Memory may be believed until `fresh_until_ns`, by `time.perf_counter_ns`: compare it with
    when a request came in. Behind that, `catch_up` first.

    `read_log` reads what others have written, and tells whether it could. `on_failure` is called
    where it could not; until it can, `is_in_doubt` what is in memory."""

    def __init__(
        self, read_log: Callable[[], Awaitable[bool]], on_failure: Callable[[], None]
    ) -> None:
        self.fresh_until_ns = 0
        self.pauses = 0  # that were noticed
        self._read_log = read_log
        self._on_failure = on_failure
        self._doubted_at: float | None = None
        self._reading: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """The log has just been read."""
        self.fresh_until_ns = time.perf_counter_ns() + HELD_UP_NS
        self._set_timer()

    async def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._reading is not None:
            await asyncio.wait((self._reading,))

    def is_in_doubt(self, heard_at: float) -> bool:
        """`heard_at`: when the last complete reading of the log began, by `time.monotonic`."""
        return self._doubted_at is not None and heard_at < self._doubted_at

    async def catch_up(self) -> None:
        """Returns when the log has been read, or cannot be: then nothing is believed unchecked."""
        # Whoever leaves does not take the reading along: others wait for it.
        await asyncio.wait((self._begin_reading(),))

    def _beat(self) -> None:
        now = time.perf_counter_ns()
        if now <= self.fresh_until_ns:
            self.fresh_until_ns = now + HELD_UP_NS
        else:
            self._begin_reading()
        self._set_timer()

    def _set_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(BEAT_SECONDS, self._beat)

    def _begin_reading(self) -> asyncio.Task[None]:
        if self._reading is None:
            self.pauses += 1
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        began_at, began_ns = time.monotonic(), time.perf_counter_ns()
        is_read = False
        try:
            async with asyncio.timeout(READ_SECONDS):
                is_read = await self._read_log()
        except TimeoutError:
            pass
        finally:
            if not is_read:
                self._doubted_at, began_ns = began_at, time.perf_counter_ns()
                self._on_failure()
            # From the beginning of the reading on: the process may have been held up during it.
            self.fresh_until_ns = began_ns + HELD_UP_NS
            self._reading = None
