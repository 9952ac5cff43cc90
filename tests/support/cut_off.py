"""An instance that does not reach the database any more, while others change links."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Self

from support.editor import Author
from support.every_worker import DEADLINE_SECONDS, connect_to_each, wait_until
from support.instances import WORKERS, Installation, Instance
from support.slack import DEADLINES, IS_STRICT, slack
from support.wire import Wire

Said = tuple[int, str | None]

UNAVAILABLE: Said = (503, None)
MISSING: Said = (404, None)
GONE: Said = (410, None)
BOUND_SECONDS = 5.0
SLACK_SECONDS = 2.0 if IS_STRICT else 5.0  # it is waited for
ANSWER_SECONDS = DEADLINES.lookup_seconds + 0.15  # that, Redis' 50 ms, and our own work
LATE_SECONDS = slack(0.7)
RECOVERY_SECONDS = BOUND_SECONDS + slack(2.0)
PAUSE_SECONDS = 0.05


@dataclass
class Case:
    """A link as all workers had it in memory `before` (None: they had not), and as it is `now`,
    since `changed_at`."""

    kind: str
    path: str
    before: Said | None
    now: Said
    changed_at: float = 0.0
    host: str = "a"
    must_redirect: bool = False
    may_be_old: bool = False


class CutOff:
    """Every worker of the instance is asked all the time. `old_seconds` has, by kind, how long the
    outdated answer was given; `answer_seconds` how long the slowest answer took."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._wires = connect_to_each(instance.program, WORKERS)
        self.cases: list[Case] = []
        self.old_seconds: dict[str, float] = {}
        self.answer_seconds: dict[str, float] = defaultdict(float)
        self._asked_at = 0.0
        self.answers: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for wire in self._wires:
            wire.close()

    def know(self, case: Case) -> Case:
        """All workers have it in memory, if they are to."""
        self._remember(case)
        self.cases.append(case)
        return case

    def settle(self, last: Case, change: Callable[[], object]) -> None:
        """All workers have heard of every change up to this one, and then have everything in memory
        that they are to: hearing of a change makes them forget what it is about."""
        self._remember(last)
        change()
        for wire in self._wires:
            wait_until(partial(self._says, wire, last))
        for case in self.cases:
            self._remember(case)

    def _says(self, wire: Wire, case: Case) -> bool:
        return self._ask(wire, case) == case.now

    def _remember(self, case: Case) -> None:
        """Twice in a row: the second answer comes from memory. Before, a busy machine may not have
        the answer soon enough."""
        for wire in self._wires if case.before else []:
            deadline, times = time.monotonic() + DEADLINE_SECONDS, 0
            while times < 2:
                assert time.monotonic() < deadline, f"{case.kind}: no answer"
                said = self._ask(wire, case)
                assert said in (case.before, UNAVAILABLE), f"{case.kind}: {said}"
                times = 0 if said == UNAVAILABLE else times + 1

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Nothing gets through to the database, and nobody is told."""
        self.answer_seconds.clear()
        self._instance.database.black_hole()
        yield
        slowest = max(self.answer_seconds.values())
        assert slowest < ANSWER_SECONDS + LATE_SECONDS, self.answer_seconds
        self._instance.database.pass_on()

    def watch(self, seconds: float) -> None:
        """Nothing is answered that was true longer ago than it may be, and never that something is
        missing or gone which is not."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for case in self.cases:
                for wire in self._wires:
                    self._check(case, self._ask(wire, case))
            time.sleep(PAUSE_SECONDS)

    def recover(self) -> float:
        """Waits until all workers answer right and the instance is ready; gives the seconds."""
        started = time.monotonic()
        for case in self.cases:
            for wire in self._wires:
                while (said := self._ask(wire, case)) != case.now:
                    late = time.monotonic() - started
                    assert late < RECOVERY_SECONDS, f"{case.kind}: {said}"
                    time.sleep(0.01)
        self.await_readiness(200)
        return time.monotonic() - started

    def await_readiness(self, status: int) -> None:
        """Of every worker."""
        started = time.monotonic()
        for wire in self._wires:
            while wire.get("/readyz").status != status:
                assert time.monotonic() - started < RECOVERY_SECONDS
                time.sleep(PAUSE_SECONDS)

    def report(self) -> None:
        for kind, answers in self.answers.items():
            counts = ", ".join(f"{number} × {status}" for status, number in sorted(answers.items()))
            old = f"old for {self.old_seconds[kind]:.1f} s" if kind in self.old_seconds else ""
            slowest = self.answer_seconds[kind] * 1000
            print(f"  {kind:<24} {counts:<28} slowest {slowest:6.1f} ms  {old}")

    def _ask(self, wire: Wire, case: Case) -> Said:
        self._asked_at = started = time.monotonic()
        answer = wire.get(case.path, host=case.host)
        took = time.monotonic() - started
        self.answer_seconds[case.kind] = max(self.answer_seconds[case.kind], took)
        self.answers[case.kind][answer.status] += 1
        return answer.status, answer.location

    def _check(self, case: Case, said: Said) -> None:
        if said == case.now or (said == UNAVAILABLE and not case.must_redirect):
            return
        late = self._asked_at - case.changed_at  # an answer may be long on its way
        assert said == case.before, f"{case.kind}: {said} instead of {case.now}"
        self.old_seconds[case.kind] = late
        assert case.may_be_old or late < BOUND_SECONDS + SLACK_SECONDS, (
            f"{case.kind}: {said} {late:.1f} s after it became {case.now}"
        )


