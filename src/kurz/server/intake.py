"""Parses what a client sends, piece by piece, with limits for heads, trailers and bodies.
`Connection` decides what happens with it."""

from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from kurz.server.body_rate import BodyRate
from kurz.server.flow import HalfClosing
from kurz.server.lifetime import Lifetime
from kurz.server.refusals import HEAD_TOO_LONG, MAX_HEAD_BYTES, UNREADABLE
from kurz.server.targets import split_host

# How much is parsed in one turn of the loop: no more than a head may have. In the worst case,
# one-byte chunks, that takes 1 ms.
PIECE_BYTES = MAX_HEAD_BYTES
# How much of it is parsed at once where a head may begin, which is anywhere except in a body of
# known length. A parsed request takes a hundred times its bytes of memory, so while one waits for
# another, the rest stays unparsed.
HEAD_PIECE_BYTES = 1024
# How much of the rest of a body (of known length) is read after an early answer, so that the
# connection can be used again.
SHORT_REST_BYTES = 1024


class Intake(Lifetime):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_parsing_due = False
        self._is_head_split = False  # over several pieces
        self._raw_head_bytes = 0  # of the pieces that contained nothing else
        self._has_ended_one = False  # the current piece has ended a message
        # For a message whose body is arriving:
        self._parts: list[bytes] = []  # of the current piece
        self._body_bytes = 0
        self._field_bytes = 0  # of its head and trailers, once there is a trailer
        self._framing_bytes = 0  # of the pieces since the last byte of the body
        self._keeps_alive = True  # as its head asks

    # Pieces

    def _take(self, data: bytes) -> None:
        if len(data) <= self._piece_bytes() and not self._unparsed:
            self._parse(data)
        else:
            self._unparsed += data
            self._parse_on()

    def _parse_on(self) -> None:
        """Parses some of what has arrived. The rest comes in another turn of the loop, so that
        others are served in between."""
        self._is_parsing_due = False
        if not self._unparsed or self.transport.is_closing():
            return
        left = PIECE_BYTES
        while left > 0 and self._unparsed and self._can_parse():
            size = min(self._piece_bytes(), left)
            left -= size
            piece, self._unparsed = self._unparsed[:size], self._unparsed[size:]
            self.flow.is_held = bool(self._unparsed)
            self._parse(piece)
        if self._unparsed:
            self.flow.hold()
            if self._can_parse():
                self._parse_soon()
        elif not self._has_body_waiting():
            self._read_on()

    def _piece_bytes(self) -> int:
        rest = self._rest_of_body() if self._is_in_body else 0
        return min(PIECE_BYTES, rest + HEAD_PIECE_BYTES)

    def _parse_soon(self) -> None:
        if self._unparsed and not self._is_parsing_due:
            self._is_parsing_due = True
            self.loop.call_soon(self._parse_on)

    def _can_parse(self) -> bool:
        return not self.pipeline and not self._has_more and not self._has_body_waiting()

    def _has_body_waiting(self) -> bool:
        """Whether the application has enough of a body; it asks when it wants more."""
        cycle = self.cycle
        return (
            self._is_in_body and not cycle.response_complete and len(cycle.body) > HIGH_WATER_LIMIT
        )

    def _parse(self, data: bytes) -> None:
        self._has_ended_one = False
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # No upgrade is supported: the request is answered as if it had not asked.
            self._close_after_answers()
        except httptools.HttpParserError as error:
            # The parser wraps exceptions of its callbacks.
            is_long = isinstance(error.__context__, _HeadTooLong)
            self._refuse(HEAD_TOO_LONG if is_long else UNREADABLE)
        else:
            self._check_head(data)
            if self._is_in_body:
                self._continue_body(data)
        if self.flow.write_paused:
            self.flow.pause_reading()

    # The parser's callbacks

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = True
        self._is_head_split = False
        self._raw_head_bytes = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for the trailers after a chunked body. A proxy that checks the head may pass
        trailers on unchecked: they are counted and dropped."""
        if self._is_in_head:
            super().on_header(name, value)
            return
        if not self._field_bytes:
            self._field_bytes = self._head_bytes()  # once, not for each of a thousand trailers
        self._field_bytes += len(name) + len(value) + 4
        if self._field_bytes > MAX_HEAD_BYTES:
            raise _HeadTooLong

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._body_bytes = self._field_bytes = self._framing_bytes = 0
        if self._is_head_split and self._head_bytes() > MAX_HEAD_BYTES:
            raise _HeadTooLong  # a head in a single piece is never longer
        if not self.url.startswith(b"/"):
            # A whole URL says which host is meant, whatever Host says (RFC 9112, 3.2.2).
            host, self.url = split_host(self.url)
            others = [(name, value) for name, value in self.headers if name != b"host"]
            self.headers[:] = [(b"host", host), *others]
        super().on_headers_complete()
        # Not earlier: while a head may be refused, `cycle` is the previous request.
        self._is_in_body = True
        self._keeps_alive = self.cycle.keep_alive

    def on_body(self, body: bytes) -> None:
        self._parts.append(body)  # there may be thousands in a piece

    def on_message_complete(self) -> None:
        self._hand_over()
        if self._rate is not None:
            self._rate = None
            if not self.cycle.response_started:  # its answer is not an early one
                self.cycle.keep_alive = self._keeps_alive
                self.cycle.transport = self.transport
        super().on_message_complete()
        self._is_in_body = False
        self._has_ended_one = True
        self._rest()
        if self._keeps_alive and not self.parser.should_keep_alive():
            # The parser accepts this in a trailer: it would swallow the next request.
            self._close_after_answers()

    # Bodies

    def _continue_body(self, data: bytes) -> None:
        """A piece has been parsed, and the body is not complete yet."""
        count = self._hand_over()
        if self._rate is None:
            self._rate = BodyRate(self.loop.time())
            self._rest()
        elif count:
            self._framing_bytes = 0
        else:  # a trailer or a chunk head that is not complete yet
            self._framing_bytes += len(data)
        self._rate.add(count)
        if not self.cycle.response_started:
            is_rest_short = 0 < self._rest_of_body() <= SHORT_REST_BYTES
            self.cycle.keep_alive = self._keeps_alive and is_rest_short
            half_closing: Any = HalfClosing(self.transport, self._half_close)
            self.cycle.transport = half_closing
        if self._framing_bytes > MAX_HEAD_BYTES:
            self._refuse(HEAD_TOO_LONG)

    def _hand_over(self) -> int:
        """Gives the application what has arrived of a body, and returns how much that is."""
        if not self._parts:
            return 0
        body = b"".join(self._parts)
        self._parts.clear()
        self._body_bytes += len(body)
        super().on_body(body)
        return len(body)

    def _rest_of_body(self) -> int:
        """How much is known to be missing: 0 for a chunked body, which may end anywhere."""
        for name, value in self.headers:
            if name == b"content-length":
                return int(value) - self._body_bytes
        return 0

    def _holds_body_up(self) -> bool:
        """Whether the server itself has stopped reading."""
        cycle = self.cycle
        return self.flow.read_paused or bool(self.pipeline) or cycle.waiting_for_100_continue

    # Heads

    def _check_head(self, data: bytes) -> None:
        """Limits a head that is still arriving: the parser reports its last header only when it is
        complete. In a piece that also ended a message, the start of the head is unknown."""
        self._is_head_split = self._is_in_head
        if self._is_in_head and not self._has_ended_one:
            self._raw_head_bytes += len(data)
            if self._raw_head_bytes > MAX_HEAD_BYTES:
                self._refuse(HEAD_TOO_LONG)

    def _head_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)


class _HeadTooLong(Exception): ...
