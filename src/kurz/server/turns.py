"""How many pipelined requests start in one turn of the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable

# One takes a fifth of a millisecond. New connections are accepted once per turn.
PER_TURN = 16


class PipelineTurns:
    """Requests of clients that do not wait for answers (pipelining) queue here, one of each client,
    so that they do not delay others."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_due = False

    def add(self, begin: Callable[[], None]) -> None:
        self._waiting.append(begin)
        if not self._is_due:
            self._begin_soon()

    def _begin_soon(self) -> None:
        self._is_due = True
        asyncio.get_running_loop().call_soon(self._begin_some)

    def _begin_some(self) -> None:
        self._is_due = False
        for _ in range(min(len(self._waiting), PER_TURN)):
            self._waiting.popleft()()
        if self._waiting and not self._is_due:
            self._begin_soon()
