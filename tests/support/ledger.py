"""Load that keeps a ledger: what was acknowledged, what every answer was, and how long it took."""

import itertools
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple, Self

import httpx2

from support.program import Program
from support.wire import Answer, Wire

API = "/api/v1"
DEADLINE_SECONDS = 40.0
HOT_LINKS = 20
DELETIONS = 15
SKEW_SECONDS = 0.01  # between our reading of the clock and the server's


class Note(NamedTuple):
    """One request. `began` is by `time.monotonic`; `wrong` says what must not be."""

    kind: str
    began: float
    seconds: float
    status: int
    wrong: str | None

    @property
    def ended(self) -> float:
        return self.began + self.seconds


class Ledger:
    """Visits links that are in memory (hot), some of which expire meanwhile (short), others that
    are not (cold) and codes that nobody has (unknown); makes links, edits and deletes them. What
    is hot has to be answered all the time; the rest rightly or with 503, never "unknown" or "gone"
    for a link that is there."""

    def __init__(self, program: Program, *, lives_seconds: tuple[int, ...] = ()) -> None:
        self.notes: list[Note] = []
        self.acknowledged: dict[str, str] = {}  # code → URL
        # What was edited or deleted: code → the URLs that may be the last; None: deleted.
        self.edited: dict[str, set[str | None]] = {}
        self._program = program
        self._cold: list[str] = []
        self._is_over = threading.Event()
        with self._person() as client:
            self._token = client.headers["authorization"]
            self._hot = [self._make(client)["short_code"] for _ in range(HOT_LINKS)]
            self._short = {
                link["short_code"]: datetime.fromisoformat(link["expires_at"]).timestamp()
                for link in (self._make(client, expires_in=life) for life in lives_seconds)
            }
            self._edits = [self._make(client) for _ in range(5)]
            self._doomed = [self._make(client) for _ in range(DELETIONS)]
            for link in (*self._edits, *self._doomed):
                del self.acknowledged[link["short_code"]]
            for code in (*self._hot, *self._short):
                assert client.get(f"/{code}").status_code == 302
        kinds: list[tuple[Callable[[], None], int]] = [
            (self._visit_hot, 2),
            (self._visit_cold, 2),
            (self._visit_unknown, 1),
            (self._create, 3),
            (self._edit, 1),
        ]
        if lives_seconds:
            kinds.append((self._visit_short, 1))
        self._threads = [
            threading.Thread(target=kind, daemon=True)
            for kind, number in kinds
            for _ in range(number)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
            assert not thread.is_alive()

    def wrongs(self) -> list[str]:
        start = min((note.began for note in self.notes), default=0.0)
        return [
            f"{note.kind}, {note.began - start:.1f} s after the start: {note.wrong}"
            for note in self.notes
            if note.wrong
        ]

    def believed(self, begins: float, ends: float) -> list[Note]:
        """What was called unknown, was found or was acknowledged by a request that lay wholly in
        that time, in which no store could be asked."""
        bold = {"unknown": 404, "cold": 302, "create": 201, "edit": 200}
        return [
            note
            for note in self.notes
            if note.status == bold.get(note.kind) and begins < note.began and note.ended < ends
        ]

    def longest_seconds(self, *kinds: str) -> float:
        return max((note.seconds for note in self.notes if note.kind in kinds), default=0.0)

    def recovery_seconds(self, since: float, until: float) -> float:
        """From the first instant until the last request that comes to nothing."""
        failed = [note.began for note in self.notes if note.status == 503]
        return max((began for began in failed if since < began < until), default=since) - since

    def lost(self) -> list[str]:
        """The acknowledged that are not there, or lead elsewhere, by the word of a program that
        remembers nothing."""
        self._program.stop()
        self._program.start()
        lost = []
        with Wire(self._program.port) as wire:
            for code, url in self.acknowledged.items():
                answer = wire.get(f"/{code}")
                if (answer.status, answer.location) != (302, url):
                    lost.append(f"{code}: {answer.status} {answer.location}")
            for code, urls in self.edited.items():
                answer = wire.get(f"/{code}")
                if answer.status not in (302, 404) or answer.location not in urls:
                    lost.append(f"{code}: {answer.status} {answer.location} instead of {urls}")
        return lost

    @contextmanager
    def _person(self) -> Iterator[httpx2.Client]:
        with self._program.client() as client:
            email = f"{secrets.token_hex(8)}@example.com"
            person = {"email": email, "password": "correct horse battery staple"}
            token = client.post(f"{API}/auth/register", json=person).json()["token"]
            client.headers["authorization"] = f"Bearer {token}"
            yield client

    def _make(self, client: httpx2.Client, **fields: int) -> dict[str, str]:
        url = _new_url()
        answer = client.post(f"{API}/links", json={"original_url": url, **fields})
        assert answer.status_code == 201, answer.text
        link: dict[str, str] = answer.json()
        if not fields:
            self.acknowledged[link["short_code"]] = url
        return link

    def _visits(self, pause_seconds: float) -> Iterator["_Visitor"]:
        visitor = _Visitor(self._program.port)
        while not self._is_over.wait(pause_seconds):
            yield visitor
        visitor.close()

    def _note(self, kind: str, began: float, status: int, wrong: str | None) -> None:
        self.notes.append(Note(kind, began, time.monotonic() - began, status, wrong))

    def _visit_hot(self) -> None:
        """A code is hot from its first redirect on: that worker has it in memory."""
        for number, visitor in enumerate(self._visits(0.008)):
            code = self._hot[number % HOT_LINKS]
            is_hot = code in visitor.followed
            began = time.monotonic()
            answer = visitor.get(code)
            wrong = None if is_hot else _outage_wrong(answer)
            if is_hot or _status(answer) != 503:
                wrong = None
                if _said(answer) != (302, self.acknowledged[code]):
                    wrong = f"{_said(answer)} for {code}"
            self._note("hot" if is_hot else "first", began, _status(answer), wrong)

    def _visit_short(self) -> None:
        for visitor in self._visits(0.02):
            for code, expires_at in self._short.items():
                began, sent_at = time.monotonic(), time.time()
                answer = visitor.get(code)
                wrong = None
                is_in_time = time.time() < expires_at - SKEW_SECONDS
                if is_in_time and code in visitor.followed and _status(answer) != 302:
                    wrong = f"{_said(answer)} before its end"
                elif sent_at > expires_at + SKEW_SECONDS and _status(answer) not in (410, 503):
                    wrong = f"{_said(answer)} {sent_at - expires_at:.3f} s after its end"
                self._note("short", began, _status(answer), wrong)

    def _visit_cold(self) -> None:
        """Each until it is found; then it is in memory."""
        for visitor in self._visits(0.04):
            if not self._cold:
                continue
            code = self._cold.pop(0)
            began = time.monotonic()
            answer = visitor.get(code)
            wrong = _outage_wrong(answer)
            if _status(answer) != 503:
                wrong = None
                if _said(answer) != (302, self.acknowledged[code]):
                    wrong = f"{_said(answer)} for {code}"
            else:
                self._cold.append(code)
            self._note("cold", began, _status(answer), wrong)

    def _visit_unknown(self) -> None:
        for visitor in self._visits(0.05):
            began = time.monotonic()
            answer = visitor.get(f"no-{secrets.token_hex(6)}")
            wrong = _outage_wrong(answer) if _status(answer) != 404 else None
            self._note("unknown", began, _status(answer), wrong)

    def _create(self) -> None:
        with self._program.client() as client:
            while not self._is_over.wait(0.03):
                url, began = _new_url(), time.monotonic()
                answer = client.post(f"{API}/links", json={"original_url": url})
                if answer.status_code == 201:
                    code = answer.json()["short_code"]
                    self.acknowledged[code] = url
                    self._cold.append(code)
                self._note("create", began, answer.status_code, _write_wrong(answer, 201))

    def _edit(self) -> None:
        """Edits a few links over and over, and deletes others. What was not acknowledged may have
        happened all the same."""
        with self._program.client(headers={"authorization": self._token}) as client:
            for turn in itertools.count():
                if self._is_over.wait(0.05):
                    return
                deletes = turn % 6 == 5 and bool(self._doomed)
                link = self._doomed[0] if deletes else self._edits[turn % len(self._edits)]
                last = None if deletes else _new_url()
                may_be = self.edited.setdefault(link["short_code"], {link["original_url"]})
                may_be.add(last)
                began, path = time.monotonic(), f"{API}/links/{link['id']}"
                if deletes:
                    answer = client.delete(path)
                else:
                    answer = client.patch(path, json={"original_url": last})
                right = (204, 404) if deletes else (200,)
                if answer.status_code in right:
                    may_be.intersection_update({last})
                    if deletes:
                        self._doomed.pop(0)
                self._note("edit", began, answer.status_code, _write_wrong(answer, *right))


class _Visitor:
    """Goes on with another connection when one is lost."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wire: Wire | None = None
        self.followed: set[str] = set()  # codes that have redirected on this connection

    def get(self, code: str) -> Answer | None:
        """None: there was no answer."""
        try:
            self._wire = self._wire or Wire(self._port)
            answer = self._wire.get(f"/{code}")
        except OSError:
            self.close()
            return None
        if answer.status == 302:
            self.followed.add(code)
        if answer.ends_connection:
            self.close()
        return answer

    def close(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self.followed.clear()


def _new_url() -> str:
    return f"https://example.com/{secrets.token_hex(8)}"


def _status(answer: Answer | None) -> int:
    return 0 if answer is None else answer.status


def _said(answer: Answer | None) -> tuple[int, str | None]:
    return (0, None) if answer is None else (answer.status, answer.location)


def _outage_wrong(answer: Answer | None) -> str | None:
    if answer is None or answer.status != 503 or int(answer.headers.get(b"retry-after", 0)) < 1:
        return f"{_said(answer)}"
    return None


def _write_wrong(answer: httpx2.Response, *right: int) -> str | None:
    if answer.status_code in right:
        return None
    if answer.status_code == 503 and int(answer.headers.get("retry-after", 0)) >= 1:
        return None
    return f"{answer.status_code} {answer.text[:200]}"
