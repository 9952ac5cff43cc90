"""One server as a child process: started on a free port, awaited, killed, cleaned up."""

import contextlib
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from servers.binaries import account, hand_over

HOST = "127.0.0.1"
# Below the range that systems take for outgoing connections. A client that retries a killed
# server could otherwise be given the very port it calls, and would then talk to itself.
PORTS = range(10_000, 32_000)
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
START_SECONDS = 120.0
STOP_SECONDS = 60.0
# A shell that becomes the server, after leaving behind a watcher which blocks on a pipe from us and
# signals the server when the pipe closes: that is, when we die, however we die. PR_SET_PDEATHSIG
# would need a preexec_fn and would already fire when the *thread* that started the server ends.
# The watcher is no child of the server, as PostgreSQL takes the end of a strange child for a crash.
LEASH = 'exec 3<&0; ( { read -r _ <&3; kill -s "$0" $$; } & ); exec "$@" 3<&- </dev/null'


class ServerError(Exception):
    """A server or one of its tools failed; the message holds what it printed."""


class Server(ABC):
    """A server with a temporary folder of its own, listening on the loopback address only.

    kill() keeps the folder and the port, and start() goes on with them; stop() removes the folder.
    """

    stop_signal: ClassVar[signal.Signals]
    orphan_signal: ClassVar[signal.Signals]

    def __init__(self) -> None:
        self.port = 0
        self.folder = Path(tempfile.gettempdir(), f"kurz-server-{secrets.token_hex(8)}")
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def _command(self) -> Sequence[str | Path]:
        """The command line of the server, in the foreground."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether this very server, not another one on its port, answers over its protocol."""

    @abstractmethod
    def _prepare(self) -> None:
        """Fills the new folder before the first start."""

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        if self._process is None:
            raise ServerError("the server is not running")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and neither stopped nor killed since."""
        return self._process is not None

    def start(self) -> None:
        """Starts the server and returns once it answers."""
        if self._process is not None:
            raise ServerError("the server is running already")
        try:
            fresh = not self.folder.exists()
            if fresh:
                self.folder.mkdir(mode=0o700)
                hand_over(self.folder)
                self._prepare()
                self.port = free_port()
            deadline = time.monotonic() + START_SECONDS
            while not self._comes_up(deadline):
                if fresh:
                    self.port = free_port()
        except BaseException:
            self.stop()
            raise

    def restart(self) -> None:
        """Stops the server in good order and starts it again, with its folder and its port."""
        self._end()
        self.start()

    def stop(self) -> None:
        """Stops the server in good order and removes its folder."""
        self._end()
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def kill(self) -> None:
        """Kills the server and all its workers at once, with no chance to tidy up."""
        if self._process is None:
            return
        process, self._process = self._process, None
        workers = _freeze(process) if process.poll() is None else []
        for worker in workers:
            signal.pidfd_send_signal(worker, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Leaving this block waits and closes the pipe; the watcher in the group is dead by then.
        with process:
            pass
        for worker in workers:
            end = select.poll()
            end.register(worker, select.POLLIN)
            end.poll()
            os.close(worker)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self) -> None:
        if self._process is not None:
            self._process.send_signal(self.stop_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
            self.kill()

    def _comes_up(self, deadline: float) -> bool:
        """Launches the server and awaits its first answer; False if its port was taken."""
        log = self.folder / "server.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["sh", "-c", LEASH, self.orphan_signal.name.removeprefix("SIG"), *self._command()],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=ENVIRONMENT,
                start_new_session=True,
                **account(),
            )
        while self._process.poll() is None and time.monotonic() < deadline:
            if self._answers():
                return True
            time.sleep(0.01)
        status = self._process.poll()
        self.kill()
        text = log.read_text(errors="replace")
        if "Address already in use" in text and time.monotonic() < deadline:
            return False
        ended = "gave no answer in time" if status is None else f"ended with status {status}"
        raise ServerError("\n".join([f"{type(self).__name__} {ended}:", *text.splitlines()[-20:]]))


def free_port() -> int:
    """A port that nothing listens on at the moment."""
    # Not `random`: test runners seed it, and parallel workers would all choose the same ports.
    while True:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((HOST, port))
            return port


def run(*command: str | Path) -> str:
    """Runs a tool of a server under the servers' account and gives what it printed."""
    result = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd="/",
        env=ENVIRONMENT,
        **account(),
    )
    if result.returncode != 0:
        raise ServerError(result.stdout + result.stderr)
    return result.stdout


def _freeze(process: subprocess.Popen[bytes]) -> list[int]:
    """Stops the server so that it starts no more workers; gives handles (pidfd) of those it has."""
    # PostgreSQL makes every worker a session of its own: a signal to the group would miss them.
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [os.pidfd_open(int(pid)) for pid in children.split()]
