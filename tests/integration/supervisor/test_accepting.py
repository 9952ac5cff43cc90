"""Workers that share a listening socket: who accepts, and what happens while nobody can."""

import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kurz.clicks.segments import list_segments
from support.journal_reader import read
from support.modes import C, D, Mode
from support.program import Program
from support.supervised import API, events, wait_until
from support.wire import Wire

VISITORS = 8
VISITS = 100  # of each
LEAST_SHARE = 0.05  # of one of two workers; usually it is half, and less beside other work
ROUNDS = 5


def make_link(program: Program) -> str:
    with program.client() as client:
        made = client.post(API, json={"original_url": "https://example.com/"})
    return f"/{made.json()['short_code']}"


def failed(program: Program) -> int:
    with program.client() as client:
        lines = client.get("/metrics").text.splitlines()
    [value] = [
        line.split()[1] for line in lines if line.startswith("kurz_connections_failed_total")
    ]
    return int(float(value))


def test_a_worker_without_files_accepts_again_when_it_has_some(start_program):
    program = start_program(KURZ_METRICS="public")
    path = make_link(program)
    [worker] = program.workers
    usual = resource.prlimit(worker, resource.RLIMIT_NOFILE)
    with ThreadPoolExecutor(2) as threads, Wire(program.port) as connected:
        assert connected.get(path).status == 302
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (1, usual[1]))
        visits = [
            threads.submit(visit, program, path, mode, visitor)
            for visitor, mode in enumerate((C, D))
        ]
        wait_until(lambda: events(program, "connections cannot be accepted"))
        assert connected.get(path).status == 302  # open connections are served
        assert not any(visit.done() for visit in visits)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, usual)
        assert [visit.result() for visit in visits] == [302, 302]
    assert failed(program) > 0
    assert len(events(program, "connections cannot be accepted")) == 1  # a minute
    assert program.workers == [worker]


def visit(program: Program, path: str, mode: Mode, visitor: int) -> int:
    with Wire(program.port) as wire:
        return wire.ask(mode.request(path, visitor)).status


@pytest.mark.parametrize("mode", [C, D], ids=str)
def test_two_workers_share_new_connections(start_program, tmp_path: Path, mode):
    program = start_program(KURZ_WORKERS="2")
    path = make_link(program)
    begin = threading.Barrier(VISITORS)

    def visit_again_and_again(visitor: int) -> set[int]:
        begin.wait()
        return {visit(program, path, mode, visitor) for _ in range(VISITS)}

    # On a busy machine, one worker may get little time for a while.
    for rounds in range(1, ROUNDS + 1):
        with ThreadPoolExecutor(VISITORS) as threads:
            assert set().union(*threads.map(visit_again_and_again, range(VISITORS))) == {302}
        segments = list_segments(tmp_path / "kurz-data" / "journal")
        visits = rounds * VISITORS * VISITS
        counts = [sum(1 for _ in read(segment)) for segment in segments]
        print(f"visits of each worker: {counts}")
        assert sum(counts) == visits
        if len(counts) == 2 and min(counts) >= LEAST_SHARE * visits:
            break
    assert len(counts) == 2
    assert min(counts) >= LEAST_SHARE * visits
