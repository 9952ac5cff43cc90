"""One client's connection: uvicorn's, with limits on what a client may do, an orderly end, and a
shortcut for requests that need no application."""

import asyncio
import math
import time
from asyncio import Transport
from collections.abc import Iterable
from typing import Any, cast

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from kurz.asgi import BEGAN_NS, ENDS_WITH_CLIENT, HAS_CLIENT_LEFT, LOOKUP
from kurz.server.body_rate import SAMPLE_SECONDS
from kurz.server.capacity import Admission, Capacity, Occupant
from kurz.server.flow import Flow
from kurz.server.intake import Intake
from kurz.server.lifetime import HEAD_SECONDS, LINGER_SECONDS, UNREAD_SECONDS
from kurz.server.listening import LOCAL_CLIENT, is_unix
from kurz.server.refusals import BODY_TOO_SLOW, HEAD_TOO_SLOW, NO_ROOM
from kurz.server.turns import PipelineTurns

# How long a client with an unfinished or first request is not closed to make room.
GRACE_SECONDS = 0.5
LANE_SECONDS = 1.0  # the lane sets deadlines once a second, for the end of that second


class Connection(Intake):
    """`shortcut` gets every chunk that arrives while nothing else is in progress. A true result
    means that it answers the chunk before any later one, or has parked it. A chunk that it declines
    takes the ASGI path, unchanged."""

    def __init__(
        self,
        *args: Any,
        capacity: Capacity | None = None,
        turns: PipelineTurns | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lane_head: bytes | None = None  # the last head that the lane has read
        self.lane_parsed: Any = None
        self.is_last = False  # the shortcut's answer ends the connection
        self.is_waiting = False  # for the lookup of a parked chunk
        self._first = b""  # what was read before there was a transport
        self._unsent = b""  # and what must be written
        self._first_parked: tuple[int, asyncio.Task[Any]] | None = None
        self._parked = b""
        self._lookup: asyncio.Task[Any] | None = None
        self._is_at_end = False  # the client has sent its end, but not all before it is parsed
        self._chunk_ns = self._began_ns = 0
        self._capacity = capacity or Capacity()
        self._turns = turns or PipelineTurns()
        self._answering: RequestResponseCycle | None = None
        self._is_refused = False  # there is no room for it, but it has no refusal yet
        self._is_closed_early = False  # to make room

    def begin_with(
        self,
        data: bytes,
        unsent: bytes,
        *,
        is_last: bool = False,
        parked: tuple[int, asyncio.Task[Any]] | None = None,
    ) -> None:
        """To be called before it is connected: what was read without it, and what must still be
        written. `is_last`: then it ends. `parked`: the shortcut has parked the data, which arrived
        at this time, until the task has ended."""
        self._first, self._unsent = data, unsent
        self.is_last, self._first_parked = is_last, parked

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if is_unix(transport.get_extra_info("socket")):
            self.client = LOCAL_CLIENT
        self.flow = Flow(transport, self._parse_soon)
        self._wait(HEAD_SECONDS)
        occupants = cast("Iterable[Occupant]", self.connections)
        admission = self._capacity.enter(self, occupants, self._waits_since)
        if admission is not Admission.ADMITTED:
            self.takes_shortcut = False
            self._is_refused = True
            if admission is Admission.DROPPED:
                transport.abort()
        if self._unsent:
            transport.write(self._unsent)
        if self.is_last:
            self._close()
        elif self._first:
            self.takes_shortcut = False  # until then
            self.loop.call_soon(self._take_first)

    def _take_first(self) -> None:
        data, self._first = self._first, b""
        if not data or self.transport.is_closing():
            return
        if self._first_parked is not None and not self._is_refused:
            self.park(data, *self._first_parked)
        else:
            can_serve = self.shortcut is not None and not self.is_draining and not self._is_refused
            self.takes_shortcut = can_serve
            self.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        # uvicorn informs only the last request, which may still wait for its turn.
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        super().connection_lost(exc)
        self.flow.end()
        self._capacity.leave(was_closed_early=self._is_closed_early)
        if self._linger_timer is not None:
            self._linger_timer.cancel()

    def data_received(self, data: bytes) -> None:
        if self.takes_shortcut and self.shortcut(self, data):  # type: ignore[misc]
            return
        if self._first:
            self._take_first()
            self.data_received(data)
        elif self._is_lingering:
            self._discard(len(data))
        elif self._is_ending:
            pass
        elif self.is_waiting:
            self._parked += data
        elif self._is_refused:
            self._refuse(NO_ROOM)
        else:
            self._chunk_ns = time.perf_counter_ns()
            self._take(data)

    def park(self, data: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        """Called by the shortcut: when the task has ended, the chunk is offered again. If it is
        declined then, it takes the ASGI path with that task. Nothing else is read before."""
        self.is_waiting = True
        self.takes_shortcut = False
        self._parked, self._chunk_ns = data, began_ns
        self.deadline = math.inf
        self.flow.pause_reading()
        until.add_done_callback(self._go_on)

    def _go_on(self, lookup: asyncio.Task[Any]) -> None:
        self.is_waiting = False
        data, self._parked = self._parked, b""
        if self.transport.is_closing():
            return
        self._wait(self.keep_alive_seconds)
        is_at_end, self._is_at_end = self._is_at_end, False  # until this chunk is answered
        self._read_on()
        self.takes_shortcut = not self.is_draining
        if not self.takes_shortcut or not self.shortcut(self, data, self._chunk_ns):  # type: ignore[misc]
            self._lookup = lookup
            self._take(data)
        self._is_at_end = is_at_end
        self._end_if_read()

    def _read_on(self) -> None:
        super()._read_on()
        self._end_if_read()

    def _end_if_read(self) -> None:
        if self._is_at_end and not self.is_waiting and not self._unparsed:
            self._is_at_end = False
            self.loop.call_soon(self._end)

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that sends no more may still wait for answers. Those of this turn are written
        before the callback scheduled here runs."""
        self._take_first()
        self.loop.call_soon(self._end)
        return True

    def _end(self) -> None:
        if self.is_waiting or self._unparsed:
            self._is_at_end = True
        elif self._is_answered() or self._is_lingering or (self._is_in_body and not self.pipeline):
            self.transport.close()
        elif self._answering is not None and self._answering.scope.get(ENDS_WITH_CLIENT):
            self.transport.close()  # it is only useful while the client is connected
        else:
            if self._answering is not None:
                scope: Any = self._answering.scope
                scope[HAS_CLIENT_LEFT] = True
            self._close_after_answers()

    # Requests

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.takes_shortcut = False
        self._began_ns = self._chunk_ns
        if self._is_answered():
            self._wait(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        scope: Any = self.scope
        scope[BEGAN_NS] = self._began_ns
        scope[LOOKUP] = self._lookup
        self._lookup = None  # what follows is another request
        super().on_headers_complete()
        if self.is_draining:
            self.cycle.keep_alive = self._keeps_alive = False

    # The answers

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._wait(UNREAD_SECONDS)  # for what is still in its buffer
            return
        if self.pipeline or self._unparsed:
            self._has_more = True
            self._turns.add(self._begin_next)
        else:
            self._rest()
            self._read_on()

    def _begin_next(self) -> None:
        self._has_more = False
        if self.transport.is_closing():
            return
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
        else:
            self._parse_on()
        self._rest()
        self._read_on()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """The client does not read its answers: no more of its requests are read."""
        super().pause_writing()
        self.flow.pause_reading()
        self._wait(UNREAD_SECONDS)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._rest()
        self._read_on()

    # Time

    def expire(self) -> None:
        if self.flow.write_paused or self._is_lingering or self.transport.is_closing():
            self.transport.abort()
        elif self._is_in_body:
            self._check_body()
        elif self._is_in_head:
            self._refuse(HEAD_TOO_SLOW)
        else:
            self._close()

    def _check_body(self) -> None:
        now, rate = self.loop.time(), self._rate
        if rate is None or self._is_ending:  # the rest is discarded
            if self.pipeline:
                self._wait(LINGER_SECONDS)
            else:
                self.transport.abort()
        elif self._holds_body_up():
            rate.restart(now)
            self._wait(SAMPLE_SECONDS)
        elif not rate.is_too_slow(now):
            self._wait(SAMPLE_SECONDS)
        elif self._is_answered():  # a proxy would take a refusal for the answer to its next request
            self._close()
        else:
            self._refuse(BODY_TOO_SLOW)

    # Room for others

    def waits_since(self, now: float) -> float:
        """Since when the server waits for its client; infinite while it must not be closed."""
        if self._is_closed_early:
            return math.inf
        since = self._waits_since
        if not (self.flow.write_paused or self._is_lingering or self.transport.is_closing()):
            if self._rate is not None:
                is_spared = self._holds_body_up() or now - self._rate.began_at < GRACE_SECONDS
                return math.inf if is_spared else self._rate.behind_since(now)
            if self.is_waiting or self._unparsed or not self._is_answered():
                return math.inf
            if self.deadline != self._own_deadline:  # idle, and the lane gave its last answer
                return self.deadline - self.keep_alive_seconds - LANE_SECONDS
            if self._has_asked() and not self._is_in_head:
                return since  # idle
        return since if now - since >= GRACE_SECONDS else math.inf

    def _has_asked(self) -> bool:
        cycle: object = self.cycle  # None until a request has taken the ASGI path
        return cycle is not None

    def give_way(self) -> None:
        """Closes it to make room, without waiting for its buffer."""
        self._is_closed_early = True
        if self.transport.get_write_buffer_size() or self._is_in_head or self._is_in_body:
            self.transport.abort()
        else:
            self.transport.close()

    # The end

    def shutdown(self) -> None:
        """Announces the end with the next answer. An idle connection keeps its time: its client may
        be sending a request at this moment."""
        self.is_draining = True
        self.takes_shortcut = False
        if not self._is_answered():
            self.cycle.keep_alive = self._keeps_alive = False  # its body may still be coming in

    def close_if_idle(self) -> None:
        is_idle = self._is_answered() and not self._is_in_head and not self._is_in_body
        if is_idle and not self.is_waiting:
            self.transport.close()
