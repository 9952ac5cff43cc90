"""The processes of `kurz serve`, seen from outside."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx2

from support.certificates import NO_CERTIFICATES
from support.program import Program

DEADLINE_SECONDS = 60.0  # for what should take a moment: the machine may be busy
API = "/api/v1/links"


def wait_until(holds: Callable[[], object], seconds: float = DEADLINE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def answers(program: Program) -> bool:
    """Whether a request on a new connection is answered."""
    with program.client() as client:
        return client.get("/healthz").status_code == 200


def kill_worker(program: Program) -> None:
    [killed] = program.workers
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in program.workers)


def is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def events(program: Program, name: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in program.log().splitlines() if line.startswith("{")]
    return [line for line in lines if name in line["event"]]


class RepeatVisitor:
    """Visits a link over and over, each time on a new connection; notes what came back."""

    def __init__(self, program: Program) -> None:
        with program.client() as client:
            made = client.post(API, json={"original_url": "https://example.com/"})
        self._address = made.json()["short_url"]
        self.statuses: list[int | str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> list[int | str]:
        self._is_over.set()
        self._thread.join(30)
        return self.statuses

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                with httpx2.Client(trust_env=False, verify=NO_CERTIFICATES, timeout=30) as client:
                    self.statuses.append(client.get(self._address).status_code)
            except httpx2.HTTPError as error:
                self.statuses.append(repr(error))
