"""Runs `kurz` in processes of its own that need not load anything first, which is most of what a
short command does, and of what a start takes. Tests with a terminal (support.terminal,
integration/supervisor) start the program itself.
"""

import atexit
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NoReturn

_NUMBER = struct.Struct("<i")
_CAPABILITIES_VERSION = 0x20080522
_OVERRIDES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def run(
    arguments: Sequence[str | bytes],
    environment: Mapping[str, str],
    *,
    given: bytes = b"",
    folder: Path | None = None,
    seconds: float = 120.0,
    file_limit: int | None = None,
    is_ordinary: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run` would, with both outputs apart."""
    with ExitStack() as closing:
        files = [closing.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(given)
        files[0].seek(0)
        numbers = [file.fileno() for file in files]
        child = start(
            arguments,
            environment,
            numbers,
            folder=folder,
            file_limit=file_limit,
            is_ordinary=is_ordinary,
        )
        watch = threading.Timer(seconds, child.send_signal, [signal.SIGKILL])
        watch.start()
        status = child.wait()
        watch.cancel()
        outputs = []
        for file in files[1:]:
            file.seek(0)
            outputs.append(file.read())
    return subprocess.CompletedProcess(arguments, status, *outputs)


def start(
    arguments: Sequence[str | bytes],
    environment: Mapping[str, str],
    files: Sequence[int],
    *,
    folder: Path | None = None,
    is_leader: bool = False,
    file_limit: int | None = None,
    is_ordinary: bool = False,
) -> "Child":
    """With these as its standard files; `is_leader` gives it a session of its own, `file_limit` a
    hard limit of open files. The modes of files also count for root if it `is_ordinary`."""
    request = {
        "arguments": [os.fsdecode(item) for item in arguments],
        "environment": dict(environment),
        "folder": str(folder or Path.cwd()),
        "is_leader": is_leader,
        "file_limit": file_limit,
        "is_ordinary": is_ordinary,
    }
    return _nursery().start(json.dumps(request).encode(), list(files))


class Child:
    """As much of a `subprocess.Popen` as is needed."""

    def __init__(self, news: int) -> None:
        self._news = os.fdopen(news, "rb", buffering=0)
        self.pid: int = _NUMBER.unpack(self._news.read(_NUMBER.size) or b"")[0]
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._has_news(0):
            self.wait()
        return self.returncode

    def _has_news(self, timeout: float | None) -> bool:
        poll = select.poll()  # `select` refuses the files of a test with a thousand connections
        poll.register(self._news, select.POLLIN)
        return bool(poll.poll(None if timeout is None else timeout * 1000))

    def wait(self, timeout: float | None = None) -> int:
        """The status that it ended with, below 0 if a signal ended it."""
        if self.returncode is None:
            if not self._has_news(timeout):
                raise subprocess.TimeoutExpired("kurz", timeout or 0)
            self.returncode = _NUMBER.unpack(self._news.read(_NUMBER.size) or b"")[0]
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Nursery:
    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        command = [sys.executable, "-W", "ignore", __file__, str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self.end)

    def start(self, request: bytes, files: list[int]) -> Child:
        reading, writing = os.pipe()
        try:
            with self._turn:
                socket.send_fds(self._ours, [request], [*files, writing])
        finally:
            os.close(writing)
        return Child(reading)

    def end(self) -> None:
        self._ours.close()
        self._process.kill()
        self._process.wait()


@functools.cache
def _nursery() -> _Nursery:
    return _Nursery()


def _serve(requests: socket.socket) -> None:
    _load_kurz()
    _hash_quickly()
    gc.freeze()  # its children need not look through what they share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the guardians
    while True:
        request, files, _, _ = socket.recv_fds(requests, 1_000_000, 4)
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _guard(json.loads(request), files)
        for file in files:
            os.close(file)


def _load_kurz() -> None:
    """All of it, and with it the libraries."""
    import kurz

    for module in pkgutil.walk_packages(kurz.__path__, "kurz."):
        # Alembic reads migrations itself. Some modules are of extras that need not be there.
        if ".migrations" not in module.name:
            with suppress(ImportError):
                importlib.import_module(module.name)


def _hash_quickly() -> None:
    """As the parts of kurz do in tests: a password would take a quarter of a second, and longer
    on a busy machine. What it costs by default has tests of its own."""
    import bcrypt

    salt = bcrypt.gensalt

    def cheap_salt(rounds: int = 4, prefix: bytes = b"2b") -> bytes:
        return salt(min(rounds, 4), prefix)

    bcrypt.gensalt = cheap_salt


def _forget_kurz() -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "kurz":
            del sys.modules[name]


def _guard(request: dict[str, object], files: list[int]) -> NoReturn:
    """Starts the command, waits for it, and tells its process id and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        _become(request, files)
    os.write(files[3], _NUMBER.pack(child))
    for file in (0, 1, 2, *files[:3]):  # who reads them is to notice its end
        os.close(file)
    _, status = os.waitpid(child, 0)
    with suppress(BrokenPipeError):
        os.write(files[3], _NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _become(request: dict[str, object], files: list[int]) -> NoReturn:
    if request["is_leader"]:
        os.setsid()
    if request["file_limit"]:
        limit: int = request["file_limit"]  # type: ignore[assignment]
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if request["is_ordinary"]:
        _obey_modes()
    for number, file in enumerate(files[:3]):
        os.dup2(file, number)
    os.closerange(3, max(files) + 1)
    os.chdir(str(request["folder"]))
    ours = os.environ.get("PYTHONPATH", "")
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[call-overload]
    sys.argv = ["kurz", *request["arguments"]]  # type: ignore[misc]
    theirs = os.environ.get("PYTHONPATH", "")
    if theirs != ours:  # there is another kurz
        _forget_kurz()
        sys.path[:0] = filter(None, theirs.split(os.pathsep))
    # Those of the nursery know what kind of files they were.
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", buffering=1, errors="backslashreplace", closefd=False
    )
    status = 1
    try:
        from kurz.cli.app import main

        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:  # noqa: BLE001  as the interpreter itself does
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _obey_modes() -> None:
    """Gives up what lets root read and write every file. It stays the owner of its files, so it can
    do what an ordinary user can do."""
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice 32 bits each
    if libc.capget(header, sets):
        raise OSError("capget")
    for number in range(3):
        sets[number] &= ~_OVERRIDES
    if libc.capset(header, sets):
        raise OSError("capset")


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))  # its names are not modules
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _serve(connection)
