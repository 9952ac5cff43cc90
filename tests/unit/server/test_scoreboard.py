"""Numbers in shared memory: added up over workers, also over those that have ended."""

import os

import pytest

from kurz.server.scoreboard import Scoreboard

NAMES = ("hits", "misses")


def in_child(work) -> None:
    """Does `work` in a forked process and waits for its end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def add(board: Scoreboard, slot: int, *numbers: int) -> None:
    row = board.slot(slot)
    for place, number in enumerate(numbers):
        row[place] += number


def test_what_children_count_is_seen_by_their_parent():
    board = Scoreboard(NAMES, 3)
    for slot in range(3):
        in_child(lambda slot=slot: add(board, slot, slot, 10))
    rows = [row for _, row in board.each()]
    assert {name: sum(row[name] for row in rows) for name in board.names} == {
        "hits": 3,
        "misses": 30,
    }


def test_a_successor_goes_on_from_what_its_predecessor_left():
    board = Scoreboard(NAMES, 2)
    for _ in range(3):
        in_child(lambda: add(board, 1, 5, 0))
    assert list(board.each()) == [(1, {"hits": 15, "misses": 0})]


def test_a_slot_has_its_own_numbers_of_64_bits():
    board = Scoreboard(NAMES, 2)
    board.slot(0)[1] = 2**64 - 1
    assert board.slot(0).tolist() == [0, 2**64 - 1]
    assert board.slot(1).tolist() == [0, 0]
    with pytest.raises(ValueError, match="invalid value"):
        board.slot(1)[0] = 2**64


@pytest.mark.parametrize("number", [-1, 2])
def test_there_is_no_slot_outside(number):
    with pytest.raises(IndexError):
        Scoreboard(NAMES, 2).slot(number)


@pytest.mark.parametrize(("names", "slots"), [((), 1), (NAMES, 0)])
def test_an_empty_scoreboard_is_a_mistake(names, slots):
    with pytest.raises(ValueError, match="at least one"):
        Scoreboard(names, slots)
