"""kurz under load while its Redis is broken: what visitors notice of it, and when the second tier
is in use again."""

import re
import time
from collections import deque
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple, Self

from support.load import STALE_SECONDS, Load
from support.program import Program

DEADLINE_SECONDS = 60.0
LOOK_SECONDS = 0.1
SPAN_SECONDS = 1.2  # workers write their numbers once a second
WARM = 0.6  # of all lookups
USUAL = 0.8  # of the share that the second tier had before: it is in use again
MAX_LATE = 0.001  # of the visits, where PostgreSQL itself was too late: the machine is busy

HEAD = (
    f"{'fault':<14} {'s':>5} {'visits':>7} {'errors':>6} {'wrong':>5} {'stale s':>7}"
    f" {'p99 ms':>7} {'max ms':>7}  {'p99':>6} {'max before':>10} {'in use after s':>14}"
)


class Fault(NamedTuple):
    name: str
    began_at: float
    ended_at: float
    recovered_at: float


class Trial:
    """Goes on with a load for as long as its block; `report` is for after it."""

    def __init__(self, program: Program, load: Load) -> None:
        self._program = program
        self._client = program.client()
        self._load = load
        self._faults: list[Fault] = []
        self._warm_at = 0.0
        self._share = 0.0
        self._timeouts = 0.0
        self._started = ExitStack()

    def __enter__(self) -> Self:
        """Returns when the second tier knows most links."""
        with ExitStack() as stack:  # what is started ends also if that does not happen
            stack.callback(self._client.close)
            stack.enter_context(self._load)
            self._share = WARM
            self._until_in_use()
            self._warm_at = time.monotonic()
            self._share = self._until_in_use() / USUAL
            self._started = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._started:
            self._load.stop()
            time.sleep(SPAN_SECONDS)
            self._timeouts = self.numbers()["database_timeouts_total"]

    def endure(self, name: str, fault: AbstractContextManager[object], seconds: float) -> None:
        began_at = time.monotonic()
        with fault:
            time.sleep(seconds)
        self._note(name, began_at, time.monotonic())

    def survive(self, name: str, fault: AbstractContextManager[object]) -> None:
        """It is got over while it lasts."""
        began_at = time.monotonic()
        with fault:
            time.sleep(SPAN_SECONDS)  # no number is from before
            self._note(name, began_at, began_at)

    def numbers(self) -> dict[str, float]:
        text = self._client.get("/metrics").text
        return {name: float(value) for name, value in re.findall(r"(?m)^kurz_(\w+) (\S+)$", text)}

    def report(self) -> list[str]:
        """Prints a line for each fault; gives what somebody has noticed."""
        ledger = self._load.ledger
        before = ledger.report(self._warm_at, self._faults[0].began_at)
        print(f"\n{HEAD}")
        noticed = [f"edit: {failure}" for failure in self._load.failed_edits]
        noticed += [line for line in self._program.log().splitlines() if '"exception"' in line]
        for name, began_at, ended_at, recovered_at in self._faults:
            found = ledger.report(began_at, recovered_at)
            print(
                f"{name:<14} {ended_at - began_at:>5.1f} {found.visits:>7}"
                f" {len(found.errors):>6} {len(found.wrong):>5} {found.stale_seconds:>7.2f}"
                f" {found.p99_ms:>7.1f} {found.max_ms:>7.1f}  {before.p99_ms:>6.1f}"
                f" {before.max_ms:>10.1f} {recovered_at - ended_at:>14.1f}"
            )
            late = [visit for visit in found.errors if visit.status == 503 and self._timeouts]
            excused = set(late if len(late) <= MAX_LATE * found.visits else ())
            for visit in found.wrong + found.errors:
                if visit in excused:
                    continue
                later = visit.began_at - began_at
                noticed.append(f"{name}, {later:.3f} s after it began: {visit}")
            if found.stale_seconds > STALE_SECONDS:
                noticed.append(f"{name}: still {found.stale_seconds:.1f} s after an edit")
        return noticed

    def _note(self, name: str, began_at: float, ended_at: float) -> None:
        self._until_in_use()
        self._faults.append(Fault(name, began_at, ended_at, time.monotonic()))

    def _until_in_use(self) -> float:
        """The share that the second tier has then."""
        ends_at = time.monotonic() + DEADLINE_SECONDS
        samples = deque([self._sample()])
        share = 0.0
        while share < USUAL * self._share:
            assert time.monotonic() < ends_at, f"the second tier has {share:.2f} of the lookups"
            time.sleep(LOOK_SECONDS)
            samples.append(self._sample())
            if len(samples) > SPAN_SECONDS / LOOK_SECONDS:
                hits, lookups = samples[-1]
                hits_before, lookups_before = samples.popleft()
                share = (hits - hits_before) / max(lookups - lookups_before, 1)
        return share

    def _sample(self) -> tuple[float, float]:
        found = self.numbers()
        return found["cache_hits_total"], found["lookups_total"]