class Story:
    """The links that the instance knows, and what others do to them meanwhile."""

    def __init__(self, cut_off: CutOff, installation: Installation, author: Author) -> None:
        self._cut_off = cut_off
        self._installation = installation
        self._ask = author.ask
        self._names = author.names
        self._valkey = installation.valkey

    def begin(self) -> None:
        """What is there before."""
        self._kept = [self._make("kept") for _ in range(3)]
        for case, _ in self._kept:
            case.must_redirect = True
        self._changed = {
            kind: self._make(kind) for kind in ("edited", "deleted", "banned", "paused", "renamed")
        }
        restored, path = self._make("restored", is_known=False)
        self._ask("DELETE", path)
        restored.before = MISSING
        self._cut_off.know(restored)
        self._restored = restored, path
        self._cold, _ = self._make("never asked for", is_known=False)
        self._cut_off.know(self._cold)
        case = self._kept[0][0]
        elsewhere = Case("kept, on another host", case.path, None, case.now, host="elsewhere")
        elsewhere.must_redirect = True
        self._cut_off.know(elsewhere)
        self._cut_off.know(self._in_a_workspace())
        code = next(self._names)
        self._created = self._cut_off.know(Case("created", f"/{code}", MISSING, MISSING))
        code = next(self._names)
        last = Case("last", f"/{code}", MISSING, (302, f"https://example.com/{code}"))
        body = {"original_url": last.now[1], "custom_code": code}
        self._cut_off.settle(last, lambda: self._ask("POST", "/links", body))

    def go_on(self) -> None:
        """What others do. One of the links that stay as they are, they look up as if for the first
        time."""
        if self._valkey is not None:
            self._valkey.ask("FLUSHALL")
        for kind, (case, path) in self._changed.items():
            case.before = case.now
            case.may_be_old = self._valkey is None
            self._change(kind, case, path)
            case.changed_at = time.monotonic()
        case, path = self._restored
        self._ask("POST", f"{path}/restore")
        case.changed_at = time.monotonic()
        url = f"https://example.com{self._created.path}"
        body = {"original_url": url, "custom_code": self._created.path[1:]}
        self._ask("POST", "/links", body)
        self._created.now = 302, url
        self._created.changed_at = time.monotonic()
        kept, _ = self._kept[1]
        with Wire(self._installation.programs[0].port) as wire:
            assert wire.get(kept.path).location == kept.now[1]

    def _change(self, kind: str, case: Case, path: str) -> None:
        if kind == "edited":
            case.now = 302, "https://example.com/edited"
            self._ask("PATCH", path, {"original_url": case.now[1]})
        elif kind == "deleted":
            case.now = MISSING
            self._ask("DELETE", path)
        elif kind == "banned":
            case.now = GONE
            self._installation.ban(case.path[1:])
        elif kind == "paused":
            case.now = MISSING
            self._ask("PATCH", path, {"is_paused": True})
        else:
            case.now = MISSING
            self._ask("PATCH", path, {"custom_code": next(self._names)})

    def _in_a_workspace(self) -> Case:
        slug = next(self._names)
        team = self._ask("POST", "/workspaces", {"name": slug, "slug": slug})
        body = {"original_url": "https://example.com/sale", "custom_code": "sale"}
        self._ask("POST", f"/workspaces/{team['id']}/links", body)
        return Case("slug never asked for", f"/@{slug}/sale", None, (302, body["original_url"]))

    def _make(self, kind: str, *, is_known: bool = True) -> tuple[Case, str]:
        """A link, and its address in the API."""
        code = next(self._names)
        url = f"https://example.com/{code}"
        made = self._ask("POST", "/links", {"original_url": url, "custom_code": code})
        case = Case(kind, f"/{code}", (302, url) if is_known else None, (302, url))
        if is_known:
            self._cut_off.know(case)
        return case, f"/links/{made['id']}"
