"""Workers are restarted and renewed under load: no request fails."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from support.program import Program
from support.wire import Wire

API = "/api/v1/links"
KEEP_ALIVE_SECONDS = 3
# Of a visitor who reads before going on: shorter than connections are kept, by more than the second
# that kurz's look at them may be early, and some for a busy machine.
PAUSE_SECONDS = 0.5
DEADLINE_SECONDS = 30.0


class Visitor:
    """Follows a link again and again, as HTTP says: a connection whose end was announced is not
    used any more. `per_connection` requests are sent on each at most."""

    def __init__(
        self, program: Program, path: str, *, per_connection: int, pause_seconds: float = 0.0
    ) -> None:
        self.answered = 0
        self.connections = 0
        self.failures: list[str] = []
        self._port = program.port
        self._path = path
        self._per_connection = per_connection
        self._pause_seconds = pause_seconds
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._is_over.is_set():
            begun = time.monotonic()
            try:
                with Wire(self._port) as wire:
                    self.connections += 1
                    self._visit(wire)
            except OSError as error:
                lasted = time.monotonic() - begun
                self.failures.append(f"{error!r} after {lasted:.3f} s on the connection")

    def _visit(self, wire: Wire) -> None:
        for _ in range(self._per_connection):
            answer = wire.get(self._path)
            if answer.status != 302:
                self.failures.append(f"status {answer.status}")
            self.answered += 1
            if answer.ends_connection or self._is_over.wait(self._pause_seconds):
                return


def make_link(program: Program) -> str:
    with program.client() as client:
        made = client.post(API, json={"original_url": "https://example.com/"})
    return f"/{made.json()['short_code']}"


class Crowd:
    def __init__(self, program: Program) -> None:
        path = make_link(program)
        busy = [
            Visitor(program, path, per_connection=1_000_000, pause_seconds=0.001) for _ in range(3)
        ]
        slow = [
            Visitor(program, path, per_connection=1_000_000, pause_seconds=PAUSE_SECONDS)
            for _ in range(4)
        ]
        new = [Visitor(program, path, per_connection=1, pause_seconds=0.002) for _ in range(3)]
        self._kinds = {"busy": busy, "slow": slow, "new connections": new}

    def end(self) -> list[str]:
        """Prints what they did; gives what failed."""
        failures = []
        for name, visitors in self._kinds.items():
            for visitor in visitors:
                visitor.end()
                failures += [f"{name}: {failure}" for failure in visitor.failures]
            answered = sum(visitor.answered for visitor in visitors)
            connections = sum(visitor.connections for visitor in visitors)
            failed = sum(len(visitor.failures) for visitor in visitors)
            print(f"  {name}: {answered} answers on {connections} connections, {failed} failed")
        return failures


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_ready(program: Program, without: set[int]) -> bool:
    """Whether all processes are there, and those workers are gone."""
    if len(program.jobs) != 1:  # a new one has the socket for a moment
        return False
    return len(program.workers) == 2 and not without & set(program.children)


def events(program: Program, name: str) -> int:
    lines = [json.loads(line) for line in program.log().splitlines() if line.startswith("{")]
    return sum(name in line["event"] for line in lines)


def restart(program: Program, number: int) -> None:
    """One worker; they take turns."""
    worker = min(program.workers)  # the older one, as a rule
    os.kill(worker, signal.SIGTERM)
    wait_until(lambda: is_ready(program, {worker}))


def renew(program: Program, number: int) -> None:
    before = set(program.workers)
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: events(program, "workers replaced") == number + 1)
    wait_until(lambda: is_ready(program, before))


def roll(start_program: Callable[..., Program], restarts: int, renewals: int) -> None:
    program = start_program(KURZ_WORKERS="2", KURZ_KEEP_ALIVE_SECONDS=str(KEEP_ALIVE_SECONDS))
    wait_until(lambda: is_ready(program, set()))
    crowd = Crowd(program)
    time.sleep(0.5)
    for act, times in ((restart, restarts), (renew, renewals)):
        for number in range(times):
            act(program, number)
            time.sleep(0.1)
    print(f"{restarts} restarts of workers, {renewals} renewals")
    assert crowd.end() == []
    assert "Traceback" not in program.log()
    assert "killed" not in program.log()


def test_no_request_fails_while_workers_are_restarted_and_renewed(start_program):
    roll(start_program, restarts=3, renewals=1)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_no_request_fails_in_twenty_restarts_and_five_renewals(start_program):
    roll(start_program, restarts=20, renewals=5)


def test_a_connection_that_is_used_in_time_is_kept(start_program):
    program = start_program(KURZ_KEEP_ALIVE_SECONDS="1")
    path = make_link(program)
    visitors = [
        Visitor(program, path, per_connection=1_000_000, pause_seconds=pause_seconds)
        for pause_seconds in (0.001, 0.01, 0.1, 0.3, 0.5, 0.7)
    ]
    time.sleep(2.5)  # a look at all connections comes every second
    for visitor in visitors:
        visitor.end()
    assert [visitor.failures for visitor in visitors] == [[]] * len(visitors)
    assert [visitor.connections for visitor in visitors] == [1] * len(visitors)
