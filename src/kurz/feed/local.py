"""Wake-ups between the processes on one data folder: a byte in a named pipe."""

import asyncio
import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import structlog

REST_SECONDS = 0.005  # between two wake-ups: many writes share one

log = structlog.get_logger()


def is_anybody_listening(folder: Path) -> bool:
    """Whether a kurz runs on this data folder."""
    return any(_has_listener(path) for path in folder.glob("*") if path.suffix != ".new")


def _has_listener(path: Path) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno != errno.ENXIO
    return True


class PipeWaker:
    """`folder` holds a pipe for each process that listens."""

    lost_connections = 0

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._on_wake: Callable[[], None] | None = None
        self._pipe: int | None = None
        self._own_name = ""
        self._waking: asyncio.TimerHandle | None = None

    async def start(self, on_wake: Callable[[], None]) -> None:
        self._on_wake = on_wake
        if self._pipe is None:
            self._open_pipe()

    def wake(self) -> None:
        if self._waking is None:
            loop = asyncio.get_running_loop()
            self._waking = loop.call_later(REST_SECONDS, self._wake_others)

    async def stop(self) -> None:
        if self._waking is not None:
            self._waking.cancel()
            self._wake_others()
        self._close_pipe()

    def _open_pipe(self) -> None:
        """Under another name first: a pipe without a reader would look like one of a dead
        process."""
        self._own_name = f"{os.getpid()}-{token_hex(4)}"
        new = self._folder / f"{self._own_name}.new"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.mkfifo(new, 0o600)
            self._pipe = os.open(new, os.O_RDWR | os.O_NONBLOCK)
            new.rename(self._folder / self._own_name)
        except OSError as error:
            log.warning("no wake-ups: changes are polled once a second", reason=error.strerror)
            return
        asyncio.get_running_loop().add_reader(self._pipe, self._woken)

    def _woken(self) -> None:
        if self._pipe is not None:
            with contextlib.suppress(BlockingIOError):
                os.read(self._pipe, 4096)
        if self._on_wake is not None:
            self._on_wake()

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
            # Its process is gone. Any other error is a problem of this process, such as too many
            # open files.
            if error.errno == errno.ENXIO:
                with contextlib.suppress(OSError):
                    path.unlink()
            return
        # Full: it has enough wake-ups. Broken: its process has just ended.
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
