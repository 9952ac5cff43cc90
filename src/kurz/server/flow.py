"""Replacements for parts of uvicorn's request cycle: when the client is read, and how its
connection ends after an early answer."""

from asyncio import Transport
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class Flow(FlowControl):
    """Reads nothing from the client while `is_held`: requests for more go to `on_wanted`. An
    application that asks for more of a body must not make the server read more than it has
    parsed."""

    def __init__(self, transport: Transport, on_wanted: Callable[[], None]) -> None:
        super().__init__(transport)
        self.is_held = False
        self._on_wanted = on_wanted

    def end(self) -> None:
        """Drops the reference to the connection, so that both are freed at once."""
        self._on_wanted = _nothing

    def hold(self) -> None:
        self.is_held = True
        self.pause_reading()

    def resume_reading(self) -> None:
        if self.is_held:
            self._on_wanted()
        else:
            super().resume_reading()


def _nothing() -> None: ...


class HalfClosing:
    """The transport for an answer to a request that is not complete yet. If it were closed with
    unread bytes, the client's system might drop the answer: `half_close` ends it instead."""

    def __init__(self, transport: Transport, half_close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = half_close
