"""One client's connection: uvicorn's, with bounds on what a client may do to it, an orderly end,
and a short way for requests that need no application."""

import asyncio
import math
import time
from asyncio import Transport
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kurz.server.refusals import (
    HEAD_TOO_LONG,
    MAX_HEAD_BYTES,
    TOO_SLOW,
    UNREADABLE,
    Refusal,
)

HEAD_SECONDS = 10.0  # from its first byte to its last
STALL_SECONDS = 10.0  # without a byte of a body that was announced
UNREAD_SECONDS = 30.0  # without a byte of the answer taken
LINGER_SECONDS = 2.0  # for a client that is still sending what was refused
# How much is parsed at once: no more than a head may have. The rest waits as it came while requests
# of it wait for each other: each of them takes a hundred times its bytes.
PIECE_BYTES = MAX_HEAD_BYTES


class Connection(HttpToolsProtocol):
    """`shortcut` is handed every chunk that arrives while nothing else is under way; True means
    that it has answered it, or will before anything that comes after, or has put it aside. A chunk
    it does not take goes the long way, unchanged.

    `deadline` is when `expire` is due by the loop's clock; somebody else watches it, once a second
    for all connections: a timer for each request would cost more than many a request."""

    open_number = 0  # of this process

    def __init__(
        self,
        *args: Any,
        shortcut: "Callable[..., bool] | None" = None,
        keep_alive_seconds: float = 5.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.shortcut = shortcut
        self.keep_alive_seconds = keep_alive_seconds
        self.deadline = math.inf
        self.is_draining = False
        self.takes_shortcut = shortcut is not None
        self.lane_head: bytes | None = None  # the lane's note of the last head it has read
        self.lane_note: Any = None
        self.is_waiting = False  # for what a chunk was put aside for
        self._aside = b""
        self._waited_for: asyncio.Task[Any] | None = None
        self._is_at_end = False  # the client's, while a chunk is put aside
        self._is_in_head = False
        self._is_in_body = False
        self._is_lingering = False
        self._is_ending = False
        self._unparsed = b""
        self._is_head_split = False  # over several pieces
        self._raw_head_bytes = 0  # of the pieces that brought nothing else
        self._has_ended_one = False  # the piece that is parsed, a message
        self._chunk_ns = self._began_ns = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        Connection.open_number += 1
        self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        Connection.open_number -= 1

    def data_received(self, data: bytes) -> None:
        if self.takes_shortcut and self.shortcut(self, data):  # type: ignore[misc]
            return
        if self._is_lingering or self._is_ending:
            return
        if self.is_waiting:
            self._aside += data
            return
        self._chunk_ns = time.perf_counter_ns()
        self._take(data)

    def put_aside(self, data: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        """Called by the shortcut: when the task has ended the chunk is offered again, and if it is
        not taken then, goes the long way with that task. Nothing else is read before."""
        self.is_waiting = True
        self.takes_shortcut = False
        self._aside, self._chunk_ns = data, began_ns
        self.deadline = math.inf
        self.flow.pause_reading()
        until.add_done_callback(self._go_on)

    def _go_on(self, waited_for: asyncio.Task[Any]) -> None:
        self.is_waiting = False
        data, self._aside = self._aside, b""
        if self.transport.is_closing():
            return
        self._wait(self.keep_alive_seconds)
        self._read_on()
        self.takes_shortcut = not self.is_draining
        if not self.takes_shortcut or not self.shortcut(self, data, self._chunk_ns):  # type: ignore[misc]
            self._waited_for = waited_for
            self._take(data)
        if self._is_at_end:
            self.loop.call_soon(self._end)

    def _take(self, data: bytes) -> None:
        if len(data) <= PIECE_BYTES and not self._unparsed:
            self._parse(data)
        else:
            self._unparsed += data
            self._parse_on()

    def _parse_on(self) -> None:
        while self._unparsed and not self.pipeline and not self._is_lingering:
            piece, self._unparsed = self._unparsed[:PIECE_BYTES], self._unparsed[PIECE_BYTES:]
            self._parse(piece)
        if self._unparsed:
            self.flow.pause_reading()

    def _parse(self, data: bytes) -> None:
        self._has_ended_one = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # Nothing here can be upgraded to: the request is answered as if it had not asked.
            self._close_after_answers()
        except httptools.HttpParserError as error:
            # The parser wraps what its callbacks raise.
            is_long = isinstance(error.__context__, _HeadTooLong)
            self._refuse(HEAD_TOO_LONG if is_long else UNREADABLE)
        else:
            self._check_size(data)
        if self.flow.write_paused:
            self.flow.pause_reading()

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that sends no more may still wait for answers. Those of this turn are written
        before the loop comes to what is said here."""
        self.loop.call_soon(self._end)
        return True

    def _end(self) -> None:
        if self.is_waiting:
            self._is_at_end = True
        elif self._is_answered() or self._is_in_body:
            self.transport.close()
        else:
            self._close_after_answers()

    # The parser's callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.takes_shortcut = False
        self._is_in_head = True
        self._is_head_split = False
        self._raw_head_bytes = 0
        self._began_ns = self._chunk_ns
        if self._is_answered():
            self._wait(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._is_in_body = True
        if self._is_head_split and self._head_bytes() > MAX_HEAD_BYTES:
            raise _HeadTooLong  # one in a single piece is never longer
        if not self.url.startswith(b"/"):
            self._take_host_from_url()
        self.scope["kurz.began_ns"] = self._began_ns  # type: ignore[typeddict-unknown-key]
        self.scope["kurz.waited_for"] = self._waited_for  # type: ignore[typeddict-unknown-key]
        self._waited_for = None  # what comes behind it is another request
        super().on_headers_complete()
        if self.is_draining:
            self.cycle.keep_alive = False
        self._wait(STALL_SECONDS)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._wait(STALL_SECONDS)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._is_in_body = False
        self._has_ended_one = True
        self._rest()

    # The answers

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        else:
            self._parse_on()
        self._rest()
        self._read_on()

    def pause_writing(self) -> None:
        """The client does not read its answers: no more of its requests are read."""
        super().pause_writing()
        self.flow.pause_reading()
        self._wait(UNREAD_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._rest()
        self._read_on()

    # The end

    def shutdown(self) -> None:
        """Announces the end with the next answer. An idle connection is left to its time: its
        client may be sending a request at this moment."""
        self.is_draining = True
        self.takes_shortcut = False
        if not self._is_answered():
            self.cycle.keep_alive = False  # its body may still be coming in

    def expire(self) -> None:
        is_heard = not self.flow.read_paused or (self._is_ending and not self.pipeline)
        if self._is_in_body and not is_heard and not self.flow.write_paused:
            self._wait(STALL_SECONDS)  # it is we who do not read
        elif self.flow.write_paused or self._is_in_body:
            self.transport.abort()
        elif self._is_in_head:
            self._refuse(TOO_SLOW)
        else:
            self.transport.close()

    def close_if_idle(self) -> None:
        is_idle = self._is_answered() and not self._is_in_head and not self._is_in_body
        if is_idle and not self.is_waiting:
            self.transport.close()

    def _rest(self) -> None:
        """Sets the time for what the client has to do next, if it is the client's turn."""
        if self.flow.write_paused:
            return  # it has to read
        if self._is_lingering:
            self._wait(LINGER_SECONDS)
        elif self._is_in_body:
            self._wait(LINGER_SECONDS if self._is_ending else STALL_SECONDS)
        elif not self._is_answered():
            self.deadline = math.inf
        elif self._is_in_head:
            self._wait(HEAD_SECONDS)
        else:
            can_serve = not self.is_draining and not self._is_ending
            self.takes_shortcut = can_serve and self.shortcut is not None
            self._wait(self.keep_alive_seconds)

    def _read_on(self) -> None:
        if not self.flow.write_paused and not self._unparsed and not self._is_ending:
            self.flow.resume_reading()

    def _wait(self, seconds: float) -> None:
        self.deadline = self.loop.time() + seconds

    def _is_answered(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def _check_size(self, data: bytes) -> None:
        """Bounds a head that is still coming in: its last header reaches us when it is whole. In
        a piece that also ended a message nobody knows where it began."""
        self._is_head_split = self._is_in_head
        if self._is_in_head and not self._has_ended_one:
            self._raw_head_bytes += len(data)
            if self._raw_head_bytes > MAX_HEAD_BYTES:
                self._refuse(HEAD_TOO_LONG)

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _refuse(self, refusal: Refusal) -> None:
        """Answers what cannot be read, or is not read on, and closes. Behind requests that are not
        answered yet it only closes: a refusal would be taken for the answer to one of them."""
        self.takes_shortcut = False
        if not self._is_answered():
            self._close_after_answers()
            return
        self._is_lingering = True
        self._is_in_head = self._is_in_body = False
        self._unparsed = b""
        self._wait(LINGER_SECONDS)
        self.loop.call_soon(self._say, refusal)  # behind the shortcut's answers of this turn

    def _say(self, refusal: Refusal) -> None:
        # Closed at once, with bytes unread, the client's system might throw the answer away.
        if not self.transport.is_closing():
            self.transport.write(refusal.to_bytes(self.server_state.default_headers))
            self.transport.write_eof()

    def _close_after_answers(self) -> None:
        self._is_ending = True
        self._unparsed = b""
        if self.cycle is not None:
            self.cycle.keep_alive = False  # the newest: those before it are answered first
        self.flow.pause_reading()
        if self._is_in_body:
            self._wait(LINGER_SECONDS)  # it will not become whole, and its application may wait

    def _take_host_from_url(self) -> None:
        """An absolute URL says which host is meant, whatever the Host header says (RFC 9112,
        3.2.2)."""
        parsed = httptools.parse_url(self.url)
        if parsed.schema not in (b"http", b"https") or not parsed.host or parsed.userinfo:
            raise ValueError("not a URL of ours")
        host = b"[%s]" % parsed.host if b":" in parsed.host else parsed.host
        host = b"%s:%d" % (host, parsed.port) if parsed.port else host
        others = [(name, value) for name, value in self.headers if name != b"host"]
        self.headers[:] = [(b"host", host), *others]
        self.url = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")


class _HeadTooLong(Exception): ...
