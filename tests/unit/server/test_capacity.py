"""Which connections are closed to make room, and when there is none."""

import gc
import math
import weakref

import pytest

from kurz.server.capacity import (
    MIN_CONNECTIONS,
    PAUSE_SECONDS,
    RESERVED_FILES,
    SPARE,
    Admission,
    Capacity,
    connection_cap,
)
from kurz.server.connection import GRACE_SECONDS
from support.stage import LONG, POST, SHORT, Stage

MOST = 4


class Guest:
    """A connection whose client is the one to act since then; infinite: it is not."""

    def __init__(self, since: float = math.inf) -> None:
        self.since = since
        self.was_closed = False

    def waits_since(self, now: float) -> float:
        return math.inf if self.was_closed else self.since

    def give_way(self) -> None:
        self.was_closed = True


def fill(capacity: Capacity, *since: float) -> list[Guest]:
    guests = [Guest(each) for each in since]
    for guest in guests:
        assert capacity.enter(guest, guests, 100.0) is Admission.ADMITTED
    return guests


def test_the_one_that_waits_longest_gives_way():
    capacity = Capacity(MOST)
    guests = fill(capacity, 3.0, math.inf, 1.0, 2.0)
    newcomer = Guest(0.0)
    assert capacity.enter(newcomer, [*guests, newcomer], 100.0) is Admission.ADMITTED
    assert [guest.was_closed for guest in guests] == [False, False, True, False]
    assert (capacity.closed_early, capacity.refused) == (1, 0)
    assert capacity.open == MOST + 1
    capacity.leave(was_closed_early=True)
    assert capacity.open == MOST
    assert not newcomer.was_closed


def test_what_has_given_way_counts_no_more_before_it_has_left():
    capacity = Capacity(MOST)
    guests = fill(capacity, 1.0, 2.0, math.inf, math.inf)
    for _ in range(2):
        guests.append(Guest())
        assert capacity.enter(guests[-1], guests, 100.0) is Admission.ADMITTED
    assert [guest.was_closed for guest in guests[:2]] == [True, True]
    assert capacity.closed_early == 2


def test_answers_are_written_before_anything_is_closed():
    closed_at_settling = []
    capacity = Capacity(
        1, flush=lambda: closed_at_settling.append([guest.was_closed for guest in guests])
    )
    guests = fill(capacity, 1.0)
    capacity.enter(Guest(), guests, 100.0)
    assert closed_at_settling == [[False]]
    assert guests[0].was_closed


def test_without_room_newcomers_wait_and_are_then_refused():
    capacity = Capacity(MOST)
    pauses = []
    capacity.on_full = lambda: pauses.append(1)
    guests = fill(capacity, *[math.inf] * MOST)
    assert not capacity.has_room(guests, 100.0)
    assert capacity.enter(Guest(), guests, 100.0) is Admission.ADMITTED
    assert pauses == [1]
    later = 100.0 + PAUSE_SECONDS
    answers = [capacity.enter(Guest(), guests, later) for _ in range(2 * SPARE)]
    assert set(answers[:-1]) == {Admission.REFUSED}
    assert answers[-1] is Admission.DROPPED
    assert (capacity.closed_early, capacity.refused) == (0, 2 * SPARE)
    guests[0].since = 99.0
    assert capacity.has_room(guests, later)
    assert capacity.enter(Guest(), guests, later) is Admission.ADMITTED


def test_what_the_cap_does_is_logged_once_and_then_as_a_count(capfd):
    capacity = Capacity(1)
    guests = fill(capacity, 1.0)
    capacity.report()
    assert "too many connections" not in capfd.readouterr().out
    for _ in range(5):
        guests.append(Guest(1.0))
        capacity.enter(guests[-1], guests, 100.0)
        capacity.report()
    assert capfd.readouterr().out.count("too many connections") == 1


@pytest.mark.parametrize(
    ("most", "limit", "others", "cap"),
    [
        (10_000, 1024, 30, 1024 - RESERVED_FILES - 30),
        (10_000, 1_048_576, 30, 10_000),
        (200, 1024, 30, 200),
        (10_000, 256, 20, 256 - 64 - 20),
        (10_000, 20, 19, MIN_CONNECTIONS),
    ],
)
def test_the_cap_leaves_files_for_everything_else(most, limit, others, cap):
    assert connection_cap(most, limit, other_files=others) == cap


async def test_a_connection_may_be_closed_while_its_client_is_the_one_to_act():
    stage = Stage()
    connection = stage.connection

    def waits(seconds: float) -> bool:
        return connection.waits_since(connection.loop.time() + seconds + 0.01) < math.inf

    assert (waits(0), waits(GRACE_SECONDS)) == (False, True)  # it has not asked for anything yet
    await stage.receive(LONG)
    assert waits(0)
    await stage.receive(b"GET /")
    assert (waits(0), waits(GRACE_SECONDS)) == (False, True)
    await stage.receive(LONG[len("GET /") :])
    stage.may_answer.clear()
    await stage.receive(LONG)
    assert not waits(1000)
    stage.may_answer.set()
    await stage.settle()
    await stage.receive(POST + b"1\r\nx\r\n")
    assert (waits(0), waits(GRACE_SECONDS)) == (False, True)
    await stage.receive(b"2000\r\n" + b"x" * 0x2000)
    assert waits(1)  # also one that comes fast enough, but after all others
    later = connection.loop.time() + 1
    assert connection.waits_since(later) == later
    connection.give_way()
    assert stage.wire.is_aborted
    assert not waits(1000)
    connection.connection_lost(None)


async def test_a_connection_that_the_lane_answered_is_idle():
    stage = Stage()
    await stage.receive(SHORT)
    stage.connection.deadline += 1.0  # as the lane does
    assert stage.connection.waits_since(stage.connection.loop.time()) < math.inf
    stage.connection.give_way()
    assert stage.wire.is_closed
    assert not stage.wire.is_aborted
    stage.connection.connection_lost(None)


async def test_a_refused_connection_is_told_why():
    crowd = Capacity(0)
    for _ in range(SPARE):
        crowd.enter(Guest(), [], 0.0)
    stage = Stage(capacity=crowd)
    assert stage.wire.statuses == []
    await stage.receive(SHORT)
    assert stage.wire.statuses == [503]
    assert b"retry-after: " in stage.wire.written
    assert stage.wire.is_ended
    stage.connection.connection_lost(None)


async def test_a_lost_connection_is_freed_at_once():
    """By its last reference: thousands that wait for the collector would be memory."""
    stage = Stage()
    await stage.receive(SHORT)
    lost = weakref.ref(stage.connection)
    stage.connection.connection_lost(None)
    gc.disable()
    try:
        del stage.connection
        assert lost() is None
    finally:
        gc.enable()
