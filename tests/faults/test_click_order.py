"""No redirect leaves before the journal has its record: read from the worker's system calls."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.writelog import Write, WriteLog
from kurz.clicks.header import HEADER_BYTES, MAGIC, SUFFIX
from kurz.clicks.record import FRAME_BYTES, end_of
from kurz.clicks.segments import list_segments
from support.journal_reader import Click, decode, read
from support.program import Program
from support.wire import Wire

API = "/api/v1/links"
LINKS = 20
CLIENTS = 20
LOCATION = re.compile(rb"\r\nlocation: https://example\.com/to/(\d+)\r\n")


class Links:
    """Links that lead to their numbers, all in the worker's memory."""

    def __init__(self, program: Program, journal: Path) -> None:
        self._port = program.port
        self.paths: list[str] = []
        with program.client() as client:
            for number in range(LINKS):
                url = f"https://example.com/to/{number}"
                made = client.post(API, json={"original_url": url})
                self.paths.append("/" + made.json()["short_code"])
        with Wire(self._port) as wire:
            for number, path in enumerate(self.paths):
                assert wire.get(path, agent=f"first visit of {number}").status == 302
        # How the journal calls them, it has told by itself.
        clicks = (click for segment in list_segments(journal) for click, _ in read(segment))
        self.numbers = {
            click.link_id: int(click.user_agent.split()[-1])
            for click in clicks
            if click.user_agent.startswith(b"first visit of ")
        }
        assert len(self.numbers) == LINKS

    def visit_one_by_one(self, times: int) -> int:
        """Follows links on one connection; like the others, gives the number of redirects."""
        with Wire(self._port) as wire:
            return sum(wire.get(path).status == 302 for path in self.paths * times)

    def visit_pipelined(self, times: int) -> int:
        with Wire(self._port) as wire:
            return sum(self._together([wire], self.paths) for _ in range(times))

    def visit_concurrently(self, times: int) -> int:
        wires = [Wire(self._port) for _ in range(CLIENTS)]
        try:
            return sum(self._together(wires, [path]) for path in (self.paths * times)[::CLIENTS])
        finally:
            for wire in wires:
                wire.close()

    @staticmethod
    def _together(wires: list[Wire], paths: list[str]) -> int:
        for wire in wires:
            wire.send(paths)
        return sum(wire.receive().status == 302 for wire in wires for _ in paths)


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


def check_order(program: Program, data_dir: Path, times: int) -> None:
    """Every link is visited so often, in each of the ways."""
    links = Links(program, data_dir / "journal")
    for visit in (links.visit_one_by_one, links.visit_pipelined, links.visit_concurrently):
        with WriteLog(program.workers[0]) as log:
            visits = visit(times)
        answered, early = early_answers(log.writes, links.numbers)
        writes = sum(write.target.endswith(SUFFIX) for write in log.writes)
        print(f"{visit.__name__}: {answered} redirects, {early} early, {writes} writes of records")
        assert visits == answered == LINKS * times
        assert early == 0


fast_lanes = pytest.mark.parametrize("fast_lane", ["on", "off"])


@fast_lanes
def test_every_record_is_stored_before_its_redirect_leaves(start_program, tmp_path, fast_lane):
    check_order(start_program(KURZ_FAST_LANE=fast_lane), tmp_path / "kurz-data", times=10)


@pytest.mark.long
@fast_lanes
def test_thousands_of_records_are_stored_before_their_redirects_leave(
    start_program, tmp_path, fast_lane
):
    check_order(start_program(KURZ_FAST_LANE=fast_lane), tmp_path / "kurz-data", times=100)
