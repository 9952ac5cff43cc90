"""kill -9 under load: every redirect that a client has received is in the journal, once, and every
click in the journal is counted, once. Every link that was acknowledged is there, once."""

import itertools
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from servers.postgres import PostgresServer
from support.clicks import wait_until
from support.journal_reader import read_all
from support.link_creators import MADE, LinkCreator, LinkLedger, create_link
from support.modes import MODES, Mode
from support.program import Program
from support.wire import Wire

CLIENTS = MODES * 2
MAKERS = 4
LINKS = 20
DEADLINE_SECONDS = 30.0
PAUSE_SECONDS = 0.002  # of those who follow links, so that others get something done
STORED = "SELECT original_url, short_code FROM links"
TOTALS = "SELECT subject, clicks FROM click_totals WHERE kind = 0 AND clicks > 0"


class Client:
    """Follows links all the time, in one of the modes. A nonce in the Referer says which request a
    record is of; where the head stays the same, it says which connection."""

    def __init__(
        self, program: Program, paths: list[str], name: str, mode: Mode, *, may_fail: bool
    ) -> None:
        self.sent = Counter[str]()
        self.answered = Counter[str]()
        self.refused = 0
        self.is_over = threading.Event()
        self._port = program.port
        self._paths = paths
        self._name = name
        self._mode = mode
        self._visitors = itertools.count()
        self._may_fail = may_fail
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self.is_over.set()
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self.is_over.is_set():
            with suppress(OSError), Wire(self._port, timeout=5) as wire:
                self._visit(wire)
            time.sleep(0.005 if self._mode.keeps else PAUSE_SECONDS)

    def _visit(self, wire: Wire) -> None:
        for place in range(self._mode.per_connection):
            if place == 0 or self._mode.varies:
                visitor = next(self._visitors)
            nonce = f"https://{self._name}-{visitor}.example"
            path = random.choice(self._paths)
            self.sent[nonce] += 1
            answer = wire.ask(self._mode.request(path, visitor, f"Referer: {nonce}/"))
            if answer.status == 302:
                self.answered[nonce] += 1
            else:  # of a link that no worker has in memory, while the database is gone
                assert answer.status == 503
                assert self._may_fail
                self.refused += 1
            if answer.ends_connection or self.is_over.wait(PAUSE_SECONDS):
                return


