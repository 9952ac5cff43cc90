"""Workers are restarted and renewed under load: no request fails, and each is counted once."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kurz.server.listening import DEFER_SECONDS
from support.journal_reader import read_all
from support.modes import MODES, A, C, D, Mode
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
    used any more. `late_seconds` pass between a connection and its first request."""

    def __init__(
        self,
        program: Program,
        path: str,
        mode: Mode = A,
        *,
        pause_seconds: float = 0.0,
        late_seconds: float = 0.0,
    ) -> None:
        self.answered = 0
        self.connections = 0
        self.failures: list[str] = []
        self._port = program.port
        self._path = path
        self._mode = mode
        self._pause_seconds = pause_seconds
        self._late_seconds = late_seconds
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
                    time.sleep(self._late_seconds)
                    self._visit(wire)
            except OSError as error:
                lasted = time.monotonic() - begun
                self.failures.append(f"{error!r} after {lasted:.3f} s on the connection")

    def _visit(self, wire: Wire) -> None:
        for _ in range(self._mode.per_connection):
            visitor = self.answered if self._mode.varies else 0
            answer = wire.ask(self._mode.request(self._path, visitor))
            if answer.status != 302:
                self.failures.append(f"status {answer.status}")
            self.answered += 1
            is_over = self._is_over.wait(self._pause_seconds)
            if answer.ends_connection or is_over:
                return


def make_link(program: Program) -> str:
    with program.client() as client:
        made = client.post(API, json={"original_url": "https://example.com/"})
    return f"/{made.json()['short_code']}"


class Crowd:
    def __init__(self, program: Program) -> None:
        self.path = make_link(program)
        self._kinds = {
            kind: [Visitor(program, self.path, mode, **seconds) for _ in range(2)]
            for kind, mode, seconds in (
                *((f"busy, {mode}", mode, {"pause_seconds": 0.002}) for mode in MODES),
                ("slow, a", A, {"pause_seconds": PAUSE_SECONDS}),
                # The system holds their connections back: until the request comes, or to the end
                # of its patience.
                ("late, c", C, {"late_seconds": 0.1}),
                ("late, d", D, {"late_seconds": 0.1}),
                ("too late, d", D, {"late_seconds": DEFER_SECONDS + 1.5}),
            )
        }

    @property
    def answered(self) -> int:
        return sum(visitor.answered for kind in self._kinds.values() for visitor in kind)

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


def is_ready(program: Program, workers: int, without: set[int]) -> bool:
    """Whether all processes are there, and those workers are gone."""
    if len(program.jobs) != 1:  # a new one has the socket for a moment
        return False
    return len(program.workers) == workers and not without & set(program.children)


def events(program: Program, name: str) -> int:
    lines = [json.loads(line) for line in program.log().splitlines() if line.startswith("{")]
    return sum(name in line["event"] for line in lines)


def restart(program: Program, workers: int, number: int) -> None:
    """One worker; they take turns."""
    worker = min(program.workers)  # the older one, as a rule
    os.kill(worker, signal.SIGTERM)
    wait_until(lambda: is_ready(program, workers, {worker}))


def renew(program: Program, workers: int, number: int) -> None:
    before = set(program.workers)
    program.process.send_signal(signal.SIGHUP)
    wait_until(lambda: events(program, "workers replaced") == number + 1)
    wait_until(lambda: is_ready(program, workers, before))


def roll(program: Program, data_dir: Path, workers: int, restarts: int, renewals: int) -> None:
    wait_until(lambda: is_ready(program, workers, set()))
    crowd = Crowd(program)
    time.sleep(0.5)
    for act, times in ((restart, restarts), (renew, renewals)):
        for number in range(times):
            act(program, workers, number)
            time.sleep(0.1)
    print(f"{restarts} restarts of workers, {renewals} renewals")
    assert crowd.end() == []
    assert sum(1 for _ in read_all(data_dir / "journal")) == crowd.answered
    program.stop()
    program.run("jobs", "--once")
    stats = json.loads(program.run("stats", crowd.path[1:], "--json"))
    assert stats["totals"]["clicks"] == crowd.answered
    assert "Traceback" not in program.log()
    assert "killed" not in program.log()


@pytest.fixture
def program(workers: int, start_program: Callable[..., Program]) -> Program:
    return start_program(KURZ_WORKERS=str(workers), KURZ_KEEP_ALIVE_SECONDS=str(KEEP_ALIVE_SECONDS))


@pytest.mark.parametrize("workers", [2])
def test_no_request_fails_while_workers_are_restarted_and_renewed(program, tmp_path, workers):
    roll(program, tmp_path / "kurz-data", workers, restarts=3, renewals=1)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_request_fails_in_twenty_restarts_and_five_renewals(program, tmp_path, workers):
    roll(program, tmp_path / "kurz-data", workers, restarts=20, renewals=5)


def test_a_connection_that_is_used_in_time_is_kept(start_program):
    program = start_program(KURZ_KEEP_ALIVE_SECONDS="1")
    path = make_link(program)
    visitors = [
        Visitor(program, path, pause_seconds=pause_seconds)
        for pause_seconds in (0.001, 0.01, 0.1, 0.3, 0.5, 0.7)
    ]
    time.sleep(2.5)  # a look at all connections comes every second
    for visitor in visitors:
        visitor.end()
    assert [visitor.failures for visitor in visitors] == [[]] * len(visitors)
    assert [visitor.connections for visitor in visitors] == [1] * len(visitors)
