"""Signals of the supervisor, as a pipe that can be waited for like others."""

import os
import signal
from types import FrameType

WATCHED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class SignalPipe:
    """Received signals, as bytes in a pipe. `sigtimedwait` cannot wait for pipes too, and macOS
    does not have it."""

    def __init__(self) -> None:
        self.reading, self._writing = os.pipe()
        for end in (self.reading, self._writing):
            os.set_blocking(end, False)
        self._before = {number: signal.signal(number, _only_wake) for number in WATCHED}
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)

    def read(self) -> list[int]:
        """The signals since the last call; a repeated one may be reported once."""
        try:
            return list(os.read(self.reading, 4096))
        except BlockingIOError:
            return []

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self.reading)
        os.close(self._writing)

    def leave_in_child(self) -> None:
        """A forked child shares the pipe: it must not report its own signals to the supervisor.
        SIGINT and SIGHUP of a terminal reach it too; the supervisor decides what they mean."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.close(self.reading)
        os.close(self._writing)


def _only_wake(_number: int, _frame: FrameType | None) -> None:
    """Python writes to the pipe only for signals that have a handler."""
