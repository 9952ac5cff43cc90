"""A chunk that is put aside until something was found: answered in its turn, whatever the client
does meanwhile."""

import math
from collections.abc import AsyncIterator

import pytest

from support.stage import COLD, LONG, SHORT, Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """With a request put aside."""
    stage = Stage()
    await stage.receive(COLD)
    assert stage.connection.is_waiting
    yield stage
    stage.connection.connection_lost(None)
    if not stage.found.done():
        stage.found.set_result(True)
    await stage.settle()


async def find(stage: Stage, *, is_found: bool = True) -> None:
    stage.found.set_result(is_found)
    await stage.settle()


async def test_it_is_offered_again_with_the_instant_at_which_it_came(stage):
    assert stage.wire.written == b""
    await find(stage)
    assert stage.wire.statuses == [302]
    assert stage.offered == [(COLD, 0), (COLD, 1234)]
    assert stage.paths == []


async def test_the_connection_goes_on_afterwards(stage):
    await find(stage)
    assert stage.connection.takes_shortcut
    assert stage.wire.is_reading_now
    await stage.receive(SHORT)
    await stage.receive(LONG)
    assert stage.wire.statuses == [302, 302, 200]


async def test_what_is_not_taken_then_takes_the_asgi_path_with_what_was_waited_for(stage):
    await find(stage, is_found=False)
    assert stage.wire.statuses == [200]
    (scope,) = stage.scopes
    assert scope["path"] == "/cold"
    assert scope["kurz.began_ns"] == 1234
    assert scope["kurz.lookup"].result() is False
    await stage.receive(LONG)
    assert stage.scopes[-1]["kurz.lookup"] is None


async def test_nothing_is_read_meanwhile_and_no_time_runs_out(stage):
    assert not stage.wire.is_reading_now
    assert stage.connection.deadline == math.inf
    await find(stage)
    assert stage.connection.deadline < math.inf


async def test_what_arrives_all_the_same_is_answered_behind_it(stage):
    """A transport may have read more before it was told to stop."""
    stage.connection.data_received(LONG)
    stage.connection.data_received(SHORT)
    await stage.settle()
    assert stage.wire.written == b""
    await find(stage)
    assert stage.paths == ["/cold", "/long", "/short"]
    assert stage.wire.statuses == [200, 200, 200]
    assert [scope["kurz.lookup"] is None for scope in stage.scopes] == [False, True, True]


async def test_a_client_that_sends_no_more_gets_its_answer(stage):
    stage.connection.eof_received()
    await stage.settle()
    assert not stage.wire.is_closed
    await find(stage)
    assert stage.wire.statuses == [302]
    assert stage.wire.is_closed


async def test_a_client_that_sends_no_more_gets_its_answer_on_the_asgi_path_too(stage):
    stage.connection.eof_received()
    await find(stage, is_found=False)
    assert stage.wire.statuses == [200]
    assert stage.wire.is_closed


async def test_a_client_that_has_left_gets_none(stage):
    stage.wire.close()
    await find(stage)
    assert stage.wire.written == b""
    assert stage.offered == [(COLD, 0)]


async def test_a_draining_connection_answers_it_and_says_that_it_ends(stage):
    stage.connection.shutdown()
    await find(stage)
    assert stage.wire.statuses == [200]
    assert b"connection: close\r\n" in stage.wire.written
    assert stage.wire.is_closed


async def test_a_hurried_end_waits_for_it(stage):
    stage.connection.close_if_idle()
    assert not stage.wire.is_closed
    await find(stage)
    stage.connection.close_if_idle()
    assert stage.wire.is_closed
