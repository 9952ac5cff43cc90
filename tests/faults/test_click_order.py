"""No redirect leaves before the journal has its record: read from the worker's system calls."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults.writelog import Write, WriteLog
from kurz.clicks.header import HEADER_BYTES, MAGIC, SUFFIX
from kurz.clicks.record import FRAME_BYTES, end_of
from support.journal_reader import Click, decode, read_all
from support.modes import MODES, A, B, D, Mode
from support.program import Program
from support.wire import Wire

API = "/api/v1/links"
LINKS = 20
CLIENTS = 20
LOCATION = re.compile(rb"\r\nlocation: https://example\.com/to/(\d+)\r\n")


class Links:
    """Links that lead to their numbers, all in the worker's memory."""

    def __init__(self, program: Program, journal: Path, mode: Mode) -> None:
        self._program = program
        self._mode = mode
        self._visitors = itertools.count()
        self.paths: list[str] = []
        with program.client() as client:
            for number in range(LINKS):
                url = f"https://example.com/to/{number}"
                made = client.post(API, json={"original_url": url})
                self.paths.append("/" + made.json()["short_code"])
        with self._open() as wire:
            for number, path in enumerate(self.paths):
                assert wire.get(path, agent=f"first visit of {number}").status == 302
        # How the journal calls them, it has told by itself.
        self.numbers = {
            click.link_id: int(click.user_agent.split()[-1])
            for click in read_all(journal)
            if click.user_agent.startswith(b"first visit of ")
        }
        assert len(self.numbers) == LINKS

    @property
    def ways(self) -> list[Callable[[int], int]]:
        """To visit every link so many times. Each gives the number of redirects."""
        pipelined = [self.visit_pipelined] if self._mode.keeps else []
        return [self.visit_one_by_one, *pipelined, self.visit_concurrently]

    def visit_one_by_one(self, times: int) -> int:
        found = 0
        for paths in groups(self.paths * times, self._mode.per_connection):
            with self._open() as wire:
                found += sum(wire.ask(self._request(path)).status == 302 for path in paths)
        return found

    def visit_pipelined(self, times: int) -> int:
        with self._open() as wire:
            return sum(self._pipeline(wire) for _ in range(times))

    def visit_concurrently(self, times: int) -> int:
        found, wires = 0, list[Wire]()
        with ExitStack() as opened:
            for paths in groups(self.paths * times, CLIENTS):
                if not wires or not self._mode.keeps:
                    opened.close()  # the ones before
                    wires = [self._open() for _ in range(CLIENTS)]
                    for wire in wires:
                        opened.callback(wire.close)
                for wire, path in zip(wires, paths, strict=True):
                    wire.send_raw(self._request(path))
                found += sum(wire.receive().status == 302 for wire in wires)
        return found

    def _pipeline(self, wire: Wire) -> int:
        wire.send_raw(b"".join(map(self._request, self.paths)))
        return sum(wire.receive().status == 302 for _ in self.paths)

    def _open(self) -> Wire:
        return Wire(self._program.port, host=self._program.host)

    def _request(self, path: str) -> bytes:
        return self._mode.request(path, next(self._visitors) if self._mode.varies else 0)


def groups(paths: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(paths), size):
        yield paths[start : start + size]


def clicks_in(write: Write) -> Iterator[Click]:
    start = HEADER_BYTES if write.data.startswith(MAGIC) else 0
    while (end := end_of(write.data, start)) is not None:
        yield decode(write.data[start + FRAME_BYTES : end])
        start = end


def early_answers(writes: list[Write], numbers: dict[int, int]) -> tuple[int, int]:
    """How many redirects began to leave, and how many of them before their record was stored."""
    events: list[tuple[int, Write]] = []
    for write in writes:
        if write.target.endswith(SUFFIX) and write.done is not None and write.is_whole:
            events.append((write.done, write))
        elif write.target.startswith("socket:"):
            events.append((write.begun, write))
    stored: Counter[int] = Counter()
    answered: Counter[int] = Counter()
    early = 0
    for _, write in sorted(events, key=lambda event: event[0]):
        if write.target.endswith(SUFFIX):
            stored.update(numbers[click.link_id] for click in clicks_in(write))
        for number in map(int, LOCATION.findall(write.data)):
            answered[number] += 1
            early += answered[number] > stored[number]
    return answered.total(), early


def check_order(program: Program, data_dir: Path, mode: Mode, times: int) -> None:
    """Every link is visited so often, in each of the ways."""
    links = Links(program, data_dir / "journal", mode)
    for visit in links.ways:
        with WriteLog(program.workers[0]) as log:
            visits = visit(times)
        answered, early = early_answers(log.writes, links.numbers)
        writes = sum(write.target.endswith(SUFFIX) for write in log.writes)
        print(f"{visit.__name__}: {answered} redirects, {early} early, {writes} writes of records")
        assert visits == answered == LINKS * times
        assert early == 0


@pytest.fixture
def program(
    host: str, fast_lane: str, start_program: Callable[..., Program], tmp_path: Path
) -> Program:
    unix = f"unix:{tmp_path / 'kurz.sock'}"
    address = {"KURZ_HOST": unix, "KURZ_BASE_URL": "http://localhost"}
    if host != "unix":
        address = {"KURZ_HOST": host}
    return start_program(KURZ_FAST_LANE=fast_lane, **address)


IPV4, IPV6 = "127.0.0.1", "::1"
USUAL = [(A, IPV4, "on"), (A, IPV4, "off"), (D, "unix", "on")]
ALL = [
    *((mode, IPV4, fast_lane) for mode in MODES for fast_lane in ("on", "off")),
    *((mode, host, "on") for mode in (B, D) for host in (IPV6, "unix")),
]


@pytest.mark.parametrize(("mode", "host", "fast_lane"), USUAL, ids=str)
def test_every_record_is_stored_before_its_redirect_leaves(program, tmp_path, mode):
    check_order(program, tmp_path / "kurz-data", mode, times=10)


@pytest.mark.long
@pytest.mark.parametrize(("mode", "host", "fast_lane"), ALL, ids=str)
def test_thousands_of_records_are_stored_before_their_redirects_leave(program, tmp_path, mode):
    check_order(program, tmp_path / "kurz-data", mode, times=100)
