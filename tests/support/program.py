"""A whole `kurz serve` with all its processes, driven over HTTP."""

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Self, TextIO

import httpx2

from support import nursery
from support.certificates import NO_CERTIFICATES

KURZ = Path(sys.executable).with_name("kurz")
# They end a hang, and nothing else.
START_SECONDS = 120
END_SECONDS = 60


class Program:
    """`environment` holds `KURZ_*` variables; the port is free unless it names one. After `stop`
    or `kill` it can be started again, on the same port. Its log is appended to the file `log`.
    `file_limit` is how many files each of its processes may have open."""

    start_seconds = START_SECONDS
    end_seconds = END_SECONDS

    def __init__(
        self, environment: dict[str, str], log: Path, *, file_limit: int | None = None
    ) -> None:
        self._file_limit = file_limit
        self._environment = {"KURZ_PORT": "0", "KURZ_RATE_LIMITS": "off", **environment}
        self._process: nursery.Child | subprocess.Popen[bytes] | None = None
        self._stdout: TextIO | None = None
        self.output = ""
        self._log = log

    def start(self) -> Self:
        reading, writing = os.pipe()
        try:
            with self._log.open("a") as log, Path(os.devnull).open() as nothing:
                self._process = self._launch([nothing.fileno(), writing, log.fileno()])
        finally:
            os.close(writing)
        self._stdout = os.fdopen(reading)
        self.output = self._read_output()
        # With a base URL the address it listens on comes after that.
        ports = re.findall(
            r"^kurz .*http://(?:127\.0\.0\.1|\[::1\]):(\d+)", self.output, re.MULTILINE
        )
        if ports:  # else it listens on a Unix socket
            self._environment["KURZ_PORT"] = ports[-1]
        return self

    def _launch(self, files: list[int]) -> "nursery.Child | subprocess.Popen[bytes]":
        """In a group of its own, to be killed as a whole."""
        return nursery.start(
            ["serve"],
            self._full_environment,
            files,
            is_leader=True,
            file_limit=self._file_limit,
        )

    def run(self, *arguments: str) -> str:
        """Another command of kurz with the same settings, beside it; gives what it printed."""
        ended = nursery.run(arguments, self._full_environment)
        printed = (ended.stdout + ended.stderr).decode()
        assert ended.returncode == 0, printed
        return printed

    @property
    def _full_environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        return {**inherited, **self._environment}

    @property
    def process(self) -> "nursery.Child | subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process

    @property
    def children(self) -> list[int]:
        """The process ids of the workers and the jobs process that live now."""
        pid = self.process.pid
        return [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    @property
    def workers(self) -> list[int]:
        """Those of the children that listen."""
        return [pid for pid in self.children if self._listens(pid)]

    @property
    def jobs(self) -> list[int]:
        return [pid for pid in self.children if not self._listens(pid)]

    def _listens(self, pid: int) -> bool:
        """Whether a process has the listening socket."""
        listening = {f"socket:[{number}]" for number in self._listening()}
        with suppress(OSError):  # it ends, or its files do, while we look
            return any(
                str(file.readlink()) in listening for file in Path(f"/proc/{pid}/fd").iterdir()
            )
        return False

    def _listening(self) -> list[str]:
        """The inodes of the sockets that listen where this program does."""
        path = self.host.removeprefix("unix:")
        if path != self.host:  # connections have the path of their listener, but not its flag
            rows = _rows("/proc/net/unix")
            return [r[6] for r in rows if r[7:] == [path] and r[3] == "00010000"]
        end = f":{self.port:04X}"
        rows = [*_rows("/proc/net/tcp"), *_rows("/proc/net/tcp6")]
        return [r[9] for r in rows if r[3] == "0A" and r[1].endswith(end)]

    @property
    def host(self) -> str:
        """As its setting has it: also `unix:` and a path."""
        return self._environment.get("KURZ_HOST", "127.0.0.1")

    @property
    def port(self) -> int:
        return int(self._environment["KURZ_PORT"])

    @property
    def url(self) -> str:
        if self.host.startswith("unix:"):
            return "http://localhost"
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def set_up_token(self) -> str:
        """Of the link that the start printed, while there was no administrator."""
        (url,) = re.findall(r"^set-up +(\S+)", self.output, re.MULTILINE)
        return str(url.partition("#")[2])

    def set_up(self, email: str, password: str) -> str:
        """Makes the administrator by that link; gives their token."""
        body = {"token": self.set_up_token, "email": email, "password": password}
        with self.client() as client:
            made = client.post("/api/v1/auth/setup", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["token"])

    def client(self, **options: object) -> httpx2.Client:
        """A client that follows nothing and believes no proxy settings."""
        path = self.host.removeprefix("unix:")
        if path != self.host:
            options["transport"] = httpx2.HTTPTransport(uds=path)
        return httpx2.Client(
            base_url=self.url,
            trust_env=False,
            verify=NO_CERTIFICATES,
            timeout=120,
            **options,  # type: ignore[arg-type]
        )

    def log(self) -> str:
        return self._log.read_text()

    def stop(self) -> int:
        """SIGTERM, and the exit code; twice is harmless."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        return self._end()

    def kill(self) -> None:
        """SIGKILL to all of its processes."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self._end()

    def _end(self) -> int:
        """Returns when all processes have ended: each of them has the standard output open."""
        pid, stdout = self.process.pid, self._stdout
        assert stdout is not None
        watchdog = threading.Timer(self.end_seconds, partial(_kill_group, pid))
        watchdog.start()
        try:
            stdout.read()
            code = self.process.wait()
        finally:
            watchdog.cancel()
        stdout.close()
        self._process = None
        return code

    def _read_output(self) -> str:
        """What it prints at start, up to the last line."""
        stdout = self._stdout
        assert stdout is not None
        text = ""
        watchdog = threading.Timer(self.start_seconds, partial(_kill_group, self.process.pid))
        watchdog.start()
        try:
            while "stop " not in text:
                line = stdout.readline()
                if not line:
                    self._end()
                    raise AssertionError(f"kurz did not start: {text}\n{self.log()}")
                text += line
        finally:
            watchdog.cancel()
        return text


def _rows(table: str) -> list[list[str]]:
    """The lines of a table in /proc, without its head."""
    return [line.split() for line in Path(table).read_text().splitlines()[1:]]


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
