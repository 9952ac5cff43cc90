"""Clients that do not wait for their answers leave the event loop time for everybody else."""

import asyncio
import random
from itertools import pairwise

import pytest

from kurz.server.intake import HEAD_PIECE_BYTES
from kurz.server.turns import PER_TURN, PipelineTurns
from support.stage import LONG, POST, Stage

CLIENTS, REQUESTS = 10 * PER_TURN, 60  # of each
CHUNKED = POST + b"1\r\nx\r\n0\r\n\r\n"  # its application asks for more


@pytest.fixture
async def stages() -> list[Stage]:
    """Each with requests waiting behind the one that is answered first."""
    turns = PipelineTurns()
    stages = [Stage(turns=turns) for _ in range(CLIENTS)]
    for stage in stages:
        stage.connection.data_received(LONG * REQUESTS)
    return stages


async def take_turns(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


def answered(stage: Stage) -> int:
    return len(stage.wire.statuses)


async def test_few_requests_begin_in_a_turn_of_the_loop(stages):
    await take_turns(3)  # in which the first of each begin
    begun = [sum(len(stage.paths) for stage in stages)]
    assert begun[0] < 2 * CLIENTS
    while begun[-1] < CLIENTS * REQUESTS:
        await take_turns(1)
        begun.append(sum(len(stage.paths) for stage in stages))
    assert max(after - before for before, after in pairwise(begun)) == PER_TURN
    await take_turns(2)
    assert [answered(stage) for stage in stages] == [REQUESTS] * CLIENTS


async def test_each_client_has_its_turn(stages):
    most_ahead = 0
    while min(answered(stage) for stage in stages) < REQUESTS:
        await take_turns(1)
        counts = [answered(stage) for stage in stages]
        most_ahead = max(most_ahead, max(counts) - min(counts))
    assert most_ahead <= 2


async def test_requests_of_a_client_never_overtake_each_other():
    """Whether the application answers at once, or while more of them are parsed."""
    chance = random.Random(1)
    stage = Stage()
    stage.connection.data_received((LONG + CHUNKED) * 10 * REQUESTS)
    while answered(stage) < 20 * REQUESTS:
        (stage.may_answer.set if chance.random() < 0.5 else stage.may_answer.clear)()
        await take_turns(1)
        assert len(stage.paths) - answered(stage) in (0, 1)


async def test_no_answer_is_written_to_a_client_that_is_gone():
    """Whichever of its requests is being answered."""
    stage = Stage()
    stage.may_answer.clear()
    await stage.receive(LONG * 3)
    stage.connection.connection_lost(ConnectionResetError())
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.written == b""
    assert len(stage.paths) == 1


async def test_a_client_is_not_idle_while_its_requests_wait():
    stage = Stage()
    fits = LONG.replace(b"\r\n\r\n", b"0\r\n\r\n")
    assert HEAD_PIECE_BYTES % len(fits) == 0
    stage.connection.data_received(fits * REQUESTS)
    while answered(stage) < REQUESTS:
        stage.connection.close_if_idle()
        assert not stage.wire.is_closed
        await take_turns(1)
    stage.connection.close_if_idle()
    assert stage.wire.is_closed


async def test_a_client_that_has_gone_is_answered_no_more(stages):
    gone, *others = stages[::-1]
    await take_turns(2)
    gone.wire.close()
    gone.connection.connection_lost(None)
    asked = len(gone.paths)
    while min(answered(stage) for stage in others) < REQUESTS:
        await take_turns(1)
    assert len(gone.paths) == asked


async def test_the_end_of_the_server_leaves_those_who_wait_an_answer(stages):
    await take_turns(3)
    for stage in stages:
        stage.connection.shutdown()
        stage.connection.close_if_idle()
    assert not any(stage.wire.is_closed for stage in stages)
    before = [answered(stage) for stage in stages]
    while not all(stage.wire.is_closed for stage in stages):
        await take_turns(1)
    assert all(answered(stage) > count for stage, count in zip(stages, before, strict=True))
