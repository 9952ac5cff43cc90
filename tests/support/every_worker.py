"""A connection to each worker of one or more programs, to ask all of them the same."""

import os
import signal
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from support.program import Program
from support.slack import slack
from support.wire import Answer, Wire

UNAVAILABLE = 503
DEADLINE_SECONDS = 60.0
BOUND_SECONDS = 1.0
SLACK_SECONDS = slack(2.0)


class EveryWorker:
    """Somebody else asks all workers for the same thing all the time, so that lookups are under
    way when it changes. Each program has so many workers, and all of them have to answer right
    `bound_seconds` after a change.

    `delays` has, by what was looked at, how long it took until every worker answered right;
    `changes` when each change was acknowledged, which may be looked at in several ways."""

    def __init__(
        self, programs: Sequence[Program], workers: int, *, bound_seconds: float = BOUND_SECONDS
    ) -> None:
        self.delays: dict[str, list[float]] = defaultdict(list)
        self.changes: set[float] = set()
        self._bound_seconds = bound_seconds
        self._wires = [wire for program in programs for wire in connect_to_each(program, workers)]
        visitors = [wire for program in programs for wire in connect_to_each(program, workers)]
        self._crowd = _Crowd(visitors)

    def __enter__(self) -> Self:
        self._crowd.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._crowd.end()
        for wire in self._wires:
            wire.close()

    def know(self, path: str, status: int, location: str | None = None, host: str = "a") -> None:
        """All workers answer so already, and from memory: the second time they need no store.
        The first time, a busy machine may not have the answer soon enough: 503."""
        self._crowd.target = path, host
        for wire in self._wires:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while (said := _said(wire.get(path, host=host)))[0] == UNAVAILABLE:
                assert time.monotonic() < deadline, f"no answer for {path}"
            assert said == (status, location), f"{said} for {path}"
        for wire in self._wires:
            said = _said(wire.get(path, host=host))
            assert said == (status, location), f"{said} for {path}"

    def learn(
        self,
        kind: str,
        since: float,
        path: str,
        status: int,
        location: str | None = None,
        host: str = "a",
    ) -> None:
        """All workers answer so from now on; `since` is when the change was acknowledged, by
        `time.monotonic`."""
        self._crowd.target = path, host
        for number, wire in enumerate(self._wires):
            while (said := _said(wire.get(path, host=host))) != (status, location):
                late = time.monotonic() - since
                assert late < self._bound_seconds + SLACK_SECONDS, (
                    f"{kind}: {late:.1f} s later worker {number} answers {said} for {path}"
                    f" instead of {(status, location)}"
                )
                time.sleep(0.001)
        self.changes.add(since)
        self.delays[kind].append(time.monotonic() - since)
        self.know(path, status, location, host)  # nobody goes back

    def report(self) -> None:
        """Prints the delays."""
        print(f"{len(self.changes)} changes, {len(self._wires)} workers")
        every = [delay for delays in self.delays.values() for delay in delays]
        for kind, delays in [*sorted(self.delays.items()), ("all", every)]:
            median, most = statistics.median(delays) * 1000, max(delays) * 1000
            print(f"  {kind:<28} {len(delays):>4}  median {median:7.1f} ms  max {most:7.1f} ms")


class _Crowd(threading.Thread):
    def __init__(self, wires: list[Wire]) -> None:
        super().__init__(daemon=True)
        self.target = "/nothing", "a"
        self._wires = wires
        self._is_over = threading.Event()

    def run(self) -> None:
        while not self._is_over.wait(0.003):
            path, host = self.target
            for wire in self._wires:
                wire.send([path], host=host)
            for wire in self._wires:
                wire.receive()

    def end(self) -> None:
        self._is_over.set()
        self.join(DEADLINE_SECONDS)
        for wire in self._wires:
            wire.close()


def connect_to_each(program: Program, workers: int) -> list[Wire]:
    """One connection to each worker, once there are so many."""
    wait_until(lambda: len(program.jobs) == 1 and len(program.workers) == workers)
    return [_connect_to(pid, program) for pid in program.workers]


def _said(answer: Answer) -> tuple[int, str | None]:
    return answer.status, answer.location


def _connect_to(pid: int, program: Program) -> Wire:
    """While all other workers stand still, nobody else can accept."""
    others = [other for other in program.workers if other != pid]
    try:
        for other in others:
            os.kill(other, signal.SIGSTOP)
        wait_until(lambda: all(map(is_stopped, others)))
        wire = Wire(program.port)
        assert wire.get("/healthz").status == 200
        return wire
    finally:
        for other in others:
            os.kill(other, signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    with suppress(OSError):
        return ") T " in Path(f"/proc/{pid}/stat").read_text()
    return False


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
