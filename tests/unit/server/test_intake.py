"""What a client may send: trailers, bodies in pieces, and bodies that come too slowly."""

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kurz.server.body_rate import MIN_BYTES_PER_SECOND, WINDOW_SECONDS, BodyRate
from kurz.server.intake import HEAD_PIECE_BYTES, PIECE_BYTES
from kurz.server.lifetime import LINGER_BYTES
from kurz.server.refusals import MAX_HEAD_BYTES
from support.stage import LONG, POST, SHORT, Stage

# The application answers it without reading its body.
PUT = b"PUT / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n"
FORGED = b"Authorization: Bearer x\r\nHost: b\r\nX-Forwarded-For: 192.0.2.1\r\nlast: y\r\n"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    stage.connection.connection_lost(None)
    stage.may_answer.set()
    await stage.settle()


class Later:
    """The event loop, some seconds later."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.seconds = 0.0

    def time(self) -> float:
        return self._loop.time() + self.seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


# Trailers


@pytest.mark.parametrize("pieces", [1, 2, 1000])
async def test_trailers_are_no_headers_of_any_request(stage, pieces):
    chunked = POST + b"1\r\nx\r\n0\r\n" + FORGED + b"\r\n"
    data = chunked + chunked + LONG
    step = len(data) // pieces + 1
    for start in range(0, len(data), step):
        stage.connection.data_received(data[start : start + step])
    await stage.settle()
    assert stage.wire.statuses == [200] * 3
    own = [(b"host", b"a"), (b"transfer-encoding", b"chunked")]
    assert [scope["headers"] for scope in stage.scopes] == [own, own, own[:1]]
    await stage.receive(SHORT)
    assert stage.wire.statuses[-1] == 302


@pytest.mark.parametrize("field", [b"a:b\r\n", b"a: " + b"b" * 1000 + b"\r\n"])
async def test_trailers_count_as_part_of_the_head(stage, field):
    await stage.receive(POST + b"0\r\n" + field * (MAX_HEAD_BYTES // len(field) // 2) + b"\r\n")
    assert stage.wire.statuses == [200]
    await stage.receive(POST + b"0\r\n")
    for _ in range(MAX_HEAD_BYTES // len(field) + 20):
        stage.connection.data_received(field)
    await stage.settle()
    assert stage.wire.statuses == [200, 431]
    assert stage.wire.is_ended


@pytest.mark.parametrize("start", [b"0\r\nname", b"0\r\nname: ", b"5;extension="])
async def test_a_trailer_without_end_is_refused_while_it_arrives(stage, start):
    await stage.receive(POST + b"1\r\nx\r\n", start)
    for _ in range(40):
        stage.connection.data_received(b"x" * 1000)
    await stage.settle()
    assert stage.wire.statuses == [431]
    assert stage.wire.is_ended


async def test_the_application_of_a_refused_request_has_lost_its_client(stage):
    stage.may_answer.clear()
    await stage.receive(POST + b"1\r\nx\r\n0\r\n" + b"a:b\r\n" * MAX_HEAD_BYTES)
    assert stage.wire.statuses == [431]
    assert not stage.connection.tasks


async def test_trailers_without_end_leave_those_before_them_their_answers(stage):
    stage.may_answer.clear()
    await stage.receive(LONG + POST + b"0\r\n" + b"a:b\r\n" * MAX_HEAD_BYTES)
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200, 431]
    assert stage.wire.is_ended


@pytest.mark.parametrize("pieces", [1, 2, 1000])
@pytest.mark.parametrize("name", [b"Connection", b"Proxy-Connection"])
async def test_no_request_is_swallowed_behind_a_trailer_that_closes(stage, name, pieces):
    data = POST + b"1\r\nx\r\n0\r\n" + name + b": close\r\n\r\n"
    step = len(data) // pieces + 1
    for start in range(0, len(data), step):
        stage.connection.data_received(data[start : start + step])
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert b"connection: close\r\n" in stage.wire.written
    assert stage.wire.is_closed


# Bodies in pieces


@pytest.mark.parametrize(
    ("begun", "end"),
    [
        (b"", b""),
        ((PUT % b"Content-Length: 2000") + b"x" * 500, b"x" * 1500),
        (POST + b"1\r\nx\r\n", b"1\r\ny\r\n0\r\n\r\n"),
    ],
    ids=["", "behind a body", "behind a chunked body"],
)
@pytest.mark.parametrize("request_", [LONG, POST + b"0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"])
async def test_of_requests_that_wait_for_another_few_are_taken_in(stage, request_, begun, end):
    stage.may_answer.clear()
    count = 4 * PIECE_BYTES // len(request_)
    if begun:
        await stage.receive(begun)
    await stage.receive(end + request_ * count)
    assert 0 < len(stage.connection.pipeline) * len(request_) <= HEAD_PIECE_BYTES
    assert not stage.wire.is_reading_now
    stage.may_answer.set()
    while len(stage.wire.statuses) < count + bool(begun):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert stage.wire.is_reading_now


async def test_others_have_their_turn_while_small_chunks_are_parsed(stage):
    turns = 0

    def take_turn() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(take_turn)

    loop = asyncio.get_running_loop()
    chunks = 40_000
    stage.connection.data_received(POST + b"1\r\nx\r\n" * chunks)
    assert len(stage.connection.cycle.body) <= PIECE_BYTES
    assert not stage.wire.is_reading_now
    loop.call_soon(take_turn)
    while not stage.wire.is_reading_now:  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert turns >= 6 * chunks // PIECE_BYTES
    await stage.receive(b"0\r\n\r\n")
    assert stage.wire.statuses == [200]


async def test_an_application_that_wants_more_gets_it_parsed_before_more_is_read(stage):
    stage.connection.data_received(POST + b"1\r\nx\r\n" * 40_000)
    assert not stage.wire.is_reading_now
    stage.connection.flow.resume_reading()  # as the application does whenever it asks
    assert not stage.wire.is_reading_now


async def test_a_body_nobody_takes_is_parsed_no_further(stage):
    stage.may_answer.clear()
    await stage.receive((PUT % b"Content-Length: 900000") + b"x" * 800_000)
    assert len(stage.connection.cycle.body) < 100_000
    assert not stage.wire.is_reading_now


# Early answers


@pytest.mark.parametrize("field", [b"Content-Length: 900000", b"Transfer-Encoding: chunked"])
async def test_an_early_answer_half_closes_and_the_rest_is_thrown_away(stage, field):
    await stage.receive((PUT % field) + b"5\r\n")
    assert stage.wire.statuses == [200]
    assert b"connection: close\r\n" in stage.wire.written
    assert stage.wire.is_ended
    assert not stage.wire.is_closed
    for _ in range(LINGER_BYTES // 100_000):
        await stage.receive(LONG + b"x" * (100_000 - len(LONG)))
    assert stage.wire.is_reading_now
    await stage.receive(b"x" * 100_000)
    assert not stage.wire.is_reading_now
    assert not stage.wire.is_closed
    stage.connection.expire()
    assert stage.wire.is_closed
    assert stage.paths == ["/"]
    assert stage.wire.statuses == [200]


async def test_a_half_closed_connection_ends_with_its_client(stage):
    await stage.receive((PUT % b"Content-Length: 900000") + b"x")
    stage.connection.eof_received()
    await stage.settle()
    assert stage.wire.is_closed


async def test_a_short_rest_is_read_and_the_connection_used_again(stage):
    await stage.receive((PUT % b"Content-Length: 5") + b"xx")
    assert stage.wire.statuses == [200]
    assert b"connection: close" not in stage.wire.written
    await stage.receive(b"xxx" + LONG)
    await stage.receive(SHORT)
    assert stage.wire.statuses == [200, 200, 302]


async def test_an_answer_to_a_whole_body_leaves_the_connection_open(stage):
    await stage.receive(POST)
    await stage.receive(b"5\r\n12345\r\n")
    await stage.receive(b"0\r\n\r\n")
    await stage.receive(SHORT)
    assert stage.wire.statuses == [200, 302]
    assert b"connection: close" not in stage.wire.written


# How fast a body has to come


def test_a_body_at_the_minimum_rate_is_fast_enough():
    rate = BodyRate(0.0)
    for second in range(1, 100):
        rate.add(MIN_BYTES_PER_SECOND)
        assert not rate.is_too_slow(float(second)), second


def test_a_body_is_too_slow_over_any_window():
    rate = BodyRate(0.0)
    rate.add(1_000_000)
    assert not rate.is_too_slow(1.0)
    slow = []
    for second in range(2, 20):
        rate.add(MIN_BYTES_PER_SECOND - 1)
        slow.append(rate.is_too_slow(float(second)))
    assert slow.index(True) == WINDOW_SECONDS - 1


def test_a_body_has_a_window_to_begin_with():
    rate = BodyRate(0.0)
    assert not rate.is_too_slow(WINDOW_SECONDS - 0.1)
    assert rate.is_too_slow(WINDOW_SECONDS)


async def test_a_slow_body_is_refused(stage):
    stage.connection.loop = later = Later(stage.connection.loop)
    await stage.receive(POST)
    for _ in range(9):
        later.seconds += 1
        await stage.receive(b"1\r\nx\r\n")
        stage.connection.expire()
    await stage.settle()
    assert stage.wire.statuses == []
    later.seconds += 1
    stage.connection.expire()
    await stage.settle()
    assert stage.wire.statuses == [408]
    assert stage.wire.is_ended


async def test_a_client_that_has_its_answer_already_is_not_refused(stage):
    """It would take the refusal for the answer to its next request."""
    stage.connection.loop = later = Later(stage.connection.loop)
    await stage.receive((PUT % b"Content-Length: 5") + b"xx")
    assert stage.wire.statuses == [200]
    later.seconds += WINDOW_SECONDS - 1
    stage.connection.expire()
    assert not stage.wire.is_closed
    later.seconds += 1
    stage.connection.expire()
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert stage.wire.is_closed
    assert stage.connection.deadline < math.inf


async def test_a_body_the_server_does_not_read_is_not_slow(stage):
    stage.may_answer.clear()
    stage.connection.loop = later = Later(stage.connection.loop)
    await stage.receive((PUT % b"Content-Length: 900000") + b"x" * 100_000)
    for _ in range(30):
        later.seconds += 1
        stage.connection.expire()
    await stage.settle()
    assert stage.wire.statuses == []
    assert not stage.wire.is_closed


async def test_a_client_that_was_not_told_to_go_on_is_not_slow(stage):
    stage.may_answer.clear()
    stage.connection.loop = later = Later(stage.connection.loop)
    await stage.receive(PUT % b"Content-Length: 900000\r\nExpect: 100-continue")
    for _ in range(30):
        later.seconds += 1
        stage.connection.expire()
    assert not stage.wire.is_closed
