"""What other processes on the same data folder have written: read from the change log once a
second, and at once when one of them says that there is something."""

import asyncio
import contextlib
import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from secrets import token_hex

import structlog

from kurz.errors import StoreUnavailable
from kurz.links.model import Change
from kurz.links.ports import ChangeLog

TICK_SECONDS = 1.0
BATCH = 1000  # rows read at a time
# Numbers are given before a commit: a row below one that was seen may still appear. No transaction
# lives as long as this.
GAP_SECONDS = 30.0
LOOK_BACK = 1000  # numbers before the last one at the start that may still appear
REST_SECONDS = 0.005  # between two wake-ups: many writes share one

Hear = Callable[[Sequence[Change]], None]

log = structlog.get_logger()


class LocalFeed:
    """`folder` holds a named pipe for each process that listens. A process that only writes need
    not be started."""

    def __init__(
        self,
        change_log: ChangeLog,
        folder: Path,
        *,
        tick_seconds: float = TICK_SECONDS,
        gap_seconds: float = GAP_SECONDS,
    ) -> None:
        self._log = change_log
        self._folder = folder
        self._tick_seconds = tick_seconds
        self._gap_seconds = gap_seconds
        self._listeners: list[Hear] = []
        self._position = 0
        self._gaps: dict[int, float] = {}  # number → when it was missed
        self._told = asyncio.Event()
        self._pipe: int | None = None
        self._own_name = ""
        self._task: asyncio.Task[None] | None = None
        self._waking: asyncio.TimerHandle | None = None
        self._is_down = False
        self.heard_at = time.monotonic()  # when the log was last read to its end

    def subscribe(self, hear: Hear) -> None:
        self._listeners.append(hear)

    def unsubscribe(self, hear: Hear) -> None:
        self._listeners.remove(hear)

    def announce(self, changes: Sequence[Change]) -> None:
        """What this process has written: heard here at once, and by others in a moment."""
        self._tell(changes)
        if self._waking is None:
            loop = asyncio.get_running_loop()
            self._waking = loop.call_later(REST_SECONDS, self._wake_others)

    async def start(self) -> None:
        """From here on no change is missed. A second time is harmless."""
        if self._task is not None:
            return
        self._position = max(await self._log.last() - LOOK_BACK, 0)
        self._open_pipe()
        await self._catch_up()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        if self._waking is not None:
            self._waking.cancel()
            self._wake_others()
        self._close_pipe()

    async def _run(self) -> None:
        while True:
            # No `wait_for`: in Python 3.11 it loses a `stop` that comes together with a wake-up.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._tick_seconds):
                    await self._told.wait()
            self._told.clear()
            try:
                await self._catch_up()
            except StoreUnavailable as outage:
                if not self._is_down:
                    log.warning("feed waits", detail=outage.detail)
                self._is_down = True
            except Exception:
                log.exception("feed failed")
            else:
                self._is_down = False

    async def _catch_up(self) -> None:
        while True:
            rows = await self._log.read(self._position, BATCH)
            self._take(rows)
            if len(rows) < BATCH:
                break
        missing = [*self._gaps]
        for start in range(0, len(missing), BATCH):  # no engine takes any number of values
            self._take_late(await self._log.read_some(missing[start : start + BATCH]))
        self._give_up_gaps()
        self.heard_at = time.monotonic()

    def _take(self, rows: Sequence[tuple[int, Change]]) -> None:
        if not rows:
            return
        now = time.monotonic()
        for number, _ in rows:
            for missed in range(self._position + 1, number):
                self._gaps[missed] = now
            self._position = number
        self._tell([change for _, change in rows])

    def _take_late(self, rows: Sequence[tuple[int, Change]]) -> None:
        for number, _ in rows:
            del self._gaps[number]
        self._tell([change for _, change in rows])

    def _give_up_gaps(self) -> None:
        too_old = time.monotonic() - self._gap_seconds
        for number in [number for number, missed in self._gaps.items() if missed < too_old]:
            del self._gaps[number]

    def _tell(self, changes: Sequence[Change]) -> None:
        if changes:
            for hear in self._listeners:
                try:
                    hear(changes)
                except Exception:  # the write stands, and whoever waits for it must hear so
                    log.exception("a listener of the feed failed")

    # The pipes: a byte in one of them says "read the log".

    def _open_pipe(self) -> None:
        """Under another name first: a pipe that nobody reads yet would be taken for a dead one."""
        self._own_name = f"{os.getpid()}-{token_hex(4)}"
        new = self._folder / f"{self._own_name}.new"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.mkfifo(new, 0o600)
            self._pipe = os.open(new, os.O_RDWR | os.O_NONBLOCK)
            new.rename(self._folder / self._own_name)
        except OSError as error:
            log.warning("no wake-ups: changes are seen once a second", reason=error.strerror)
            return
        asyncio.get_running_loop().add_reader(self._pipe, self._woken)

    def _woken(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe, 4096)
        self._told.set()

    def _wake_others(self) -> None:
        self._waking = None
        try:
            with os.scandir(self._folder) as found:
                names = [pipe.name for pipe in found]
        except OSError:  # nobody listens
            return
        for name in names:
            if name != self._own_name and not name.endswith(".new"):
                self._wake(self._folder / name)

    def _wake(self, path: Path) -> None:
        try:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            # Its process is gone. Anything else is our own trouble, such as too many open files.
            if error.errno == errno.ENXIO:
                with contextlib.suppress(OSError):
                    path.unlink()
            return
        # Full: it has been told often enough. Broken: it has just left.
        with contextlib.suppress(OSError):
            os.write(pipe, b"!")
        os.close(pipe)

    def _close_pipe(self) -> None:
        if self._pipe is None:
            return
        asyncio.get_running_loop().remove_reader(self._pipe)
        os.close(self._pipe)
        self._pipe = None
        with contextlib.suppress(OSError):
            (self._folder / self._own_name).unlink()
