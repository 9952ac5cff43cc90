"""One child process of the supervisor: how it is forked, and what it reports."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import structlog

from kurz.errors import KurzError, catalogue
from kurz.server.signals import WATCHED

EXIT_REFUSED = 78  # "config" of sysexits.h
EXIT_FAILED = 70  # "internal software error"


@dataclass(frozen=True)
class Tether:
    """What connects a child to its supervisor. `slot` is a number that no other living child has;
    `lifeline` is a pipe that closes when the supervisor ends."""

    slot: int
    lifeline: int
    on_ready: Callable[[], None]


Work = Callable[[Tether], None]


@dataclass(eq=False)
class Child:
    """A process as its supervisor sees it."""

    pid: int
    slot: int
    report: int | None  # a pipe, until the child has ended or was refused
    started_at: float = field(default_factory=time.monotonic)
    is_ready: bool = False
    refusal: KurzError | None = None  # why it cannot start, or had to end
    is_retired: bool = False  # it was told to end
    kill_at: float | None = None

    def read_report(self) -> None:
        """Takes the reports, if there are any: that it is ready, or why it cannot go on."""
        if self.report is None:
            return
        try:
            message = os.read(self.report, 65536)
        except BlockingIOError:
            return
        for line in message.splitlines():
            said = json.loads(line)
            self.is_ready = self.is_ready or not said
            self.refusal = _error(**said) if said else None
        if not message or self.refusal is not None:
            self.hang_up()

    def hang_up(self) -> None:
        if self.report is not None:
            os.close(self.report)
            self.report = None

    def retire(self, deadline_seconds: float, number: int = signal.SIGTERM) -> None:
        """Tells it to end; after `kill_at` it is killed."""
        self.is_retired = True
        self.kill_at = time.monotonic() + deadline_seconds
        self.send(number)

    def send(self, number: int) -> None:
        # Until it is reaped, no other process has its number.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


def fork(work: Work, slot: int, lifeline: int, cut_loose: Callable[[], None]) -> Child:
    """Starts a process that does `work` and ends. In it, `cut_loose` runs first, to close what
    belongs to the parent."""
    if threading.active_count() > 1:  # a lock that another thread holds would never be released
        raise RuntimeError(f"cannot fork beside threads: {threading.enumerate()}")
    _flush()  # otherwise both would print what is still in the buffers
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    # Until the child has its own handlers, a signal to it would count as one to the parent.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    pid = os.fork()
    if pid == 0:
        cut_loose()
        os.close(reading)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _work(work, Tether(slot, lifeline, lambda: _report(writing, {})), writing)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    os.close(writing)
    return Child(pid, slot, reading)


def _work(work: Work, tether: Tether, report: int) -> NoReturn:
    """Never returns into the parent's stack, whatever happens."""
    code = EXIT_FAILED
    try:
        work(tether)
        code = 0
    except KurzError as error:
        _report(report, {"code": error.code, "detail": error.detail})
        code = EXIT_REFUSED
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else EXIT_FAILED
    except BaseException:  # noqa: BLE001  the supervisor starts another
        structlog.get_logger().exception("process failed")
    finally:
        _flush()
        os._exit(code)


def _report(pipe: int, message: dict[str, str]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        os.write(pipe, json.dumps(message).encode() + b"\n")


def _error(code: str, detail: str) -> KurzError:
    """The error that a child reported, found by its code, because constructors differ."""
    [kind] = [item for item in catalogue() if item.code == code]
    error = kind.__new__(kind)
    KurzError.__init__(error, detail)
    return error


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
