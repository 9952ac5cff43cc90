"""Visitors who follow links without a pause while an editor changes them, and a ledger that knows
what each of them should have been told."""

import random
import statistics
import threading
import time
from bisect import bisect_left
from typing import Any, NamedTuple, Self

import httpx2

from support.program import Program
from support.wire import Wire

API = "/api/v1"
LINKS = 500
STRANGERS = 20  # codes that are nobody's
CONNECTIONS = 8
PAUSE_SECONDS = 0.01  # of a visitor: other processes need time too
EDIT_SECONDS = 0.05  # between two edits
DEADLINE_SECONDS = 60.0
STALE_SECONDS = 5.0  # after which nobody may be sent to what was, whatever is out


class Visit(NamedTuple):
    """`status` 0: no answer. Instants are by `time.monotonic`."""

    began_at: float
    ended_at: float
    code: str
    status: int
    location: str | None


class State(NamedTuple):
    """What a link leads to, None where it is in the trash: at the earliest since it was asked for,
    at the latest until the next state was acknowledged."""

    target: str | None
    since: float


class History:
    """The states of a link, in their order."""

    def __init__(self, target: str | None) -> None:
        self.states = [State(target, 0.0)]
        self.ends: list[float] = []

    @property
    def target(self) -> str | None:
        return self.states[-1].target

    def add(self, target: str | None, requested_at: float, acknowledged_at: float) -> None:
        self.states.append(State(target, requested_at))
        self.ends.append(acknowledged_at)

    def staleness(self, visit: Visit) -> float | None:
        """For how many seconds what was answered had been wrong; None: it never was right."""
        found = [
            max(visit.began_at - end, 0.0)
            for state, end in zip(self.states, [*self.ends, float("inf")], strict=True)
            if state.target == visit.location and state.since <= visit.ended_at
        ]
        return min(found, default=None)


class StatsReport(NamedTuple):
    """Of the visits in a span of time."""

    visits: int
    errors: list[Visit]  # neither a redirect nor "no such link"
    wrong: list[Visit]  # led elsewhere, or nowhere, than it ever should have by then
    stale_seconds: float  # the most
    p99_ms: float
    max_ms: float


class Ledger:
    def __init__(self, links: dict[str, History]) -> None:
        self.links = links
        self.visits: list[Visit] = []

    def report(self, since: float, until: float) -> StatsReport:
        self.visits.sort(key=lambda visit: visit.began_at)
        first, end = (
            bisect_left(self.visits, at, key=lambda visit: visit.began_at) for at in (since, until)
        )
        visits = self.visits[first:end]
        errors = [visit for visit in visits if visit.status not in (302, 404)]
        answered = [visit for visit in visits if visit.status in (302, 404)]
        staleness = [self.links[visit.code].staleness(visit) for visit in answered]
        wrong = [v for v, late in zip(answered, staleness, strict=True) if late is None]
        took_ms = [(visit.ended_at - visit.began_at) * 1000 for visit in visits]
        return StatsReport(
            len(visits),
            errors,
            wrong,
            max((late for late in staleness if late is not None), default=0.0),
            statistics.quantiles(took_ms, n=100)[-1],
            max(took_ms),
        )


class Load:
    """Goes on for as long as its block; the ledger is whole after it."""

    def __init__(self, program: Program, *, edits: bool = True) -> None:
        self._program = program
        self._client = program.client()
        person = {"email": "ada@example.com", "password": "correct horse battery staple"}
        token = self._ask("POST", "/auth/register", person)["token"]
        self._client.headers["authorization"] = f"Bearer {token}"
        self._ids = self._make_links()
        targets = {code: History(f"https://example.com/{code}/0") for code in self._ids}
        strangers = {f"nobody{number:03}": History(None) for number in range(STRANGERS)}
        self.ledger = Ledger({**targets, **strangers})
        self.edits = 0
        self.failed_edits: list[str] = []
        self._is_over = threading.Event()
        runs = [self._visit_on] * CONNECTIONS + [self._edit_on] * edits
        self._threads = [threading.Thread(target=run, daemon=True) for run in runs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._client.close()

    def stop(self) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
        assert not any(thread.is_alive() for thread in self._threads)

    def _make_links(self) -> dict[str, int]:
        """Their ids by their codes."""
        codes = [f"code{number:04}" for number in range(LINKS)]
        items = [
            {
                "action": "create",
                "link": {"original_url": f"https://example.com/{code}/0", "custom_code": code},
            }
            for code in codes
        ]
        made = self._ask("POST", "/links/bulk", {"items": items})["results"]
        return {result["link"]["short_code"]: result["link"]["id"] for result in made}

    def _visit_on(self) -> None:
        codes, chance = [*self.ledger.links], random.Random()
        while not self._is_over.is_set():
            try:
                with Wire(self._program.port, timeout=10) as wire:
                    self._follow(wire, codes, chance)
            except OSError:
                now = time.monotonic()
                self.ledger.visits.append(Visit(now, now, codes[0], 0, None))
                self._is_over.wait(PAUSE_SECONDS)

    def _follow(self, wire: Wire, codes: list[str], chance: random.Random) -> None:
        """Until the connection ends."""
        while not self._is_over.wait(PAUSE_SECONDS):
            code = chance.choice(codes)
            began_at = time.monotonic()
            answer = wire.get(f"/{code}")
            self.ledger.visits.append(
                Visit(began_at, time.monotonic(), code, answer.status, answer.location)
            )
            if answer.ends_connection:
                return

    def _edit_on(self) -> None:
        codes, chance = [*self._ids], random.Random()
        while not self._is_over.wait(EDIT_SECONDS):
            code = chance.choice(codes)
            path, history = f"/links/{self._ids[code]}", self.ledger.links[code]
            requested_at = time.monotonic()
            self.edits += 1
            try:
                if history.target is None:
                    target = self._ask("POST", f"{path}/restore")["original_url"]
                elif chance.random() < 0.25:
                    target = self._ask("DELETE", path)
                else:
                    target = f"https://example.com/{code}/{self.edits}"
                    self._ask("PATCH", path, {"original_url": target})
            except (httpx2.HTTPError, AssertionError) as error:
                self.failed_edits.append(repr(error))
            else:
                history.add(target, requested_at, time.monotonic())

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = self._client.request(method, API + path, json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None
