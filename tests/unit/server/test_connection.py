"""A connection, driven step by step where a real client could not time it: what it does between
two events, and what uvicorn must offer for it."""

import inspect
import math
from collections.abc import AsyncIterator
from importlib.metadata import version

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kurz.server.connection import Connection
from kurz.server.intake import HEAD_PIECE_BYTES
from kurz.server.refusals import MAX_HEAD_BYTES
from support.stage import EXPORT, LONG, POST, SHORT, Stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    stage.connection.connection_lost(None)
    stage.may_answer.set()
    await stage.settle()


async def test_the_shortcut_waits_for_what_is_under_way(stage):
    stage.may_answer.clear()
    await stage.receive(LONG)
    assert not stage.connection.takes_shortcut
    stage.connection.data_received(SHORT)
    stage.may_answer.set()
    await stage.settle()
    assert stage.paths == ["/long", "/short"]
    assert stage.connection.takes_shortcut


@pytest.mark.parametrize("begun", [b"G", b"GET /x HTTP/1.1\r\nX: ", POST, POST + b"5\r\n123"])
async def test_a_client_that_reads_again_has_still_not_ended_its_request(stage, begun):
    """The rest may look like a request, and must not be taken for one."""
    await stage.receive(LONG)
    stage.connection.data_received(begun)
    stage.connection.pause_writing()
    stage.connection.resume_writing()
    assert not stage.connection.takes_shortcut
    assert stage.connection.deadline < math.inf


async def test_a_client_that_reads_again_has_its_time_anew(stage):
    await stage.receive(SHORT)
    stage.connection.pause_writing()
    assert not stage.wire.is_reading_now
    stage.connection.deadline = 0.0
    stage.connection.resume_writing()
    assert stage.wire.is_reading_now
    assert stage.connection.takes_shortcut
    assert 0 < stage.connection.deadline < math.inf


async def test_a_client_that_does_not_read_is_cut_off_whatever_waits_behind(stage):
    def pause(data: bytes) -> None:
        if data == b"":  # the body: the answer is complete
            stage.connection.pause_writing()

    stage.may_answer.clear()
    await stage.receive(LONG * 3)
    stage.wire.on_write = pause
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert stage.connection.deadline < math.inf
    stage.connection.expire()
    assert stage.wire.is_aborted


async def test_nothing_is_written_after_a_refusal(stage):
    await stage.receive(b"junk\r\n\r\n")
    assert stage.wire.statuses == [400]
    stage.connection.pause_writing()
    stage.connection.resume_writing()
    assert not stage.connection.takes_shortcut
    await stage.receive(SHORT, LONG, b"more junk")
    assert stage.wire.statuses == [400]
    stage.connection.expire()
    assert stage.wire.is_closed


async def test_a_refusal_comes_after_answers_of_the_same_turn(stage):
    await stage.receive(SHORT, b"junk\r\n\r\n")
    assert stage.wire.statuses == [302, 400]


async def test_a_refusal_is_no_answer_to_a_request_before_it(stage):
    stage.may_answer.clear()
    await stage.receive(LONG)
    stage.connection.data_received(b"junk\r\n\r\n")
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert stage.wire.is_closed


# Heads that are refused when they are whole.
REFUSED_HEADS = {
    "another scheme": b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "user information": b"GET http://a:b@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "too long": b"GET / HTTP/1.1\r\nX: " + b"x" * MAX_HEAD_BYTES + b"\r\n\r\n",
}


@pytest.mark.parametrize("head", REFUSED_HEADS.values(), ids=REFUSED_HEADS)
async def test_a_refused_head_leaves_the_request_before_it_its_answer(stage, head):
    stage.may_answer.clear()
    await stage.receive(POST + b"1\r\nx\r\n0\r\n\r\n" + head)
    assert stage.wire.statuses == []
    assert stage.connection.deadline == math.inf  # it takes as long as it takes
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert stage.wire.is_closed


