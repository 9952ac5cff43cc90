"""Follows the system calls of a running process, by tracing it with ptrace (Linux)."""

import ctypes
import os
import signal
import struct
import subprocess
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

# From <linux/ptrace.h>, <linux/wait.h> and <linux/audit.h>.
PTRACE_DETACH, PTRACE_SYSCALL, PTRACE_GET_SYSCALL_INFO = 17, 24, 0x420E
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_LISTEN = 0x4206, 0x4207, 0x4208
PTRACE_O_TRACESYSGOOD, PTRACE_O_TRACECLONE = 0x1, 0x8
SYSCALL_STOP = signal.SIGTRAP | 0x80
SYSCALL_ENTRY = 1
# Of `struct ptrace_syscall_info`: op, arch, and at the entry the number and six arguments, at the
# exit the result and whether it is an error.
SYSCALL_INFO = struct.Struct("=B3xI16x7Q")
SYSCALL_EXIT = struct.Struct("=24xqB")
WNOTHREAD, WALL = 0x20000000, 0x40000000
GROUP_STOPS = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
X86_64, AARCH64 = 0xC000003E, 0xC00000B7

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Tracer:
    """Tells of the system calls that the threads of a process, but not its children, make in a
    block: `_on_entry` and `_on_exit` are called in the tracer's own thread, while the one that
    makes the call stands still.

    Inside the block nothing in this program may wait for or poll the process (as `Popen.poll` and
    asyncio's subprocesses do): the kernel would hand it the events that are meant for the tracer.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._attached = threading.Event()
        self._error: OSError | None = None
        # The kernel knows a tracer by its thread, so one thread does it all. A helper process would
        # not do: many systems let a process be traced by its ancestors only.
        self._tracer = threading.Thread(target=self._run, daemon=True)

    def _on_entry(self, thread: int, arch: int, number: int, arguments: tuple[int, ...]) -> None:
        raise NotImplementedError

    def _on_exit(self, thread: int, result: int, *, is_error: bool) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._tracer.start()
        self._attached.wait()
        self._raise_error()
        return self

    def __exit__(self, *_: object) -> None:
        self._bell.kill()
        self._tracer.join(timeout=10)
        self._raise_error()
        if self._tracer.is_alive():
            raise TimeoutError("the tracer misses events: did something wait for the process?")

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            # The tracer can block in `wait` only, so the end of a child of its tells it to leave.
            with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as self._bell:
                self._trace()
        except OSError as error:
            self._error = error
        finally:
            self._attached.set()

    def _trace(self) -> None:
        unseen = self._seize()
        request = PTRACE_SYSCALL
        held: list[tuple[int, int]] = []
        # WNOWAIT only looks at an event, since the end of the process is for its parent to take.
        look = os.WEXITED | os.WSTOPPED | os.WNOWAIT
        while (event := _wait(os.P_ALL, 0, look | (os.WNOHANG if held else 0))) or held:
            if event is None:
                # All that stopped were held before any goes on, so a busy one starves no other.
                for thread, status in held:
                    self._resume(thread, status, request)
                held.clear()
                continue
            if event.si_pid == self._bell.pid:
                self._bell.wait()
                request = PTRACE_DETACH
                self._interrupt()
            elif event.si_code == os.CLD_TRAPPED:
                if stop := _wait(os.P_PID, event.si_pid, os.WSTOPPED | os.WNOHANG):
                    held.append((stop.si_pid, stop.si_status))
            elif event.si_pid == self._pid:
                return
            else:
                _wait(os.P_PID, event.si_pid, os.WEXITED)
            unseen.discard(event.si_pid)
            if not unseen:
                self._attached.set()

    def _seize(self) -> set[int]:
        """Seizes all threads, and those they start from now on; gives the ones that will stop."""
        options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE
        _ptrace(PTRACE_SEIZE, self._pid, data=options)
        seized = {self._pid}
        while new := self._threads() - seized:
            seized |= new
            for thread in new:
                # A thread that a seized one has started is seized already, and this is refused.
                with suppress(ProcessLookupError, PermissionError):
                    _ptrace(PTRACE_SEIZE, thread, data=options)
        return self._interrupt()

    def _interrupt(self) -> set[int]:
        """Stops all threads, as a thread takes requests only then; gives those that will stop."""
        interrupted = set()
        for thread in self._threads():
            with suppress(ProcessLookupError):
                _ptrace(PTRACE_INTERRUPT, thread)
                interrupted.add(thread)
        return interrupted

    def _threads(self) -> set[int]:
        try:
            return {int(thread.name) for thread in Path(f"/proc/{self._pid}/task").iterdir()}
        except FileNotFoundError:
            return set()

    def _resume(self, thread: int, status: int, request: int) -> None:
        """Sends a stopped thread on its way, with the signal that it was stopped for, if any."""
        event, number = divmod(status, 256)
        with suppress(ProcessLookupError):
            if number == SYSCALL_STOP:
                self._note(thread)
                number = 0
            elif event:
                if number in GROUP_STOPS and request == PTRACE_SYSCALL:
                    request = PTRACE_LISTEN
                number = 0
            _ptrace(request, thread, data=number)

    def _note(self, thread: int) -> None:
        """Tells of the beginning or the end of a system call."""
        info = ctypes.create_string_buffer(SYSCALL_INFO.size)
        _ptrace(PTRACE_GET_SYSCALL_INFO, thread, len(info), ctypes.addressof(info))
        op, arch, number, *arguments = SYSCALL_INFO.unpack(info)
        if op == SYSCALL_ENTRY:
            self._on_entry(thread, arch, number, tuple(arguments))
        else:
            result, is_error = SYSCALL_EXIT.unpack_from(info)
            self._on_exit(thread, result, is_error=bool(is_error))


def _ptrace(request: int, thread: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, thread, address, data) < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"ptrace of {thread}: {os.strerror(code)}")


def _wait(kind: int, number: int, options: int) -> os.waitid_result | None:
    """Waits for tracees and children of this thread, not of others; None if there are none."""
    try:
        return os.waitid(kind, number, options | WNOTHREAD | WALL)
    except ChildProcessError:
        return None
