"""A whole `kurz serve` as a child process, driven over HTTP."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import httpx2

KURZ = Path(sys.executable).with_name("kurz")
START_SECONDS = 30


class Program:
    """`environment` holds `KURZ_*` variables; the port is free unless it names one. After `stop`
    or `kill` it can be started again, on the same port. Its log is appended to the file `log`."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment = {"KURZ_PORT": "0", "KURZ_RATE_LIMITS": "off", **environment}
        self._process: subprocess.Popen[str] | None = None
        self.output = ""
        self._log = log

    def start(self) -> Self:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("KURZ_")}
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [KURZ, "serve"],
                env={**inherited, **self._environment},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.output = self._read_output()
        # With a base URL the address it listens on comes after that.
        ports = re.findall(r"^kurz .*http://127\.0\.0\.1:(\d+)", self.output, re.MULTILINE)
        self._environment["KURZ_PORT"] = ports[-1]
        return self

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    @property
    def port(self) -> int:
        return int(self._environment["KURZ_PORT"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options: object) -> httpx2.Client:
        """A client that follows nothing and believes no proxy settings."""
        return httpx2.Client(base_url=self.url, trust_env=False, timeout=30, **options)  # type: ignore[arg-type]

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
        self.process.kill()
        self._end()

    def _end(self) -> int:
        code = self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._process = None
        return code

    def _read_output(self) -> str:
        """What it prints at start, up to the last line."""
        stdout = self.process.stdout
        assert stdout is not None
        text = ""
        watchdog = threading.Timer(START_SECONDS, self.process.kill)
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