@pytest.mark.parametrize("head", REFUSED_HEADS.values(), ids=REFUSED_HEADS)
async def test_a_refused_head_does_not_cut_an_answer_that_has_begun(stage, head):
    stage.may_answer.clear()
    await stage.receive(EXPORT)
    assert stage.wire.statuses == [200]
    stage.connection.data_received(head)
    await stage.settle()
    assert stage.connection.deadline == math.inf
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]
    assert stage.wire.written.endswith(b"\r\n\r\nab")
    assert stage.wire.is_closed


@pytest.mark.parametrize("head", REFUSED_HEADS.values(), ids=REFUSED_HEADS)
async def test_a_refused_head_behind_an_answer_is_told_why(stage, head):
    await stage.receive(LONG)
    await stage.receive(head)
    assert stage.wire.statuses in ([200, 400], [200, 431])
    assert stage.wire.is_ended


async def test_a_body_that_turns_to_junk_ends_the_connection(stage):
    await stage.receive(POST)
    await stage.receive(b"5\r\n12345\r\n")
    await stage.receive(b"zz\r\n")
    stage.connection.expire()
    assert stage.wire.is_closed


async def test_a_body_that_turns_to_junk_leaves_those_before_it_their_answers(stage):
    stage.may_answer.clear()
    await stage.receive(LONG + POST + b"zz\r\n")
    stage.connection.expire()
    assert not stage.wire.is_closed
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]
    stage.connection.expire()
    assert stage.wire.is_closed


async def test_a_client_that_ends_waits_for_slow_answers_as_long_as_they_take(stage):
    stage.may_answer.clear()
    await stage.receive(LONG * 3)
    stage.connection.eof_received()
    await stage.settle()
    stage.connection.pause_writing()
    stage.connection.resume_writing()
    assert stage.connection.deadline == math.inf
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200] * 3
    assert stage.wire.is_closed


async def test_a_client_that_ends_in_a_body_gets_the_answers_before_it(stage):
    stage.may_answer.clear()
    await stage.receive(EXPORT + POST + b"5\r\n123")
    stage.connection.eof_received()
    await stage.settle()
    stage.connection.expire()
    assert not stage.wire.is_closed
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.written.endswith(b"\r\n\r\nab")
    assert stage.connection.deadline < math.inf
    stage.connection.expire()
    assert stage.wire.is_closed
    assert stage.wire.statuses == [200]


async def test_a_client_that_ends_waits_for_no_stream(stage):
    """A browser that leaves a page closes its side, and nothing else."""
    stage.may_answer.clear()
    await stage.receive(EXPORT)
    stage.scopes[0]["kurz.ends_with_client"] = True  # as its application says
    stage.connection.eof_received()
    await stage.settle()
    assert stage.wire.is_closed


async def test_a_client_that_ends_in_its_only_body_is_gone(stage):
    await stage.receive(POST + b"5\r\n123")
    stage.connection.eof_received()
    await stage.settle()
    assert stage.wire.is_closed


async def test_a_head_that_began_before_an_answer_has_its_time_after_it(stage):
    stage.may_answer.clear()
    await stage.receive(LONG + b"GET /")
    assert stage.connection.deadline == math.inf
    stage.may_answer.set()
    await stage.settle()
    assert stage.connection.deadline < math.inf
    stage.connection.expire()
    await stage.settle()
    assert stage.wire.statuses == [200, 408]


