"""A program under load while its database is out, and what has to hold at the end."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from support.census import Census
from support.ledger import Ledger
from support.program import Program
from support.slack import slack

LATE_SECONDS = slack(1.0)
LOOKUP_SECONDS = 0.25
WRITE_SECONDS = 1.0
RECOVERY_SECONDS = slack(5.0)
WORKERS = 2
# Of a worker: the pool's, the lookups', and the one that listens. The jobs process has a pool too.
MAX_CONNECTIONS = WORKERS * (8 + 2 + 1) + 8
# A call that is given up asks the server to cancel it, over a connection of its own for a second.
MAX_IN_OUTAGE = WORKERS * (2 * (8 + 2) + 1) + 2 * 8
HEAD = (
    "| | requests | 302 | 503 | wrong | longest ms: hot | cold | create | recovered after s"
    " | acknowledged | lost | connections |"
)


class Outage(NamedTuple):
    """`returned`: when the database could be asked again. By `time.monotonic`."""

    begun: float
    ends: float
    returned: float
    is_total: bool


class Endurance:
    """Runs a program of two workers; what it is told in turn: load, outages in it, check."""

    def __init__(self, start_program: Callable[..., Program], environment: dict[str, str]) -> None:
        self.program = start_program(
            KURZ_WORKERS=str(WORKERS), KURZ_KEEP_ALIVE_SECONDS="3600", **environment
        )
        port = urlsplit(environment["KURZ_DATABASE_URL"].split(",")[0]).port
        assert port is not None
        self.census = Census(self.program, port)
        self._ledger: Ledger | None = None
        self._outages: list[Outage] = []

    @property
    def ledger(self) -> Ledger:
        assert self._ledger is not None
        return self._ledger

    @contextmanager
    def load(self, *, lives_seconds: tuple[int, ...] = ()) -> Iterator[None]:
        self._ledger = Ledger(self.program, lives_seconds=lives_seconds)
        with self._ledger:
            yield

    @contextmanager
    def outage(
        self, trouble: AbstractContextManager[None], *, is_total: bool = True
    ) -> Iterator[None]:
        """In one that is total nothing can be asked of the database."""
        with trouble:
            begun = time.monotonic()
            yield
            ends = time.monotonic()
        self._outages.append(Outage(begun, ends, time.monotonic(), is_total))

    def run(self, seconds: float) -> None:
        """Time passes."""
        self.census.look_for(seconds)

    def check(self, title: str, *, recovery_seconds: float = RECOVERY_SECONDS) -> None:
        """Prints a row of numbers, and asserts all that was promised."""
        ledger = self.ledger
        connections = self.census.look()
        lost = ledger.lost()
        self.report(title, len(lost))
        wrongs = ledger.wrongs()
        assert not wrongs, "\n".join(wrongs[:20])
        for outage in self._outages:
            believed = ledger.believed(outage.begun, outage.ends) if outage.is_total else []
            assert not believed, f"{len(believed)} like {believed[0]} in {outage}"
        assert not lost, "\n".join(lost[:20])
        assert ledger.longest_seconds("hot", "short", "cold", "unknown") < (
            LOOKUP_SECONDS + LATE_SECONDS
        )
        assert ledger.longest_seconds("create") < WRITE_SECONDS + LATE_SECONDS
        assert self._recovery_seconds() < recovery_seconds
        assert self.census.connections <= MAX_IN_OUTAGE
        assert connections <= MAX_CONNECTIONS
        log = self.program.log()
        assert "Traceback" not in log
        assert "request failed" not in log
        assert "process failed" not in log

    def _recovery_seconds(self) -> float:
        """The longest, from the return of the database until requests are answered again."""
        ends = [*(outage.begun for outage in self._outages[1:]), float("inf")]
        return max(
            self.ledger.recovery_seconds(outage.returned, end)
            for outage, end in zip(self._outages, ends, strict=True)
        )

    def report(self, title: str, lost: int) -> None:
        ledger = self.ledger
        statuses = [note.status for note in ledger.notes]
        hot, cold, create = (
            round(1000 * ledger.longest_seconds(kind)) for kind in ("hot", "cold", "create")
        )
        numbers = [
            len(statuses),
            statuses.count(302),
            statuses.count(503),
            len(ledger.wrongs()),
            hot,
            cold,
            create,
            round(self._recovery_seconds(), 1),
            len(ledger.acknowledged),
            lost,
            self.census.connections,
        ]
        print(f"{HEAD}\n| {title} | {' | '.join(map(str, numbers))} |")
