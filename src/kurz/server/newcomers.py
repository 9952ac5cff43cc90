"""Connections that have sent one request. Most visitors send no other: they open a link and go on.
Until a second request comes, a connection is only a socket here. An ordinary one, with a transport
and a parser, costs more than the redirect itself."""

import asyncio
import math
import socket
from collections.abc import Callable
from typing import Any

RECEIVED_BYTES = 8192  # what the fast lane may take at most; more is read by an ordinary connection


class Newcomer:
    """A connection as the shortcut sees it (`redirect.lane.Client`); also its own transport, with
    the methods that the shortcut uses. It was accepted at `since`, by the loop's clock. `leave` is
    called once, before its socket is closed or used by another connection. `take_over` is called
    when only an ordinary connection can go on, with what could not be sent."""

    __slots__ = (
        "_is_closing",
        "_leave",
        "_since",
        "_take_over",
        "client",
        "deadline",
        "is_closed_early",
        "is_last",
        "is_waiting",
        "lane_head",
        "lane_parsed",
        "parked",
        "socket",
    )

    def __init__(
        self,
        accepted: socket.SocketType,
        client: tuple[str, int] | None,
        since: float,
        leave: "Callable[[Newcomer], None]",
        take_over: "Callable[[Newcomer, bytes], None]",
    ) -> None:
        self.socket = accepted
        self.client = client
        self.deadline = math.inf
        self._since = since
        self.is_last = False
        self.is_waiting = False
        self.is_closed_early = False
        self.lane_head: bytes | None = None
        self.lane_parsed: Any = None
        self.parked: tuple[int, asyncio.Task[Any]] | None = None
        self._leave = leave
        self._take_over = take_over
        self._is_closing = False

    @property
    def transport(self) -> "Newcomer":
        return self

    @property
    def is_closing(self) -> bool:
        return self._is_closing

    def park(self, _: bytes, began_ns: int, until: asyncio.Task[Any]) -> None:
        """Left to an ordinary connection, which gets the same chunk."""
        self.is_waiting = True
        self.parked = began_ns, until

    def write(self, answer: bytes) -> None:
        if self._is_closing:
            return
        try:
            sent = self.socket.send(answer, socket.MSG_DONTWAIT)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:  # its client has left
            self.close()
            return
        if sent < len(answer):
            self._take_over(self, answer[sent:])

    def close(self) -> None:
        if not self._is_closing:
            self.let_go()
            self.socket.close()

    def let_go(self) -> None:
        """Its socket belongs to another one from now on."""
        self._is_closing = True
        self._leave(self)

    # The same as for ordinary connections

    def waits_since(self, _: float) -> float:
        return math.inf if self._is_closing else self._since

    def give_way(self) -> None:
        self.is_closed_early = True
        self.close()

    def expire(self) -> None:
        self.close()

    def close_if_idle(self) -> None:
        self.close()

    def shutdown(self) -> None:
        """It keeps its time: its client may be sending a request at this moment."""

    abort = close
