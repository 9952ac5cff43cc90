"""How long a connection waits for its client, and how it ends. `Intake` and `Connection` build on
it."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kurz.server.body_rate import SAMPLE_SECONDS, BodyRate
from kurz.server.flow import Flow
from kurz.server.refusals import Refusal

HEAD_SECONDS = 10.0  # from its first byte to its last
UNREAD_SECONDS = 30.0  # without a byte of the answer taken
# For how long, and how many bytes, kurz reads from a client that still sends after its answer.
LINGER_SECONDS = 2.0
LINGER_BYTES = 1024 * 1024


class Lifetime(HttpToolsProtocol):
    """`deadline` is when `expire` is due, by the loop's clock. The server checks it once a second
    for all connections: a timer for each request would cost more than many requests."""

    flow: Flow

    def __init__(
        self,
        *args: Any,
        shortcut: "Callable[..., int] | None" = None,
        keep_alive_seconds: float = 5.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.shortcut = shortcut
        self.takes_shortcut = shortcut is not None
        self.keep_alive_seconds = keep_alive_seconds
        self.deadline = math.inf
        self.is_draining = False
        self._own_deadline = math.inf  # the deadline, unless the lane has set another one since
        self._waits_since = 0.0
        self._is_in_head = False
        self._is_in_body = False
        self._unparsed = b""
        self._has_more = False  # more requests came in after the one being answered
        self._rate: BodyRate | None = None  # of a body in several pieces
        self._is_lingering = False
        self._linger_timer: asyncio.TimerHandle | None = None
        self._discarded_bytes = 0
        self._is_ending = False

    # Time

    def _rest(self) -> None:
        """Sets the time limit for the client, if the server waits for it."""
        if self.flow.write_paused or self._is_lingering:
            return  # it must read, or end
        if self._is_in_body:
            self._wait(LINGER_SECONDS if self._is_ending else SAMPLE_SECONDS)
        elif not self._is_answered():
            self.deadline = math.inf
        elif self._is_in_head:
            self._wait(HEAD_SECONDS)
        else:
            can_serve = not self.is_draining and not self._is_ending and not self._unparsed
            self.takes_shortcut = can_serve and self.shortcut is not None
            self._wait(self.keep_alive_seconds)

    def _read_on(self) -> None:
        if not self.flow.write_paused and not self._unparsed and not self._is_ending:
            self.flow.resume_reading()

    def _wait(self, seconds: float) -> None:
        self._waits_since = now = self.loop.time()
        self.deadline = self._own_deadline = now + seconds

    # The application

    def _is_answered(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return not self._has_more and (cycle is None or cycle.response_complete)

    def _give_up_request(self) -> bool:
        """Takes the request whose body is arriving from its application, which sees a disconnected
        client. False if it has begun to answer, or other requests must be answered before."""
        cycle = self.cycle
        if not self._is_in_body or self.pipeline or cycle.response_started:
            return False
        cycle.disconnected = cycle.response_complete = True
        cycle.message_event.set()
        return True

    # The end

    def _close(self) -> None:
        self.transport.close()
        self._wait(UNREAD_SECONDS)  # for what is still in its buffer

    def _refuse(self, refusal: Refusal) -> None:
        """Answers a request that cannot be read, or is not read further, and closes. If earlier
        requests are not answered yet, it only closes: a refusal would be taken for the answer to
        one of them."""
        if not self._is_answered() and not self._give_up_request():
            self._close_after_answers()
            return
        self._linger()
        self.loop.call_soon(self._say, refusal)  # after the shortcut's answers of this turn

    def _say(self, refusal: Refusal) -> None:
        if not self.transport.is_closing():
            self.transport.write(refusal.to_bytes(self.server_state.default_headers))
            self.transport.write_eof()

    def _half_close(self) -> None:
        """Ends a connection whose client still sends after its answer."""
        if not self.transport.is_closing():
            self._linger()
            self.transport.write_eof()

    def _linger(self) -> None:
        """Discards what still arrives, unparsed, for a while: if the connection were closed with
        unread bytes, the client's system might drop the answer."""
        self._is_lingering = True
        self.takes_shortcut = False
        self._is_in_head = self._is_in_body = False
        self._unparsed = b""
        self._rate = None
        self._wait(LINGER_SECONDS + UNREAD_SECONDS)
        self._linger_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
        self.flow.is_held = False
        self.flow.resume_reading()

    def _discard(self, count: int) -> None:
        self._discarded_bytes += count
        if self._discarded_bytes > LINGER_BYTES:
            self.flow.hold()  # its client has until the end of its time to read the answer

    def _close_after_answers(self) -> None:
        self.takes_shortcut = False
        self._is_ending = True
        self._unparsed = b""
        if self.cycle is not None:
            self.cycle.keep_alive = False  # the newest: those before it are answered first
        self.flow.hold()
        if self._is_in_body:
            self._wait(LINGER_SECONDS)  # it will never be complete, and its application may wait
