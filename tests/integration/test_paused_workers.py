"""A worker stands still while links change, and finds visitors waiting when it goes on: it answers
none of them from before."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import pytest

from support.every_worker import connect_to_each, is_stopped, wait_until
from support.program import Program
from support.wire import Answer, Wire

PAUSE_SECONDS = 1.5  # the change log is read once a second
OLD, NEW = "https://example.com/old", "https://example.com/new"


class Wires(NamedTuple):
    """To one worker, for a visitor whom the fast lane answers, and for one whom it does not; and
    to the other worker."""

    lane: Wire
    asgi: Wire
    other: Wire


@pytest.fixture
def program(environment: dict[str, str], start_program: Callable[..., Program]) -> Program:
    return start_program(**environment, KURZ_WORKERS="2", KURZ_KEEP_ALIVE_SECONDS="3600")


@pytest.fixture
def wires(program: Program) -> Iterator[Wires]:
    (lane, other), (asgi, spare) = connect_to_each(program, 2), connect_to_each(program, 2)
    with ExitStack() as closing:
        for wire in (lane, asgi, other, spare):
            closing.enter_context(wire)
        yield Wires(lane, asgi, other)


@contextmanager
def paused(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: is_stopped(pid))
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def read(answer: Answer, status: int) -> dict[str, str]:
    assert answer.status == status, answer.body
    document: dict[str, str] = json.loads(answer.body)
    return document


def test_a_worker_that_stood_still_answers_nothing_from_before(program, wires):
    lane, asgi, other = wires
    person = {"email": "a@example.com", "password": "a long enough one"}
    token = read(other.post("/api/v1/auth/register", person), 201)["token"]
    link = read(other.post("/api/v1/links", {"original_url": OLD}, token), 201)
    path, url = f"/{link['short_code']}", f"/api/v1/links/{link['id']}"
    for _ in range(2):
        assert {wire.get(path).location for wire in wires} == {OLD}
    with paused(program.workers[0]):
        read(other.call("PATCH", url, {"original_url": NEW}, token), 200)
        lane.send([path])
        asgi.send([path] * 2)  # two in one piece
        time.sleep(PAUSE_SECONDS)
    assert [wire.receive().location for wire in (lane, asgi, asgi)] == [NEW] * 3
