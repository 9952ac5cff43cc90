"""kill -9 under load: every redirect that a client has received is in the journal, once."""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kurz.clicks.segments import list_segments, read
from support.program import Program
from support.wire import Wire

API = "/api/v1/links"
CLIENTS = 6
LINKS = 20
PATIENCE_SECONDS = 30.0


class Client:
    """Follows links without a pause, on a connection that it keeps as long as it lasts. Each of
    its requests says in its User-Agent which one it is."""

    def __init__(self, program: Program, paths: list[str], name: str) -> None:
        self.sent: list[str] = []
        self.answered: list[str] = []
        self.is_over = threading.Event()
        self._port = program.port
        self._paths = paths
        self._name = name
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self.is_over.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self.is_over.is_set():
            with suppress(OSError), Wire(self._port, timeout=5) as wire:
                self._visit(wire)
            time.sleep(0.005)

    def _visit(self, wire: Wire) -> None:
        while not self.is_over.is_set():
            nonce = f"{self._name}/{len(self.sent)}"
            self.sent.append(nonce)
            answer = wire.get(random.choice(self._paths), agent=nonce)
            assert answer.status == 302
            self.answered.append(nonce)
            if answer.ends_connection:
                return


class Ledger:
    """What was sent and answered, to be held against the journal."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self.sent: set[str] = set()
        self.answered: set[str] = set()

    def add(self, client: Client) -> None:
        self.sent.update(client.sent)
        self.answered.update(client.answered)

    def check(self, what: str) -> None:
        clicks = (click for path in list_segments(self._journal) for click, _ in read(path))
        recorded = Counter(click.user_agent.decode() for click in clicks)
        lost = self.answered - recorded.keys()
        doubled = [nonce for nonce, times in recorded.items() if times > 1]
        made_up = recorded.keys() - self.sent
        print(
            f"{what:<22} sent {len(self.sent):>6}  answered {len(self.answered):>6}"
            f"  recorded {recorded.total():>6}  lost {len(lost)}  doubled {len(doubled)}"
            f"  made up {len(made_up)}"
        )
        assert not lost
        assert not doubled
        assert not made_up


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def kill_a_worker(program: Program) -> None:
    wait_until(lambda: len(program.jobs) == 1)  # a new one has the socket for a moment
    before = program.workers
    os.kill(random.choice(before), signal.SIGKILL)
    wait_until(lambda: len(program.workers) == len(before) and program.workers != before)


def kill_the_supervisor(program: Program) -> None:
    """Its workers finish what they do, and end."""
    program.process.kill()
    program.stop()


def kill_all(program: Program) -> None:
    program.kill()


KILLS = (kill_a_worker, kill_the_supervisor, kill_all)


def kill_under_load(
    program: Program,
    ledger: Ledger,
    paths: list[str],
    number: int,
    kill: Callable[..., None],
    *,
    is_last: bool,
) -> None:
    clients = [Client(program, paths, f"{number}/{name}") for name in range(CLIENTS)]
    # From the first visits of a process, which ask the store, to well into its work.
    wanted = random.choice((1, 10, 100, 1000))
    wait_until(lambda: sum(len(client.answered) for client in clients) >= wanted)
    kill(program)
    if not is_last:  # they go on with whoever comes after
        if kill is not kill_a_worker:
            program.start()
        seen = sum(len(client.answered) for client in clients)
        wait_until(lambda: sum(len(client.answered) for client in clients) >= seen + 100)
    for client in clients:
        client.end()
        ledger.add(client)
    ledger.check(f"{number + 1}. {kill.__name__}")


def kill_again_and_again(
    start_program: Callable[..., Program], tmp_path: Path, workers: int, rounds: int
) -> None:
    program = start_program(KURZ_WORKERS=str(workers), KURZ_KEEP_ALIVE_SECONDS="1")
    paths = []
    with program.client() as client:
        for number in range(LINKS):
            made = client.post(API, json={"original_url": f"https://example.com/{number}"})
            paths.append("/" + made.json()["short_code"])
    ledger = Ledger(tmp_path / "kurz-data" / "journal")
    for number in range(rounds):
        kill = KILLS[number % len(KILLS)]
        kill_under_load(program, ledger, paths, number, kill, is_last=number == rounds - 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_kill_loses_or_doubles_a_click_that_was_answered(start_program, tmp_path, workers):
    kill_again_and_again(start_program, tmp_path, workers, rounds=3)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_kill_of_twenty_loses_or_doubles_a_click(start_program, tmp_path, workers):
    kill_again_and_again(start_program, tmp_path, workers, rounds=20)