class Ledger:
    """What was sent and answered, to be held against the journal."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self.sent = Counter[str]()
        self.answered = Counter[str]()
        self.refused = 0

    def add(self, client: Client) -> None:
        self.sent.update(client.sent)
        self.answered.update(client.answered)
        self.refused += client.refused

    def check(self, what: str) -> None:
        recorded = Counter(click.referrer.decode() for click in read_all(self._journal))
        lost = self.answered - recorded
        too_many = recorded - self.sent
        print(
            f"{what:<22} sent {self.sent.total():>6}  answered {self.answered.total():>6}"
            f"  refused {self.refused:>5}  recorded {recorded.total():>6}"
            f"  lost {lost.total()}  doubled or made up {too_many.total()}"
        )
        assert not lost
        assert not too_many

    def check_counts(self, count: Callable[[], Counter[int]]) -> None:
        """`count` gives what the database has, by links. When it has as many as the journal, they
        are the same: nothing is removed from a journal for a day."""
        recorded = Counter(click.link_id for click in read_all(self._journal))
        wait_until(lambda: count().total() >= recorded.total())
        assert count() == recorded


class Stage:
    """A program and what it runs on, to be killed."""

    may_fail = False  # requests, while the database is gone

    def __init__(self, start_program: Callable[..., Program], folder: Path, workers: int) -> None:
        self.ledger = Ledger(folder / "kurz-data" / "journal")
        self.links = LinkLedger()
        self._database = folder / "kurz-data" / "kurz.db"
        self.program = start_program(
            KURZ_WORKERS=str(workers), KURZ_KEEP_ALIVE_SECONDS="1", **self._settings()
        )
        urls = [f"https://example.com/{number}" for number in range(LINKS)]
        with self.program.client() as client:
            made = [create_link(client, url, may_fail=self.may_fail).json() for url in urls]
        self.paths = [f"/{link['short_code']}" for link in made]

    @property
    def kills(self) -> list[Callable[[], None]]:
        return [self.kill_a_worker, self.kill_the_jobs, self.kill_the_supervisor, self.kill_all]

    def kill_a_worker(self) -> None:
        program = self.program
        wait_until(lambda: len(program.jobs) == 1)  # a new one has the socket for a moment
        before = program.workers
        os.kill(random.choice(before), signal.SIGKILL)
        wait_until(lambda: len(program.workers) == len(before) and program.workers != before)

    def kill_the_jobs(self) -> None:
        wait_until(lambda: len(self.program.jobs) == 1)
        [before] = self.program.jobs
        os.kill(before, signal.SIGKILL)

    def kill_the_supervisor(self) -> None:
        """Its workers finish what they do, and end."""
        self.program.process.kill()
        self.program.stop()
        self.program.start()

    def kill_all(self) -> None:
        self.program.kill()
        self.program.start()

    def count(self) -> Counter[int]:
        """Clicks in the database, by links."""
        return Counter({int(link_id): int(clicks) for link_id, clicks in self._query(TOTALS)})

    def stored(self) -> list[tuple[str, str]]:
        """The links that creators have made: URLs and codes."""
        return [(url, code) for url, code in self._query(STORED) if url.startswith(MADE)]

    def _query(self, statement: str) -> list[list[str]]:
        with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)) as connection:
            return [[*row] for row in connection.execute(statement)]

    def _settings(self) -> dict[str, str]:
        return {}


class PostgresStage(Stage):
    may_fail = True

    def __init__(
        self,
        start_program: Callable[..., Program],
        folder: Path,
        workers: int,
        server: PostgresServer,
    ) -> None:
        self._server = server
        super().__init__(start_program, folder, workers)

    @property
    def kills(self) -> list[Callable[[], None]]:
        return [*super().kills, self.kill_the_database]

    def kill_the_database(self) -> None:
        self._server.kill()
        self._server.start()

    def _query(self, statement: str) -> list[list[str]]:
        return [line.split("|") for line in self._server.ask(statement).splitlines()]

    def _settings(self) -> dict[str, str]:
        return {"KURZ_DATABASE_URL": self._server.url()}


@pytest.fixture(params=["sqlite", "postgres"])
def open_stage(
    request: pytest.FixtureRequest, start_program: Callable[..., Program], tmp_path: Path
) -> Iterator[Callable[[int], Stage]]:
    """For a number of workers."""
    if request.param == "sqlite":
        yield partial(Stage, start_program, tmp_path)
        return
    with PostgresServer() as server:
        yield lambda workers: PostgresStage(start_program, tmp_path, workers, server)


def kill_under_load(stage: Stage, number: int, kill: Callable[[], None]) -> None:
    name = f"{number + 1}. {kill.__name__}"
    clients = [
        Client(stage.program, stage.paths, f"{number}-{place}", mode, may_fail=stage.may_fail)
        for place, mode in enumerate(CLIENTS)
    ]
    creators = [
        LinkCreator(stage.program, f"{number}/{place}", may_fail=stage.may_fail)
        for place in range(MAKERS)
    ]

    def answered() -> int:
        return sum(client.answered.total() for client in clients)

    # From the first visits of a process, which ask the store, to well into its work.
    wanted = random.choice((1, 10, 100, 500))
    wait_until(lambda: answered() >= wanted, pause_seconds=0.005)
    kill()
    seen = answered()  # they go on with whoever comes after
    wait_until(lambda: answered() >= seen + 100)
    for client in clients:
        client.end()
        stage.ledger.add(client)
    for creator in creators:
        creator.end()
        stage.links.add(creator)
    stage.ledger.check(name)
    stage.ledger.check_counts(stage.count)
    stage.links.check(stage.stored())


def kill_again_and_again(stage: Stage, rounds: int) -> None:
    for number in range(rounds):
        kill_under_load(stage, number, stage.kills[number % len(stage.kills)])


@pytest.mark.timeout(300)
def test_no_kill_loses_or_doubles_a_click_or_a_link(open_stage):
    kill_again_and_again(open_stage(2), rounds=10)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("workers", [1, 2])
def test_no_kill_of_a_hundred_loses_or_doubles_a_click_or_a_link(open_stage, workers):
    kill_again_and_again(open_stage(workers), rounds=100)