async def test_a_body_nobody_waits_for_is_read_no_further(stage):
    """A long one is held back until the application takes it; that is not the client's fault."""
    stage.may_answer.clear()
    await stage.receive(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n")
    await stage.receive(b"x" * 100_000)
    assert not stage.wire.is_reading_now
    stage.connection.expire()
    assert not stage.wire.is_closed
    stage.may_answer.set()
    await stage.settle()
    assert stage.wire.statuses == [200]


async def test_a_pipeline_waits_in_few_bytes(stage):
    """A request under way takes a hundred times its size."""
    stage.may_answer.clear()
    await stage.receive(LONG * 7000)
    assert len(stage.connection.pipeline) * len(LONG) <= HEAD_PIECE_BYTES
    assert not stage.wire.is_reading_now
    stage.may_answer.set()
    for _ in range(2000):
        await stage.settle()
        if len(stage.paths) == 7000:
            break
    assert stage.wire.statuses == [200] * 7000
    assert stage.wire.is_reading_now
    assert stage.connection.takes_shortcut


async def test_a_draining_connection_says_so_with_its_next_answer(stage):
    await stage.receive(SHORT)
    stage.connection.shutdown()
    assert not stage.wire.is_closed
    await stage.receive(SHORT)
    assert stage.paths == ["/short"]
    assert b"connection: close\r\n" in stage.wire.written
    assert stage.wire.is_closed


async def test_a_draining_connection_reads_the_body_that_is_coming_in(stage):
    await stage.receive(POST)
    stage.connection.shutdown()
    await stage.receive(b"5\r\n12345\r\n", b"0\r\n\r\n")
    assert stage.wire.statuses == [200]
    assert b"connection: close\r\n" in stage.wire.written
    assert stage.wire.is_closed


def test_uvicorn_is_the_one_that_was_read():
    """Its protocol is no public interface. With another version: read `httptools_impl.py` against
    `server/connection.py`, then change the number here."""
    assert version("uvicorn") == "0.54.0"


@pytest.mark.parametrize(
    ("owner", "name", "parameters"),
    [
        (HttpToolsProtocol, "__init__", "self config server_state app_state _loop"),
        (HttpToolsProtocol, "connection_made", "self transport"),
        (HttpToolsProtocol, "connection_lost", "self exc"),
        (HttpToolsProtocol, "data_received", "self data"),
        (HttpToolsProtocol, "eof_received", "self"),
        (HttpToolsProtocol, "on_message_begin", "self"),
        (HttpToolsProtocol, "on_url", "self url"),
        (HttpToolsProtocol, "on_header", "self name value"),
        (HttpToolsProtocol, "on_headers_complete", "self"),
        (HttpToolsProtocol, "on_body", "self body"),
        (HttpToolsProtocol, "on_message_complete", "self"),
        (HttpToolsProtocol, "on_response_complete", "self"),
        (HttpToolsProtocol, "_start_asgi_task", "self cycle app"),
        (HttpToolsProtocol, "pause_writing", "self"),
        (HttpToolsProtocol, "resume_writing", "self"),
        (HttpToolsProtocol, "shutdown", "self"),
        (FlowControl, "pause_reading", "self"),
        (FlowControl, "resume_reading", "self"),
        (FlowControl, "pause_writing", "self"),
        (FlowControl, "resume_writing", "self"),
    ],
)
def test_uvicorn_has_what_a_connection_overrides_and_calls(owner, name, parameters):
    assert list(inspect.signature(getattr(owner, name)).parameters) == parameters.split()


async def test_uvicorn_keeps_what_a_connection_reads(stage):
    stage.may_answer.clear()
    await stage.receive(LONG)
    connection = stage.connection
    assert type(connection.cycle) is RequestResponseCycle
    assert (connection.cycle.response_complete, connection.cycle.keep_alive) == (False, True)
    assert connection.cycle.on_response == connection.on_response_complete
    assert isinstance(connection.flow, FlowControl)
    assert (connection.flow.read_paused, connection.flow.write_paused) == (False, False)
    assert connection.url == b"/long"
    assert connection.headers is connection.scope["headers"]
    assert connection.headers == [(b"host", b"a")]
    assert connection.transport is stage.wire
    assert connection in connection.server_state.connections
    assert connection.server_state.total_requests == 0
    assert len(connection.pipeline) == 0
    stage.connection.data_received(LONG)
    cycle, _ = connection.pipeline[0]
    assert cycle is connection.cycle
    assert connection.flow.read_paused
    stage.may_answer.set()
    await stage.settle()
    assert connection.server_state.total_requests == 2


def test_uvicorn_has_no_timer_of_its_own_while_ours_is_in_force():
    """Whatever sets one must be overridden, or it would close a connection the lane uses."""
    setters = [
        name
        for name, method in inspect.getmembers(HttpToolsProtocol, inspect.isfunction)
        if "call_later" in inspect.getsource(method)
    ]
    assert setters == ["on_response_complete"]
    assert setters[0] in vars(Connection)
