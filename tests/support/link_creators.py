"""Clients that make links while things break, and a ledger of what they were told."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import httpx2

from support.program import Program

API = "/api/v1/links"
MADE = "https://example.com/made/"  # how the URLs begin that clients create links for
DEADLINE_SECONDS = 60.0
DEADLINES_SECONDS = (0.002, 0.02, 30.0, 30.0)  # until a client leaves, at the first try
IN_FLIGHT = 409  # the first try with the same key is still being worked on


def create_link(
    client: httpx2.Client, url: str, *, may_fail: bool, first_deadline_seconds: float = 30.0
) -> httpx2.Response:
    """The answer about a link that is made once, however many tries it takes."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    deadline_seconds = first_deadline_seconds
    while True:
        with suppress(httpx2.TransportError):
            answer = client.post(
                API,
                json={"original_url": url},
                headers={"idempotency-key": f"for {url}"},
                timeout=deadline_seconds,
            )
            if answer.status_code == 201:
                return answer
            assert answer.status_code == IN_FLIGHT or (may_fail and answer.status_code == 503)
        assert time.monotonic() < deadline, "the link was never made"
        deadline_seconds = 30.0
        time.sleep(0.01)


class LinkCreator:
    """Makes links without a pause, and often leaves before the answer. Whatever was not
    acknowledged is sent again with the same Idempotency-Key, also at the end."""

    def __init__(self, program: Program, name: str, *, may_fail: bool) -> None:
        self.acknowledged: dict[str, str] = {}  # URL → code
        self.replayed = 0  # answers about what an earlier try had made
        self._is_over = threading.Event()
        self._program = program
        self._name = name
        self._may_fail = may_fail
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        with self._program.client() as client:
            while not self._is_over.is_set():
                url = f"{MADE}{self._name}/{len(self.acknowledged)}"
                answer = create_link(
                    client,
                    url,
                    may_fail=self._may_fail,
                    first_deadline_seconds=random.choice(DEADLINES_SECONDS),
                )
                self.acknowledged[url] = answer.json()["short_code"]
                self.replayed += "idempotency-replayed" in answer.headers


class LinkLedger:
    """What was acknowledged, to be held against the store."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, str] = {}
        self.replayed = 0

    def add(self, creator: LinkCreator) -> None:
        self.acknowledged |= creator.acknowledged
        self.replayed += creator.replayed

    def check(self, stored: Iterable[tuple[str, str]]) -> None:
        """`stored` are the URLs and codes of all links for URLs that begin with `MADE`. As clients
        do not give up, there is one for each."""
        rows = [*stored]
        urls = Counter(url for url, _ in rows)
        lost = self.acknowledged.items() - set(rows)
        doubled = [url for url, times in urls.items() if times > 1]
        print(
            f"{'':<22} links acknowledged {len(self.acknowledged):>6}"
            f"  replayed {self.replayed:>6}  stored {len(rows):>6}"
            f"  lost {len(lost)}  doubled {len(doubled)}"
        )
        assert not lost
        assert not doubled
        assert len(rows) == len(self.acknowledged)
